package stripe

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
	"umg/billing"
	"umg/billing/failpoint"
)

// These limits apply to top-ups.
const (
	openMax         = 10 // An account may have at most this many unpaid checkouts.
	conflictsMax    = 8  // A decision is retried this often when another replica was faster.
	keyBytesMax     = 255
	pauseMax        = time.Hour           // An open top-up is refreshed at least this often.
	openFor         = 30 * 24 * time.Hour // Slow payment methods may take this long.
	unknownAfter    = 48 * time.Hour      // A top-up that Stripe does not know after this time was never paid.
	abandonedAfter  = 24 * time.Hour      // A checkout whose address was never returned ends after this time.
	nanosPerCent    = int64(app.Cent)
	grantReasonText = "Credit bought"
)

// State is the present state of a top-up.
type State string

// These are the states of a top-up.
const (
	Created        State = "CREATED" // Stripe does not know the top-up yet.
	Open           State = "OPEN"    // The top-up awaits payment.
	Paid           State = "PAID"
	PartlyRefunded State = "PARTIALLY_REFUNDED"
	Refunded       State = "REFUNDED"
	Expired        State = "EXPIRED"
	Failed         State = "FAILED"
	Disputed       State = "DISPUTED"
	Won            State = "WON" // The operator won the dispute.
	Lost           State = "LOST"
)

func (s State) paid() bool {
	return slices.Contains([]State{Paid, PartlyRefunded, Refunded, Disputed, Won, Lost}, s)
}

// withheld reports whether a card's bank has withdrawn the payment.
func (s State) withheld() bool { return s == Disputed || s == Lost }

// Topup is a purchase of credit.
type Topup struct {
	ID            string
	AccountID     string
	Cents         int64
	State         State
	URL           string // URL is the page for paying. It is empty unless the top-up is open.
	ReceiptURL    string // ReceiptURL is empty before the payment.
	Failure       string // Failure is the message of the card's bank.
	RefundedCents int64
	CreatedAt     time.Time
	PaidAt        *time.Time
	Auto          bool   // Auto marks a charge of a saved card because credit was low.
	Source        string // Source is that of its grant in the ledger. It is empty until Stripe knows the payment.
}

func (t topupRow) topup() Topup {
	out := Topup{
		ID: t.ID, AccountID: t.AccountID, Cents: t.Cents, State: t.State, ReceiptURL: t.Receipt, Failure: t.Failure,
		RefundedCents: t.RefundedCents, CreatedAt: t.CreatedAt, PaidAt: t.PaidAt, Auto: t.Auto,
	}
	if t.State == Open {
		out.URL = t.URL
	}
	if t.SessionID != "" || t.IntentID != "" {
		out.Source = grantSource(t)
	}
	return out
}

func nanos(cents int64) app.Amount { return app.Amount(cents * nanosPerCent) }

// Topup returns one of the account's top-ups. It refreshes an open one first, so a buyer who returns need not wait for an
// event. When Stripe is unavailable, it returns the stored state.
func (s *Service) Topup(ctx context.Context, accountID, id string) (Topup, error) {
	if !validID(id) {
		return Topup{}, errNoTopup()
	}
	row, err := topupOf(ctx, s.db, accountID, id)
	if errors.Is(err, sql.ErrNoRows) {
		return Topup{}, errNoTopup()
	}
	if err != nil {
		return Topup{}, postgres.StoreError("stripe: read a top-up", err)
	}
	if row.State != Open || s.api == nil || s.now().Sub(row.AskedAt) < refreshPause {
		return row.topup(), nil
	}
	if err := s.refresh(ctx, row.ID, eventRef{}); err != nil {
		s.o.Log.Info("open top-up refresh failed", "topup_id", id, "error", err)
		return row.topup(), nil
	}
	row, err = topupOf(ctx, s.db, accountID, id)
	return row.topup(), postgres.StoreError("stripe: read a top-up", err)
}

// refreshPause is how often a waiting buyer's page may cause a request to Stripe.
const refreshPause = 2 * time.Second

