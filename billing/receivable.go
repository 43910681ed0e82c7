package billing

import (
	"context"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
)

const sweepReceivablesMax = 100 // One pass runs at most this many transactions.

// collectReceivables pays what accounts owe from the credit that is free now.
func (l *Ledger) collectReceivables(ctx context.Context) error {
	var accounts []string
	// These accounts can pay some of what they owe now, or have paid all of it.
	err := l.db.SelectContext(ctx, &accounts, `
		select r.account_id from receivables r join credit_accounts a on a.id = r.account_id
		where ((r.owed_nanos > 0 and a.posted_nanos > a.held_nanos) or (r.owed_nanos = 0 and r.froze)) and r.account_id <> all($2)
		order by r.account_id limit $1`, sweepReceivablesMax, pq.Array(l.failed.takeSkipped(&l.failed.accounts)))
	if err != nil {
		return err
	}
	failed, err := sweepEach(ctx, accounts, func(id string) error { return l.payReceivable(ctx, l.db, id) })
	l.failed.keepFailed(&l.failed.accounts, failed)
	return err
}

// payReceivable pays what an account owes from its free credit. An account frozen only for its debt may spend again when nothing
// is owed any more.
func (l *Ledger) payReceivable(ctx context.Context, q postgres.Queryer, accountID string) error {
	var row struct {
		Taken app.Amount `db:"taken"`
		Owed  app.Amount `db:"owed"`
		Freed bool       `db:"freed"`
	}
	err := q.GetContext(ctx, &row, `select taken, owed, freed from settle_debt($1, $2, $3)`, accountID, l.o.IDs.New("txn"), l.o.Now().UTC())
	if err == nil && (row.Taken > 0 || row.Freed) {
		l.o.Log.Info("account receivable paid", "account_id", accountID, "paid_nanos", int64(row.Taken),
			"owed_nanos", int64(row.Owed), "unfrozen", row.Freed)
	}
	return err
}

// freezeForReceivable freezes an account until it has paid what it owes.
func (l *Ledger) freezeForReceivable(ctx context.Context, q postgres.Queryer, accountID, reason string) error {
	_, err := q.ExecContext(ctx, `
		with frozen as (
			update accounts set frozen_at = $2, frozen_reason = $3 where id = $1 and frozen_at is null returning id
		), kept as (
			update receivables set froze = true where account_id in (select id from frozen)
		)
		select recall_leases($1)`, accountID, l.o.Now().UTC(), app.MakeStorable(reason, textBytesMax))
	return postgres.StoreError("billing: freeze", err)
}
