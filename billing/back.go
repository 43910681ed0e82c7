package billing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// shortState is the error of a store that was asked to take more than is free.
const shortState = "UM001"

// RefundKind says why credit that was bought is taken back.
type RefundKind string

// The kinds of refunds.
const (
	Refunded RefundKind = "refund"  // the money went back to the customer
	Disputed RefundKind = "dispute" // the customer's bank took it
)

// Refund takes credit back whose money is gone. Source makes it happen once; Grant is the source of the credit that it
// takes first.
type Refund struct {
	AccountID string
	Kind      RefundKind
	Amount    app.Amount
	Source    string
	Grant     string
	Freeze    bool   // also when nothing stays owed
	Reason    string // shown to the customer
	Operator  string
}

// Refund takes back what is free of the amount, and books the rest as owed by the account, which is frozen then until it
// has paid: what calls have reserved stays theirs, and no balance goes below zero. It says what is owed of it. A second
// time it is ErrGrantExists.
func (l *Ledger) Refund(ctx context.Context, q postgres.Queryer, r Refund) (owed app.Amount, err error) {
	if r.Kind != Refunded && r.Kind != Disputed || r.Amount <= 0 || r.Amount > grantNanosMax || r.Source == "" ||
		len(r.Source) > sourceBytesMax {
		return 0, fmt.Errorf("billing: refund of $%s, %q, source %q", r.Amount, r.Kind, r.Source)
	}
	row, err := l.take(ctx, q, takeRow{
		account: r.AccountID, amount: r.Amount, kind: string(r.Kind), ref: r.Source, grant: r.Grant, to: grantSources[Purchased], owing: true,
		reason: r.Reason, operator: r.Operator,
	})
	if err != nil {
		return 0, wrap("refund", err)
	}
	switch {
	case r.Freeze:
		err = l.Freeze(ctx, q, r.AccountID, r.Reason)
	case row.Owed > 0:
		err = l.freezeForDebt(ctx, q, r.AccountID,
			"Credit that was spent already was taken back, so the account owes us. The next credit it buys or gets back pays that first.")
	}
	return row.Owed, err
}

// Restore gives back what a refund took, as after a dispute that was won: first what the account owes, the rest as credit.
// The source is another one than the refund's.
func (l *Ledger) Restore(ctx context.Context, q postgres.Queryer, r Refund) error {
	return l.Grant(ctx, q, Grant{
		AccountID: r.AccountID, Kind: Purchased, Amount: r.Amount, Source: r.Source, Reason: r.Reason, Operator: r.Operator,
	})
}

// Correction is a change of a balance by an operator. Source makes it happen once.
type Correction struct {
	AccountID        string
	Amount           app.Amount // below zero to take credit, which must be free
	Source           string
	Reason, Operator string // both are required
}

// Adjust corrects an account's balance. Taking more than is free is Unfunded and changes nothing.
func (l *Ledger) Adjust(ctx context.Context, q postgres.Queryer, c Correction) error {
	if c.Reason == "" || c.Operator == "" {
		return errors.New("billing: adjust: a correction needs a reason and an operator")
	}
	if c.Amount >= 0 {
		return l.Grant(ctx, q, Grant{
			AccountID: c.AccountID, Kind: Adjustment, Amount: c.Amount, Source: c.Source, Reason: c.Reason, Operator: c.Operator,
		})
	}
	if c.Amount < -grantNanosMax || c.Source == "" || len(c.Source) > sourceBytesMax {
		return fmt.Errorf("billing: adjust by $%s, source %q", c.Amount, c.Source)
	}
	_, err := l.take(ctx, q, takeRow{
		account: c.AccountID, amount: -c.Amount, kind: string(Adjustment), ref: c.Source, to: grantSources[Adjustment],
		reason: c.Reason, operator: c.Operator,
	})
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) && coded.SQLState() == shortState {
		return app.Errorf(app.Unfunded, "insufficient_credit",
			"Less than $%s of this account is free: the rest is spent or reserved by calls that run.", -c.Amount).At("amount").Because(err)
	}
	return wrap("adjust", err)
}

