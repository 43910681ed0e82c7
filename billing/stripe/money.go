package stripe

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
	"umg/billing"
)

const (
	frozenByDispute = "A payment of this account is disputed by the owner of the card. Contact support."
	refundedText    = "Refunded to the card"
	restoredText    = "Given back: the money has returned to us"
	thawedText      = "No payment of this account is disputed any more."
)

// moveBack takes back what has left us since the last decision, and gives back what has returned. While a card's bank
// holds the money the account is frozen.
func (s *Service) moveBack(ctx context.Context, tx *sqlx.Tx, was, next topupRow) error {
	if next.TakenCents > was.TakenCents { // what replicas keep at hand is free, and not owed
		if err := s.o.Ledger.Reclaim(ctx, next.AccountID); err != nil {
			return err
		}
	}
	if next.State.withheld() && !was.State.withheld() {
		if err := s.freezeFor(ctx, tx, next); err != nil {
			return err
		}
	}
	r := billing.Refund{
		AccountID: next.AccountID, Kind: billing.Refunded, Source: fmt.Sprintf("stripe:%s/%d", next.ID, next.Version), Grant: grantSource(next),
		Reason: refundedText,
	}
	if next.DisputedCents > was.DisputedCents {
		r.Kind, r.Reason = billing.Disputed, frozenByDispute
	}
	switch taken := next.TakenCents - was.TakenCents; {
	case taken > 0:
		r.Amount = nanos(taken)
		if _, err := s.o.Ledger.Refund(ctx, tx, r); err != nil {
			return err
		}
	case taken < 0:
		r.Amount, r.Reason = nanos(-taken), restoredText
		if err := s.o.Ledger.Restore(ctx, tx, r); err != nil {
			return err
		}
	}
	if !was.State.withheld() || next.State.withheld() {
		return nil
	}
	free, err := clearFroze(ctx, tx, next.AccountID)
	if err != nil || !free {
		return err
	}
	if err := s.o.Ledger.Unfreeze(ctx, tx, next.AccountID); err != nil {
		return err
	}
	return s.noteFrozen(ctx, tx, next.AccountID, "account.unfrozen", thawedText)
}

// freezeFor freezes an account for a dispute, and remembers that the dispute did it: what an operator froze stays so.
func (s *Service) freezeFor(ctx context.Context, tx *sqlx.Tx, t topupRow) error {
	already, _, err := frozen(ctx, tx, t.AccountID)
	if err == nil && already { // paying a debt ends that, but not this
		var debt bool
		debt, err = frozenForDebt(ctx, tx, t.AccountID)
		already = !debt
	}
	if err != nil || already {
		return err
	}
	s.o.Log.Warn("an account is frozen, because a payment is disputed", "account_id", t.AccountID, "topup_id", t.ID)
	if err := s.noteFrozen(ctx, tx, t.AccountID, "account.frozen", frozenByDispute); err != nil {
		return err
	}
	return errors.Join(s.o.Ledger.Freeze(ctx, tx, t.AccountID, frozenByDispute), setFroze(ctx, tx, t.ID))
}

// RefundRequest gives money back to the card that paid a top-up. Cents of zero means all that is left of the top-up and
// free in the account. Only operators may ask for it.
type RefundRequest struct {
	TopupID  string
	Cents    int64
	Operator string
	Reason   string
	From     app.Origin // the command
}

