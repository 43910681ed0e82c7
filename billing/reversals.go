package billing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// shortState is the SQLSTATE of a store that was asked to take more than is free.
const shortState = "UM001"

// RefundKind is why purchased credit is taken back.
type RefundKind string

// These are the kinds of refunds.
const (
	Refunded RefundKind = "refund"  // The money went back to the customer.
	Disputed RefundKind = "dispute" // The customer's bank took the money back.
)

// Refund takes back credit whose payment was returned. Source makes it happen once. Grant is the source of the credit that it takes first.
type Refund struct {
	AccountID string
	Kind      RefundKind
	Amount    app.Amount
	Source    string
	Grant     string
	Freeze    bool   // Freeze also freezes an account that owes nothing afterwards.
	Reason    string // Reason is shown to the customer.
	Operator  string
}

// Refund takes back what is free of the amount, books the rest as owed by the account, and freezes the account until it has
// paid. Credit reserved by calls stays reserved, and no balance goes below zero. It returns what is owed of the refund. A
// second refund of the same source is ErrGrantExists.
func (l *Ledger) Refund(ctx context.Context, q postgres.Queryer, r Refund) (owed app.Amount, err error) {
	if r.Kind != Refunded && r.Kind != Disputed || r.Amount <= 0 || r.Amount > grantNanosMax || r.Source == "" ||
		len(r.Source) > sourceBytesMax {
		return 0, fmt.Errorf("billing: refund of $%s, %q, source %q", r.Amount, r.Kind, r.Source)
	}
	owed, err = l.take(ctx, q, takeRow{
		account: r.AccountID, amount: r.Amount, kind: string(r.Kind), ref: r.Source, grant: r.Grant, to: grantSources[Purchased], owing: true,
		reason: r.Reason, operator: r.Operator,
	})
	if err != nil {
		return 0, postgres.StoreError("billing: refund", err)
	}
	switch {
	case r.Freeze:
		err = l.Freeze(ctx, q, r.AccountID, r.Reason)
	case owed > 0:
		err = l.freezeForReceivable(ctx, q, r.AccountID,
			"Credit that was spent already was taken back, so the account owes us. The next credit it buys or gets back pays that first.")
	}
	return owed, err
}

// Restore returns what a refund took, for example after a dispute was won. It pays what the account owes first, and grants
// the rest as credit. Its source must differ from the refund's.
func (l *Ledger) Restore(ctx context.Context, q postgres.Queryer, r Refund) error {
	return l.Grant(ctx, q, Grant{
		AccountID: r.AccountID, Kind: Purchased, Amount: r.Amount, Source: r.Source, Reason: r.Reason, Operator: r.Operator,
	})
}

// Correction is an operator's change of a balance. Source makes it happen once.
type Correction struct {
	AccountID        string
	Amount           app.Amount // A negative amount takes credit, which must be free.
	Source           string
	Reason, Operator string // Both are required.
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
	return postgres.StoreError("billing: adjust", err)
}

// ReclaimLeases asks every replica to return the free credit that it leases of an account, or of a key's budget. The credit returns
// within a moment unless calls spend it.
func (l *Ledger) ReclaimLeases(ctx context.Context, creditAccountID string) error {
	_, err := l.db.ExecContext(ctx, `select recall_leases($1)`, creditAccountID)
	return postgres.StoreError("billing: recall", err)
}

// These limits bound Reclaim.
const (
	reclaimLooksMax  = 15
	reclaimLookEvery = 20 * time.Millisecond
)

// Reclaim is Recall, and waits briefly until the credit has returned. What remains leased then is being spent.
func (l *Ledger) Reclaim(ctx context.Context, creditAccountID string) error {
	if err := l.ReclaimLeases(ctx, creditAccountID); err != nil {
		return err
	}
	for range reclaimLooksMax {
		var leased app.Amount
		if err := l.db.GetContext(ctx, &leased, `select leased_nanos($1)`, creditAccountID); err != nil || leased == 0 {
			return postgres.StoreError("billing: reclaim", err)
		}
		select {
		case <-ctx.Done():
			return postgres.StoreError("billing: reclaim", ctx.Err())
		case <-time.After(reclaimLookEvery):
		}
	}
	return nil
}

// Freeze stops an account from spending: the ledger grants it no credit for calls, and asks replicas to return what they
// lease for it. Running calls end as usual. A second Freeze keeps the first reason, unless that was a debt, because paying
// the debt must not lift this freeze.
func (l *Ledger) Freeze(ctx context.Context, q postgres.Queryer, accountID, reason string) error {
	_, err := q.ExecContext(ctx, `
		with frozen as (
			update accounts set frozen_at = coalesce(frozen_at, $2), frozen_reason = $3
			where id = $1 and (frozen_at is null or exists (select from receivables where account_id = $1 and froze))
		), not_for_debt as (
			update receivables set froze = false where account_id = $1 and froze
		)
		select recall_leases($1)`, accountID, l.o.Now().UTC(), app.MakeStorable(reason, textBytesMax))
	return postgres.StoreError("billing: freeze", err)
}

// Unfreeze lets an account spend again, after paying what it owes from its free credit. A closed account stays closed.
func (l *Ledger) Unfreeze(ctx context.Context, q postgres.Queryer, accountID string) error {
	if err := l.payReceivable(ctx, q, accountID); err != nil {
		return postgres.StoreError("billing: unfreeze", err)
	}
	_, err := q.ExecContext(ctx, `
		with not_for_debt as (
			update receivables set froze = false where account_id = $1 and froze
		)
		update accounts set frozen_at = null, frozen_reason = ''
		where id = $1 and frozen_at is not null and closed_at is null`, accountID)
	return postgres.StoreError("billing: unfreeze", err)
}

// takeRow is credit to take back.
type takeRow struct {
	account                                string
	amount                                 app.Amount
	kind, ref, grant, to, reason, operator string
	owing                                  bool
}

// take takes credit back once for each source, and returns what the account owes of it.
func (l *Ledger) take(ctx context.Context, q postgres.Queryer, r takeRow) (owed app.Amount, err error) {
	meta, err := metadata(r.kind, r.reason, r.operator)
	if err != nil {
		return 0, err
	}
	var done bool
	err = q.QueryRowxContext(ctx, `select done, coalesce(owed, 0) from take_credit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		r.account, int64(r.amount), r.kind, r.ref, r.grant, r.to, r.owing, l.o.IDs.New("txn"), l.o.Now().UTC(), meta).Scan(&done, &owed)
	if err == nil && !done {
		err = ErrGrantExists
	}
	return owed, err
}