// Recall asks every replica to give back what it holds of an account, or of the budget of a key, without need. It comes
// back within a moment, or is being spent.
func (l *Ledger) Recall(ctx context.Context, purse string) error {
	_, err := l.db.ExecContext(ctx, `select recall_leases($1)`, purse)
	return wrap("recall", err)
}

// Limits of Reclaim.
const (
	reclaimLooksMax  = 15
	reclaimLookEvery = 20 * time.Millisecond
)

// Reclaim is Recall, and waits for a moment until it has come back: what remains leased then is being spent.
func (l *Ledger) Reclaim(ctx context.Context, purse string) error {
	if err := l.Recall(ctx, purse); err != nil {
		return err
	}
	for range reclaimLooksMax {
		var leased app.Amount
		if err := l.db.GetContext(ctx, &leased, `select leased_nanos($1)`, purse); err != nil || leased == 0 {
			return wrap("reclaim", err)
		}
		select {
		case <-ctx.Done():
			return wrap("reclaim", ctx.Err())
		case <-time.After(reclaimLookEvery):
		}
	}
	return nil
}

// Freeze keeps an account from spending: it is given no more credit for calls, and replicas are asked to give back what they
// hold for it. What already runs ends as usual. Freezing it again keeps the first reason, unless that was a debt: paying it
// does not end this.
func (l *Ledger) Freeze(ctx context.Context, q postgres.Queryer, accountID, reason string) error {
	_, err := q.ExecContext(ctx, `
		with frozen as (
			update accounts set frozen_at = coalesce(frozen_at, $2), frozen_reason = $3
			where id = $1 and (frozen_at is null or exists (select from receivables where account_id = $1 and froze))
		), not_for_debt as (
			update receivables set froze = false where account_id = $1 and froze
		)
		select recall_leases($1)`, accountID, l.o.Now().UTC(), clean(reason))
	return wrap("freeze", err)
}

// Unfreeze lets an account spend again, when what it owes is paid as far as it can be. One that was closed stays as it is.
func (l *Ledger) Unfreeze(ctx context.Context, q postgres.Queryer, accountID string) error {
	if err := l.settleDebt(ctx, q, accountID); err != nil {
		return wrap("unfreeze", err)
	}
	_, err := q.ExecContext(ctx, `
		with not_for_debt as (
			update receivables set froze = false where account_id = $1 and froze
		)
		update accounts set frozen_at = null, frozen_reason = ''
		where id = $1 and frozen_at is not null and closed_at is null`, accountID)
	return wrap("unfreeze", err)
}

// takeRow is credit to take back.
type takeRow struct {
	account                                string
	amount                                 app.Amount
	kind, ref, grant, to, reason, operator string
	owing                                  bool
}

type takenRow struct {
	Done  bool       `db:"done"`
	Taken app.Amount `db:"taken"`
	Owed  app.Amount `db:"owed"`
}

func (l *Ledger) take(ctx context.Context, q postgres.Queryer, r takeRow) (takenRow, error) {
	row, err := takeCredit(ctx, q, r, l.o.IDs.New("txn"), l.o.Now().UTC())
	if err == nil && !row.Done {
		err = ErrGrantExists
	}
	return row, err
}

func takeCredit(ctx context.Context, q postgres.Queryer, r takeRow, transaction string, at time.Time) (row takenRow, err error) {
	meta, err := json.Marshal(map[string]string{"kind": r.kind, "reason": clean(r.reason), "operator": clean(r.operator)})
	if err != nil {
		return row, err
	}
	err = q.GetContext(ctx, &row, `
		select done, coalesce(taken, 0) as taken, coalesce(owed, 0) as owed from take_credit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		r.account, int64(r.amount), r.kind, r.ref, r.grant, r.to, r.owing, transaction, at, string(meta))
	return row, err
}
