package billing

import (
	"context"
	"fmt"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// Credit is what an account may still spend, by its origin. Held is the part that running calls have reserved.
type Credit struct {
	Balance
	Trial        app.Amount
	TrialExpires *time.Time // TrialExpires is when the first trial credit expires, or nil if none does.
	Purchased    app.Amount
	Granted      app.Amount // Granted is the credit from promotions and adjustments.
	Owed         app.Amount // The account owes this to the operator, because spent credit was taken back.
	Frozen       bool
	FrozenReason string
	Indebted     bool // Indebted means that only a debt froze the account, so buying credit lets it spend again.
}

// Credit reads the account's balance and its grants in one snapshot.
func (l *Ledger) Credit(ctx context.Context, accountID string) (c Credit, err error) {
	err = l.db.QueryRowxContext(ctx, `
		select a.posted_nanos, a.held_nanos, leased_nanos(a.id),
			coalesce(sum(g.remaining_nanos) filter (where g.kind = 'trial'), 0)::bigint,
			min(g.expires_at) filter (where g.kind = 'trial'),
			coalesce(sum(g.remaining_nanos) filter (where g.kind = 'purchased'), 0)::bigint,
			coalesce(sum(g.remaining_nanos) filter (where g.kind in ('promotional', 'adjustment')), 0)::bigint,
			coalesce((select owed_nanos from receivables r where r.account_id = a.id), 0),
			exists (select from accounts f where f.id = a.id and f.frozen_at is not null),
			coalesce((select frozen_reason from accounts f where f.id = a.id), ''),
			exists (select from receivables r where r.account_id = a.id and r.froze)
		from credit_accounts a left join grants g on g.account_id = a.id and not g.spent
		where a.id = $1 and a.kind = 'customer' group by a.id`, accountID).
		Scan(&c.Posted, &c.Held, &c.Leased, &c.Trial, &c.TrialExpires, &c.Purchased, &c.Granted, &c.Owed, &c.Frozen, &c.FrozenReason, &c.Indebted)
	if err != nil {
		err = fmt.Errorf("credit of %s: %w", accountID, err)
	}
	return c, postgres.StoreError("billing: credit", err)
}
