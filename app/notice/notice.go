// Package notice keeps what people have read of an account's notices and how they want to hear of each kind of event. It
// does not know what the notices say: they are derived from the state of the account where they are shown.
package notice

import (
	"context"
	"slices"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

// Event is a kind of event that people are notified of.
type Event string

// The events that people may choose about.
const (
	LowBalance Event = "low_balance"
	AutoTopUp  Event = "auto_topup"
	Webhook    Event = "webhook"
	KeyExpiry  Event = "key_expiry"
	KeyBudget  Event = "key_budget"
	KeyNetwork Event = "key_network"
	Model      Event = "model"
	Price      Event = "price"
	Video      Event = "video"
)

// Events are all of them, in the order in which they are shown.
func Events() []Event {
	return []Event{LowBalance, AutoTopUp, Webhook, KeyExpiry, KeyBudget, KeyNetwork, Model, Price, Video}
}

// Mailed reports whether a mail is ever sent about the event.
func (e Event) Mailed() bool {
	return e == LowBalance || e == AutoTopUp || e == Webhook || e == KeyBudget || e == Price
}

const (
	seenMax    = 200 // ids of a read marker
	idBytesMax = 120
)

// Choice says how a user wants to be notified of an event.
type Choice struct {
	ByMail, InConsole bool
}

// Reader is a person who reads the notices of an account.
type Reader struct{ UserID, AccountID string }

// Service is the markers and the choices.
type Service struct {
	db  *sqlx.DB
	now app.Clock
}

// New returns the service.
func New(db *sqlx.DB, now app.Clock) *Service { return &Service{db: db, now: now} }

// Seen are the ids of the notices that the reader has read.
func (s *Service) Seen(ctx context.Context, r Reader) ([]string, error) {
	seen, err := seenBy(ctx, s.db, r)
	return seen, postgres.StoreError("notice: read what was seen", err)
}

// See marks the notices as read. Those that are not among them are gone, and are forgotten.
func (s *Service) See(ctx context.Context, r Reader, ids []string) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return id == "" || len(id) > idBytesMax || !app.Storable(id)
	})
	return postgres.StoreError("notice: mark notices as read", saveSeen(ctx, s.db, r, ids[:min(len(ids), seenMax)], s.now()))
}

// Choices are how the reader wants to hear of each event.
func (s *Service) Choices(ctx context.Context, r Reader) (map[Event]Choice, error) {
	rows, err := choicesOf(ctx, s.db, r)
	all := make(map[Event]Choice, len(Events()))
	for _, e := range Events() {
		all[e] = Choice{ByMail: true, InConsole: true}
	}
	for _, row := range rows {
		if _, known := all[row.Event]; known {
			all[row.Event] = Choice{ByMail: row.ByMail, InConsole: row.InConsole}
		}
	}
	return all, postgres.StoreError("notice: read choices", err)
}

// Choose keeps how the reader wants to hear of events; those that are not named stay as they are.
func (s *Service) Choose(ctx context.Context, r Reader, choices map[Event]Choice) error {
	return postgres.StoreError("notice: keep choices", postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		for _, e := range Events() {
			if c, named := choices[e]; named {
				if err := saveChoice(ctx, tx, r, e, c); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}
