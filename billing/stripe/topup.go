package stripe

import (
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

// Limits of top-ups.
const (
	openMax         = 10 // checkouts of an account that nobody has paid yet
	conflictsMax    = 8  // decisions made in vain because another replica was quicker
	keyBytesMax     = 255
	pauseMax        = time.Hour           // between two questions about an open top-up
	openFor         = 30 * 24 * time.Hour // that slow ways of paying may take
	forgottenAfter  = 48 * time.Hour      // what the payment service does not know then was never paid
	abandonedAfter  = 24 * time.Hour      // a checkout whose address nobody was given
	nanosPerCent    = int64(app.Cent)
	grantReasonText = "Credit bought"
)

// State is how far a top-up has come.
type State string

// The states of a top-up.
const (
	Created        State = "CREATED" // not known to the payment service yet
	Open           State = "OPEN"    // waits for the payment
	Paid           State = "PAID"
	PartlyRefunded State = "PARTIALLY_REFUNDED"
	Refunded       State = "REFUNDED"
	Expired        State = "EXPIRED"
	Failed         State = "FAILED"
	Disputed       State = "DISPUTED"
	Won            State = "WON" // the dispute, by us
	Lost           State = "LOST"
)

func (s State) paid() bool {
	return slices.Contains([]State{Paid, PartlyRefunded, Refunded, Disputed, Won, Lost}, s)
}

// withheld reports whether a card's bank has taken the money back.
func (s State) withheld() bool { return s == Disputed || s == Lost }

// Topup is a purchase of credit.
type Topup struct {
	ID            string
	AccountID     string
	Cents         int64
	State         State
	URL           string // where to pay; empty unless open
	ReceiptURL    string // empty until paid
	Failure       string // what the card's bank said
	RefundedCents int64
	CreatedAt     time.Time
	PaidAt        *time.Time
	Auto          bool   // charged to a saved card when credit ran low
	Source        string // of its grant in the ledger; empty until the payment service knows it
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

// Topup is one of the account's top-ups as it is known now. An open one is asked about first, so that who comes back
// from paying need not wait for an event; when the payment service is away, what is known is answered.
func (s *Service) Topup(ctx context.Context, accountID, id string) (Topup, error) {
	if !validID(id) {
		return Topup{}, noTopup()
	}
	row, err := topupOf(ctx, s.db, accountID, id)
	if errors.Is(err, sql.ErrNoRows) {
		return Topup{}, noTopup()
	}
	if err != nil {
		return Topup{}, wrap("read a top-up", err)
	}
	if row.State != Open || s.api == nil || s.now().Sub(row.AskedAt) < askPause {
		return row.topup(), nil
	}
	if err := s.refresh(ctx, row.ID, hint{}); err != nil {
		s.o.Log.Info("an open top-up could not be read", "topup_id", id, "error", err)
		return row.topup(), nil
	}
	row, err = topupOf(ctx, s.db, accountID, id)
	return row.topup(), wrap("read a top-up", err)
}

// askPause is how often somebody who waits on a page makes us ask.
const askPause = 2 * time.Second

func noTopup() error {
	return app.Errorf(app.NotFound, "topup_not_found", "There is no such top-up in this account.")
}

// Topups are the account's latest top-ups, newest first, at most 200.
func (s *Service) Topups(ctx context.Context, accountID string, limit int) ([]Topup, error) {
	return s.TopupsAfter(ctx, accountID, "", limit)
}

// TopupsAfter are those that are older than the one with the id, of the same account; an empty id begins with the newest.
func (s *Service) TopupsAfter(ctx context.Context, accountID, after string, limit int) ([]Topup, error) {
	if after != "" && !app.IsID("top", after) {
		return nil, app.Errorf(app.Invalid, "invalid_request_error",
			"after must be the id of a top-up, such as the last_id of the page before.").At("after")
	}
	rows, err := topupsOf(ctx, s.db, accountID, after, min(max(limit, 1), listRowsMax))
	if err != nil {
		return nil, wrap("list top-ups", err)
	}
	list := make([]Topup, len(rows))
	for i, row := range rows {
		list[i] = row.topup()
	}
	return list, nil
}

// refresh asks the payment service about a top-up and books what follows. What is decided on answers that were older
// than another replica's decision is not kept, but asked again.
func (s *Service) refresh(ctx context.Context, id string, h hint) error {
	for range conflictsMax {
		row, err := topupByID(ctx, s.db, id)
		if err != nil {
			return wrap("read a top-up", err)
		}
		f, err := s.read(ctx, row, h)
		if _, wrong := errors.AsType[mismatch](err); wrong {
			s.alarm(row, err)
			return errors.Join(err, errKept, s.postpone(ctx, row))
		}
		if errors.Is(err, errMissing) {
			return errors.Join(err, s.forget(ctx, row))
		}
		if err != nil {
			return err
		}
		if f.paid() && row.CreditedCents == 0 {
			failpoint.At(failpoint.C21)
		}
		kept, err := s.book(ctx, row, f)
		if _, wrong := errors.AsType[mismatch](err); wrong {
			s.alarm(row, err)
			return errors.Join(err, errKept, s.postpone(ctx, row))
		}
		if err != nil || kept {
			return err
		}
	}
	return wrap("hasten a top-up", hasten(ctx, s.db, id, s.now()))
}

// errKept marks a mismatch that is in the log already.
var errKept = errors.New("stripe: nothing was credited")

// alarm tells operators of what must never happen: somebody tries something, or a mistake.
func (s *Service) alarm(t topupRow, err error) {
	s.counts.mismatches.Add(1)
	s.o.Log.Error("alert: a payment does not match its order; nothing was credited", "topup_id", t.ID, "account_id", t.AccountID,
		"error", err)
}

func (s *Service) postpone(ctx context.Context, t topupRow) error {
	return wrap("postpone a top-up", setDue(ctx, s.db, t.ID, s.due(t.State, t)))
}

// forget ends a top-up that the payment service has never heard of, when it is old enough.
func (s *Service) forget(ctx context.Context, t topupRow) error {
	age, after := s.now().Sub(t.CreatedAt), forgottenAfter
	if t.State == Created {
		after = abandonedAfter
	}
	if t.State != Created && t.State != Open || age < after {
		return s.postpone(ctx, t)
	}
	_, err := s.book(ctx, t, facts{State: Expired, SessionID: t.SessionID, IntentID: t.IntentID})
	return err
}

// due is when to ask about a top-up again; nil for never, since then only events change it.
func (s *Service) due(state State, t topupRow) *time.Time {
	age := s.now().Sub(t.CreatedAt)
	if state != Open && state != Created || age > openFor {
		return nil
	}
	at := s.now().Add(min(max(age/2, s.o.Waits.First), pauseMax))
	return &at
}

// book keeps what the payment service says, with the money that follows from it, in one transaction: credit once, and
// what has left us again since. It keeps nothing when somebody else decided since the row was read.
func (s *Service) book(ctx context.Context, was topupRow, f facts) (kept bool, err error) {
	if was.State.paid() && !f.paid() {
		return false, mismatched("a payment that was credited is %s now", f.State)
	}
	next := was.with(f, s.now(), s.due(f.State, was))
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		if next.Auto || next.CreditedCents > was.CreditedCents { // before the top-up, as those who order one do
			if _, err := lockAccount(ctx, tx, was.AccountID); err != nil {
				return err
			}
		}
		if kept, err = updateTopup(ctx, tx, was, next); err != nil || !kept {
			return err
		}
		return s.move(ctx, tx, was, next, f)
	})
	if err != nil {
		return false, wrap("book a top-up", err)
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
	if next.TakenCents > was.TakenCents {
		s.counts.taken.Add(1)
	}
	if next.Auto && next.State == Failed && was.State != Failed {
		s.counts.declined.Add(1)
	}
}

// with is the row as it is to be.
func (t topupRow) with(f facts, now time.Time, due *time.Time) topupRow {
	next := t
	next.State, next.Receipt = f.State, or(f.Receipt, t.Receipt)
	next.SessionID, next.IntentID = or(t.SessionID, f.SessionID), or(t.IntentID, f.IntentID)
	next.Failure, next.DueAt, next.AskedAt, next.Version = f.Failure, due, now, t.Version+1
	if !f.paid() {
		return next
	}
	next.CreditedCents, next.RefundedCents, next.DisputedCents = t.Cents, min(f.Refunded, t.Cents), min(f.Disputed, t.Cents)
	next.TakenCents = f.away(t.Cents)
	if t.PaidAt == nil {
		next.PaidAt = &now
	}
	return next
}

// grantSource is what makes a top-up be credited once.
func grantSource(t topupRow) string { return "stripe:" + or(t.SessionID, t.IntentID) }

// move moves the money of one decision.
func (s *Service) move(ctx context.Context, tx *sqlx.Tx, was, next topupRow, f facts) error {
	if next.CreditedCents > was.CreditedCents {
		err := s.o.Ledger.Grant(ctx, tx, billing.Grant{
			AccountID: next.AccountID, Kind: billing.Purchased, Amount: nanos(next.CreditedCents),
			Source: grantSource(next), Reason: grantReasonText,
		})
		if err != nil {
			return err
		}
		if err := markPurchased(ctx, tx, next.AccountID, f.Card, next.Auto); err != nil {
			return err
		}
	}
	if next.Auto && next.State != was.State && (next.State == Failed || next.State == Expired) {
		if err := s.chargeFailed(ctx, tx, next); err != nil {
			return err
		}
	}
	return s.moveBack(ctx, tx, was, next)
}