// Refund gives money back to the card, and takes the credit. What the account has spent already is owed then. A refund
// whose outcome is unknown is finished first, so that it happens once.
func (s *Service) Refund(ctx context.Context, r RefundRequest) (Topup, error) {
	if err := s.needEnabled(); err != nil {
		return Topup{}, err
	}
	r.Operator, r.Reason = short(strings.TrimSpace(r.Operator)), short(strings.TrimSpace(r.Reason))
	if r.Operator == "" || r.Reason == "" {
		return Topup{}, app.Errorf(app.Invalid, "invalid_request_error", "A refund needs the operator's name and a reason.").At("reason")
	}
	row, err := s.refundable(ctx, r.TopupID)
	if err != nil {
		return Topup{}, err
	}
	pending, err := s.pendingRefund(ctx, row, r)
	if err != nil {
		return Topup{}, err
	}
	refundID, err := s.api.giveBack(ctx, pending.ID, row.IntentID, row.ID, pending.Cents)
	if isAway(err) || errors.Is(err, context.Canceled) {
		return Topup{}, err
	}
	if err != nil { // it was refused and will be
		s.o.Log.Warn("a refund was refused", "topup_id", row.ID, "cents", pending.Cents, "error", err)
		if err := deleteRefund(ctx, s.db, pending.ID); err != nil {
			return Topup{}, wrap("forget a refund", err)
		}
		return Topup{}, app.Errorf(app.Conflict, "refund_refused", "The payment service refuses this refund: %s", said(err)).Because(err).Final()
	}
	if err := s.refunded(ctx, row, pending, refundID, r.From); err != nil {
		return Topup{}, wrap("keep a refund", err)
	}
	if err := s.refresh(ctx, row.ID, hint{}); err != nil {
		return Topup{}, wrap("book a refund", err)
	}
	row, err = topupByID(ctx, s.db, row.ID)
	return row.topup(), wrap("read a top-up", err)
}

// refunded keeps what became of a refund, and tells the account of it once.
func (s *Service) refunded(ctx context.Context, row topupRow, r refundRow, refundID string, from app.Origin) error {
	return postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		fresh, err := keepRefund(ctx, tx, r.ID, refundID)
		if err != nil || !fresh {
			return err
		}
		return s.audit.Write(ctx, tx, app.Principal{AccountID: row.AccountID, From: from}, audit.Event{
			Action: "billing.refunded", Object: row.ID, Operator: true,
			Changes: []audit.Change{{Field: "amount", To: dollars(nanos(r.Cents))}, {Field: "reason", To: r.Reason}},
		})
	})
}

// refundable reads a top-up as it is now at the payment service.
func (s *Service) refundable(ctx context.Context, id string) (topupRow, error) {
	row, err := topupByID(ctx, s.db, id)
	if errors.Is(err, sql.ErrNoRows) {
		return row, noTopup()
	}
	if err != nil {
		return row, wrap("read a top-up", err)
	}
	if err := s.refresh(ctx, id, hint{}); err != nil {
		if errors.Is(err, errMissing) {
			return row, app.Errorf(app.Conflict, "not_refundable", "The payment service does not know this top-up.").Final()
		}
		return row, wrap("read a payment", err)
	}
	if row, err = topupByID(ctx, s.db, id); err != nil {
		return row, wrap("read a top-up", err)
	}
	if !row.State.paid() || row.State.withheld() {
		return row, app.Errorf(app.Conflict, "not_refundable", "This top-up is %s, so there is nothing to give back.", row.State).Final()
	}
	return row, nil
}

// pendingRefund writes down what is to be given back before it is, unless that was done before: the outcome of that one
// is unknown, and it is finished.
func (s *Service) pendingRefund(ctx context.Context, row topupRow, r RefundRequest) (refundRow, error) {
	pending, err := openRefund(ctx, s.db, row.ID, s.now().Add(-idempotencyMax))
	if err == nil || !errors.Is(err, sql.ErrNoRows) {
		return pending, wrap("look for a refund", err)
	}
	left := row.Cents - row.TakenCents
	cents := r.Cents
	if cents == 0 {
		balance, err := s.o.Ledger.Balance(ctx, row.AccountID)
		if err != nil {
			return refundRow{}, err
		}
		cents = min(left, max(0, int64(balance.Available()))/nanosPerCent)
	}
	switch {
	case left == 0 || cents == 0:
		return refundRow{}, app.Errorf(app.Conflict, "not_refundable", "Nothing of this top-up is left to give back.").Final()
	case cents < 0 || cents > left:
		return refundRow{}, app.Errorf(app.Invalid, "invalid_amount", "At most $%s of this top-up can be given back.", nanos(left)).At("amount")
	}
	pending = refundRow{ID: s.o.IDs.New("rfd"), TopupID: row.ID, Cents: cents, Operator: r.Operator, Reason: r.Reason, CreatedAt: s.now()}
	pending, err = insertRefund(ctx, s.db, pending)
	return pending, wrap("write down a refund", err)
}

// said is what the payment service says to people.
func said(err error) string {
	if refused := apiError(err); refused != nil {
		return short(refused.Msg)
	}
	return "it does not know the payment."
}
