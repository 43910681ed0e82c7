package stripe

import (
	"cmp"
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
	unfrozenText    = "No payment of this account is disputed any more."
)

// applyReturns takes back credit whose payment was returned since the last decision, and restores credit whose payment came back.
// An account is frozen while a bank withholds its payment.
func (s *Service) applyReturns(ctx context.Context, tx *sqlx.Tx, was, next topupRow) error {
	if next.TakenCents > was.TakenCents { // Credit that replicas lease is then free again, and need not be booked as debt.
		if err := s.o.Ledger.Reclaim(ctx, next.AccountID); err != nil {
			return err
		}
	}
	if next.State.withheld() && !was.State.withheld() {
		if err := s.freezeForDispute(ctx, tx, next); err != nil {
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
	// The account may spend again when no dispute is open or lost, and nothing is owed. A debt keeps it frozen until it is paid.
	var free bool
	err := tx.GetContext(ctx, &free, `
		with over as (
			update topups set froze = false
			where account_id = $1 and froze
				and not exists (select from topups t where t.account_id = $1 and t.state in ('DISPUTED', 'LOST'))
			returning id
		), debt as (
			update receivables set froze = true where account_id = $1 and owed_nanos > 0 and exists (select from over) returning account_id
		)
		select exists (select from over) and not exists (select from debt)`, next.AccountID)
	if err != nil || !free {
		return err
	}
	if err := s.o.Ledger.Unfreeze(ctx, tx, next.AccountID); err != nil {
		return err
	}
	return s.auditFreeze(ctx, tx, next.AccountID, "account.unfrozen", unfrozenText)
}

// freezeForDispute freezes an account for a dispute, and records that the dispute did it, because a won dispute must not lift an
// operator's freeze.
func (s *Service) freezeForDispute(ctx context.Context, tx *sqlx.Tx, t topupRow) error {
	already, _, err := frozen(ctx, tx, t.AccountID)
	if err == nil && already { // Paying a debt would lift the debt's freeze, but must not lift this one.
		var forReceivable bool
		forReceivable, err = frozenForReceivable(ctx, tx, t.AccountID)
		already = !forReceivable
	}
	if err != nil || already {
		return err
	}
	s.o.Log.Warn("account frozen for payment dispute", "account_id", t.AccountID, "topup_id", t.ID)
	if err := s.auditFreeze(ctx, tx, t.AccountID, "account.frozen", frozenByDispute); err != nil {
		return err
	}
	return errors.Join(s.o.Ledger.Freeze(ctx, tx, t.AccountID, frozenByDispute), markFrozenByDispute(ctx, tx, t.ID))
}

// RefundRequest asks to return money to the card that paid a top-up. Zero cents mean all that is left of the top-up and free
// in the account. Only operators may make it.
type RefundRequest struct {
	TopupID  string
	Cents    int64
	Operator string
	Reason   string
	From     app.Origin // From is the command that made the request.
	Once     string     // Once is from Service.NewRefund; a refund sent twice with it is made once. Empty for a command.
}

// NewRefund returns a name under which a refund is made only once, however often it is sent.
func (s *Service) NewRefund() string { return s.o.IDs.New("rfd") }

// Refund returns money to the card, and takes the credit. The account owes what it has spent already. Refund first finishes
// an earlier refund with an unknown outcome, which keeps it from happening twice.
func (s *Service) Refund(ctx context.Context, r RefundRequest) (Topup, error) {
	if err := s.requireEnabled(); err != nil {
		return Topup{}, err
	}
	r.Operator, r.Reason = shorten(strings.TrimSpace(r.Operator)), shorten(strings.TrimSpace(r.Reason))
	if r.Operator == "" || r.Reason == "" {
		return Topup{}, app.Errorf(app.Invalid, "invalid_request_error", "A refund needs the operator's name and a reason.").At("reason")
	}
	if made, found, err := s.refundMade(ctx, r); err != nil || found {
		return made, err
	}
	row, err := s.readRefundable(ctx, r.TopupID)
	if err != nil {
		return Topup{}, err
	}
	pending, err := s.pendingRefund(ctx, row, r)
	if err != nil {
		return Topup{}, err
	}
	refundID, err := s.api.createRefund(ctx, pending.ID, row.IntentID, row.ID, pending.Cents)
	if isUnavailable(err) || errors.Is(err, context.Canceled) {
		return Topup{}, err
	}
	if err != nil { // Stripe refused the refund and will refuse it again.
		s.o.Log.Warn("stripe refund refused", "topup_id", row.ID, "cents", pending.Cents, "error", err)
		if _, err := s.db.ExecContext(ctx, `delete from payment_refunds where id = $1 and refund_id is null`, pending.ID); err != nil {
			return Topup{}, postgres.StoreError("stripe: forget a refund", err)
		}
		return Topup{}, app.Errorf(app.Conflict, "refund_refused", "The payment service refuses this refund: %s", stripeMessage(err)).
			Because(err).Final()
	}
	if err := s.recordRefund(ctx, row, pending, refundID, r.From); err != nil {
		return Topup{}, postgres.StoreError("stripe: keep a refund", err)
	}
	if err := s.refresh(ctx, row.ID, eventRef{}); err != nil {
		return Topup{}, postgres.StoreError("stripe: book a refund", err)
	}
	row, err = topupByID(ctx, s.db, row.ID)
	return row.topup(), postgres.StoreError("stripe: read a top-up", err)
}

// refundMade returns the top-up of a refund that was made before under the same name.
func (s *Service) refundMade(ctx context.Context, r RefundRequest) (Topup, bool, error) {
	if r.Once == "" {
		return Topup{}, false, nil
	}
	id, err := postgres.Get[string](ctx, s.db, `select topup_id from payment_refunds where id = $1 and refund_id is not null`, r.Once)
	if errors.Is(err, sql.ErrNoRows) {
		return Topup{}, false, nil
	}
	if err != nil {
		return Topup{}, false, postgres.StoreError("stripe: look for a refund", err)
	}
	row, err := topupByID(ctx, s.db, id)
	return row.topup(), true, postgres.StoreError("stripe: read a top-up", err)
}

// recordRefund records the outcome of a refund, and notifies the account once.
func (s *Service) recordRefund(ctx context.Context, row topupRow, r refundRow, refundID string, from app.Origin) error {
	return postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		fresh, err := postgres.Changed(tx.ExecContext(ctx, `
			update payment_refunds set refund_id = $2 where id = $1 and refund_id is null`, r.ID, refundID))
		if err != nil || !fresh {
			return err
		}
		return s.audit.Write(ctx, tx, app.Principal{AccountID: row.AccountID, From: from}, audit.Event{
			Action: "billing.refunded", Object: row.ID, Operator: true,
			Changes: []audit.Change{{Field: "amount", To: dollars(nanos(r.Cents))}, {Field: "reason", To: r.Reason}},
		})
	})
}