func errNoTopup() error {
	return app.Errorf(app.NotFound, "topup_not_found", "There is no such top-up in this account.")
}

// Topups returns the account's latest top-ups, newest first, at most 200.
func (s *Service) Topups(ctx context.Context, accountID string, limit int) ([]Topup, error) {
	return s.TopupsAfter(ctx, accountID, "", limit)
}

// TopupsAfter returns the account's top-ups that are older than the given one; an empty id begins with the newest.
func (s *Service) TopupsAfter(ctx context.Context, accountID, after string, limit int) ([]Topup, error) {
	if after != "" && !app.IsID("top", after) {
		return nil, app.Errorf(app.Invalid, "invalid_request_error",
			"after must be the id of a top-up, such as the last_id of the page before.").At("after")
	}
	var rows []topupRow
	err := s.db.SelectContext(ctx, &rows, `
		select `+topupColumns+` from topups
		where account_id = $1
			and ($2 = '' or (created_at, id) < (select t.created_at, t.id from topups t where t.account_id = $1 and t.id = $2))
		order by created_at desc, id desc limit $3`, accountID, after, min(max(limit, 1), listRowsMax))
	if err != nil {
		return nil, postgres.StoreError("stripe: list top-ups", err)
	}
	list := make([]Topup, len(rows))
	for i, row := range rows {
		list[i] = row.topup()
	}
	return list, nil
}

// refresh asks Stripe about a top-up and books the result. When another replica stored a newer decision in the meantime,
// refresh discards its own and asks again.
func (s *Service) refresh(ctx context.Context, id string, h eventRef) error {
	for range conflictsMax {
		row, err := topupByID(ctx, s.db, id)
		if err != nil {
			return postgres.StoreError("stripe: read a top-up", err)
		}
		kept := false
		f, err := s.read(ctx, row, h)
		if err == nil {
			if f.paid() && row.CreditedCents == 0 {
				failpoint.At(failpoint.C21)
			}
			kept, err = s.book(ctx, row, f)
		}
		if _, wrong := errors.AsType[amountMismatch](err); wrong {
			s.reportMismatch(row, err)
			return errors.Join(err, errReported, s.postpone(ctx, row))
		}
		if errors.Is(err, errMissing) {
			return errors.Join(err, s.expireUnknown(ctx, row))
		}
		if err != nil || kept {
			return err
		}
	}
	// A higher version invalidates the decisions of other replicas about the top-up.
	_, err := s.db.ExecContext(ctx, `update topups set due_at = $2, version = version + 1 where id = $1`, id, s.now())
	return postgres.StoreError("stripe: hasten a top-up", err)
}

// errReported marks a mismatch that is already in the log.
var errReported = errors.New("stripe: nothing was credited")

// reportMismatch logs a mismatch for operators. It means an attempted fraud or a defect.
func (s *Service) reportMismatch(t topupRow, err error) {
	s.counts.mismatches.Add(1)
	s.o.Log.Error("payment mismatch, nothing credited", "topup_id", t.ID, "account_id", t.AccountID,
		"error", err)
}

func (s *Service) postpone(ctx context.Context, t topupRow) error {
	_, err := s.db.ExecContext(ctx, `update topups set due_at = $2 where id = $1`, t.ID, s.nextRefresh(t.State, t))
	return postgres.StoreError("stripe: postpone a top-up", err)
}

// expireUnknown ends a top-up that Stripe never knew, when it is old enough.
func (s *Service) expireUnknown(ctx context.Context, t topupRow) error {
	age, after := s.now().Sub(t.CreatedAt), unknownAfter
	if t.State == Created {
		after = abandonedAfter
	}
	if t.State != Created && t.State != Open || age < after {
		return s.postpone(ctx, t)
	}
	_, err := s.book(ctx, t, paymentState{State: Expired, SessionID: t.SessionID, IntentID: t.IntentID})
	return err
}

