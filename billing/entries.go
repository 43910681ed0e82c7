package billing

import (
	"context"
	"time"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
)

// Entry is one change of an account's credit. Ref names its cause: the request, or the source of the grant.
type Entry struct {
	ID            int64      `db:"id"`
	TransactionID string     `db:"transaction_id"`
	Kind          string     `db:"kind"` // Kind is grant, charge, refund, expiry or adjustment.
	Ref           string     `db:"ref"`
	Amount        app.Amount `db:"amount_nanos"`
	PostedAfter   app.Amount `db:"posted_after"`
	Reason        string     `db:"reason"`
	At            time.Time  `db:"at"`
	Requests      int64      `db:"requests"` // Requests is how many requests a charge consists of.
}

// EntryQuery selects an account's ledger entries, newest first. Before is the id of the last entry of the previous page.
type EntryQuery struct {
	AccountID string
	Kinds     []string // Kinds are kinds of transactions; empty matches all.
	From, To  time.Time
	Before    int64
	Limit     int
}

// EntryPage is one page of ledger entries.
type EntryPage struct {
	Entries []Entry // Entry.Requests is how many requests a charge has.
	More    bool
}

// EntryList lists ledger entries.
func (l *Ledger) EntryList(ctx context.Context, q EntryQuery) (EntryPage, error) {
	limit := pageSize(q.Limit)
	if q.Kinds == nil {
		q.Kinds = []string{}
	}
	var entries []Entry
	err := l.db.SelectContext(ctx, &entries, `
		select e.id, e.transaction_id, t.kind, t.ref, e.amount_nanos, e.posted_after, coalesce(t.meta ->> 'reason', '') as reason, t.at,
			case t.kind when 'charge' then (
				select count(*) from usage_records u where u.transaction_id = e.transaction_id and u.account_id = e.account_id
			) else 0 end as requests
		from ledger_entries e join ledger_transactions t on t.id = e.transaction_id
		where e.account_id = $1 and e.posted_after is not null and (cardinality($2::text[]) = 0 or t.kind = any($2))
			and ($3::timestamptz is null or t.at >= $3) and ($4::timestamptz is null or t.at < $4) and ($5 = 0 or e.id < $5)
		order by e.id desc limit $6`,
		q.AccountID, pq.Array(q.Kinds), postgres.NullTime(q.From), postgres.NullTime(q.To), q.Before, limit+1)
	if err != nil {
		return EntryPage{}, postgres.StoreError("billing: entries", err)
	}
	return EntryPage{Entries: entries[:min(limit, len(entries))], More: len(entries) > limit}, nil
}

// Reconciliation compares an account's sums, which are stored separately and must be equal: usage against charges, entries
// against the balance, grants against the balance.
type Reconciliation struct {
	Usage   app.Amount `db:"usage"`   // Usage is the usage of all time.
	Charges app.Amount `db:"charges"` // Charges are those of all time, net of reversals.
	Entries app.Amount `db:"entries"`
	Posted  app.Amount `db:"posted"`
	Grants  app.Amount `db:"grants"`
	At      time.Time  `db:"at"`
}

// Exact reports whether all sums agree to the nano-dollar.
func (r Reconciliation) Exact() bool {
	return r.Usage == r.Charges && r.Entries == r.Posted && r.Grants == r.Posted
}

// Reconcile reads an account's sums in one snapshot.
func (l *Ledger) Reconcile(ctx context.Context, accountID string) (Reconciliation, error) {
	var r Reconciliation
	err := l.db.GetContext(ctx, &r, `
		select
			(select coalesce(sum(cost_nanos), 0)::bigint from usage_rollups where account_id = $1) as usage,
			(select coalesce(-sum(e.amount_nanos), 0)::bigint from ledger_entries e join ledger_transactions t on t.id = e.transaction_id
				where e.account_id = $1 and t.kind in ('charge', 'reversal')) as charges,
			(select coalesce(sum(amount_nanos), 0)::bigint from ledger_entries where account_id = $1) as entries,
			(select coalesce(sum(remaining_nanos), 0)::bigint from grants where account_id = $1 and not spent) as grants,
			(select posted_nanos from credit_accounts where id = $1 and kind = 'customer') as posted`, accountID)
	r.At = l.o.Now().UTC()
	return r, postgres.StoreError("billing: reconcile", err)
}