// readRefundable reads a top-up as it is now at Stripe.
func (s *Service) readRefundable(ctx context.Context, id string) (topupRow, error) {
	row, err := topupByID(ctx, s.db, id)
	if errors.Is(err, sql.ErrNoRows) {
		return row, errNoTopup()
	}
	if err != nil {
		return row, postgres.StoreError("stripe: read a top-up", err)
	}
	if err := s.refresh(ctx, id, eventRef{}); err != nil {
		if errors.Is(err, errMissing) {
			return row, app.Errorf(app.Conflict, "not_refundable", "The payment service does not know this top-up.").Final()
		}
		return row, postgres.StoreError("stripe: read a payment", err)
	}
	if row, err = topupByID(ctx, s.db, id); err != nil {
		return row, postgres.StoreError("stripe: read a top-up", err)
	}
	if !row.State.paid() || row.State.withheld() {
		return row, app.Errorf(app.Conflict, "not_refundable", "This top-up is %s, so there is nothing to give back.", row.State).Final()
	}
	return row, nil
}

// pendingRefund records a refund before requesting it. When an earlier refund has an unknown outcome, pendingRefund returns
// that one instead.
func (s *Service) pendingRefund(ctx context.Context, row topupRow, r RefundRequest) (refundRow, error) {
	// A refund that is too old is ignored, because the payment at Stripe then shows its outcome.
	_, err := s.db.ExecContext(ctx, `delete from payment_refunds where topup_id = $1 and refund_id is null and created_at <= $2`,
		row.ID, s.now().Add(-idempotencyMax))
	if err != nil {
		return refundRow{}, postgres.StoreError("stripe: look for a refund", err)
	}
	pending, err := selectPendingRefund(ctx, s.db, row.ID)
	if err == nil || !errors.Is(err, sql.ErrNoRows) {
		return pending, postgres.StoreError("stripe: look for a refund", err)
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
	_, err = s.db.ExecContext(ctx, `
		insert into payment_refunds (id, topup_id, cents, operator, reason, created_at) values ($1, $2, $3, $4, $5, $6) on conflict do nothing`,
		cmp.Or(r.Once, s.NewRefund()), row.ID, cents, r.Operator, r.Reason, s.now())
	if err == nil { // Another operator may have recorded a refund first.
		pending, err = selectPendingRefund(ctx, s.db, row.ID)
	}
	return pending, postgres.StoreError("stripe: write down a refund", err)
}

// stripeMessage is the message that Stripe has for people.
func stripeMessage(err error) string {
	if refused := apiError(err); refused != nil {
		return shorten(refused.Msg)
	}
	return "it does not know the payment."
}