// nextRefresh returns when to refresh a top-up again; nil means never, because then only events change it.
func (s *Service) nextRefresh(state State, t topupRow) *time.Time {
	age := s.now().Sub(t.CreatedAt)
	if state != Open && state != Created || age > openFor {
		return nil
	}
	at := s.now().Add(min(max(age/2, s.o.Waits.First), pauseMax))
	return &at
}

// book stores Stripe's facts and changes the credit accordingly, in one transaction: it credits once, and takes back what was
// returned since. It stores nothing when the row has changed since it was read.
func (s *Service) book(ctx context.Context, was topupRow, f paymentState) (kept bool, err error) {
	if was.State.paid() && !f.paid() {
		return false, newMismatch("a payment that was credited is %s now", f.State)
	}
	next := was.afterDecision(f, s.now(), s.nextRefresh(f.State, was))
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		// The account is locked before the top-up, in the same order as when a top-up is ordered.
		if next.Auto || next.CreditedCents > was.CreditedCents {
			if _, err := lockAccount(ctx, tx, was.AccountID); err != nil {
				return err
			}
		}
		if kept, err = updateTopup(ctx, tx, was, next); err != nil || !kept {
			return err
		}
		return s.applyDecision(ctx, tx, was, next, f)
	})
	if err != nil {
		return false, postgres.StoreError("stripe: book a top-up", err)
	}
	if kept {
		s.count(was, next)
	}
	return kept, nil
}

func (s *Service) count(was, next topupRow) {
	if next.CreditedCents > was.CreditedCents {
		s.counts.credited.Add(1)
	}
	switch {
	case next.TakenCents <= was.TakenCents:
	case next.DisputedCents > was.DisputedCents:
		s.counts.disputes.Add(1)
	default:
		s.counts.refunds.Add(1)
	}
	if next.Auto && next.State == Failed && was.State != Failed {
		s.counts.declined.Add(1)
	}
}

// afterDecision returns the row after the decision.
func (t topupRow) afterDecision(f paymentState, now time.Time, due *time.Time) topupRow {
	next := t
	next.State, next.Receipt = f.State, cmp.Or(f.Receipt, t.Receipt)
	next.SessionID, next.IntentID = cmp.Or(t.SessionID, f.SessionID), cmp.Or(t.IntentID, f.IntentID)
	next.Failure, next.DueAt, next.AskedAt, next.Version = f.Failure, due, now, t.Version+1
	if !f.paid() {
		return next
	}
	next.CreditedCents, next.RefundedCents, next.DisputedCents = t.Cents, min(f.Refunded, t.Cents), min(f.Disputed, t.Cents)
	next.TakenCents = f.returnedCents(t.Cents)
	if t.PaidAt == nil {
		next.PaidAt = &now
	}
	return next
}

// grantSource is the source of the top-up's grant, which makes it happen once.
func grantSource(t topupRow) string { return "stripe:" + cmp.Or(t.SessionID, t.IntentID) }

// applyDecision changes the credit for one decision.
func (s *Service) applyDecision(ctx context.Context, tx *sqlx.Tx, was, next topupRow, f paymentState) error {
	if next.CreditedCents > was.CreditedCents {
		err := s.o.Ledger.Grant(ctx, tx, billing.Grant{
			AccountID: next.AccountID, Kind: billing.Purchased, Amount: nanos(next.CreditedCents),
			Source: grantSource(next), Reason: grantReasonText,
		})
		if err != nil {
			return err
		}
		// The card is the one to charge next time. Its failures are forgotten.
		_, err = tx.ExecContext(ctx, `
			insert into payment_accounts as a (account_id, purchased, payment_method) values ($1, true, $2)
			on conflict (account_id) do update set purchased = true,
				payment_method = case when $2 <> '' then $2 else a.payment_method end,
				failures = case when $3 then 0 else a.failures end`, next.AccountID, f.Card, next.Auto)
		if err != nil {
			return err
		}
	}
	if next.Auto && next.State != was.State && (next.State == Failed || next.State == Expired) {
		if err := s.chargeFailed(ctx, tx, next); err != nil {
			return err
		}
	}
	return s.applyReturns(ctx, tx, was, next)
}
