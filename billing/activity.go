package billing

import (
	"context"
	"fmt"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// Activity is what an account did since a moment, as its usage records add up.
type Activity struct {
	Spend    app.Amount
	ByDay    []app.Amount // one for each UTC day, oldest first
	Requests int64
	Streamed int64
	Failed   int64 // everything that neither succeeded nor was ended by the client
}

// Activity adds up the account's usage of the last days UTC days, today included.
func (l *Ledger) Activity(ctx context.Context, accountID string, days int) (Activity, error) {
	today := l.o.Now().UTC().Truncate(24 * time.Hour)
	rows, err := selectActivity(ctx, l.db, accountID, today.AddDate(0, 0, 1-days))
	if err != nil {
		return Activity{}, wrap("activity", err)
	}
	a := Activity{ByDay: make([]app.Amount, days)}
	for _, r := range rows {
		a.Spend += r.Spend
		a.Requests += r.Requests
		a.Streamed += r.Streamed
		a.Failed += r.Failed
		if at := days - 1 - int(today.Sub(r.Day.UTC())/(24*time.Hour)); at >= 0 && at < days {
			a.ByDay[at] += r.Spend
		}
	}
	return a, nil
}

// Credit is what an account may still spend, by where it came from. Held is the part that running calls have reserved.
type Credit struct {
	Balance
	Trial        app.Amount
	TrialExpires *time.Time // when the first of it goes, if any does
	Purchased    app.Amount
	Granted      app.Amount // promotions and adjustments
	Owed         app.Amount // to us, because credit that was spent was taken back
	Frozen       bool
	FrozenReason string
	Indebted     bool // frozen for what it owes and nothing else, so that buying credit lets it spend again
}

// Credit reads the account's balance and the grants it consists of, as one moment saw them.
func (l *Ledger) Credit(ctx context.Context, accountID string) (Credit, error) {
	row, err := selectCredit(ctx, l.db, accountID)
	return row, wrap("credit", err)
}

type activityRow struct {
	Day      time.Time  `db:"day"`
	Spend    app.Amount `db:"spend"`
	Requests int64      `db:"requests"`
	Streamed int64      `db:"streamed"`
	Failed   int64      `db:"failed"`
}

func selectActivity(ctx context.Context, q postgres.Queryer, accountID string, since time.Time) (rows []activityRow, err error) {
	err = q.SelectContext(ctx, &rows, `
		select date_trunc('day', slot at time zone 'utc') as day, sum(cost_nanos)::bigint as spend, sum(requests)::bigint as requests,
			sum(streamed)::bigint as streamed, sum(failed)::bigint as failed
		from usage_slots where account_id = $1 and slot >= $2 group by 1`, accountID, since)
	return rows, err
}

func selectCredit(ctx context.Context, q postgres.Queryer, accountID string) (c Credit, err error) {
	err = q.QueryRowxContext(ctx, `
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
		return c, fmt.Errorf("credit of %s: %w", accountID, err)
	}
	return c, nil
}
