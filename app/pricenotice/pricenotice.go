// Package pricenotice writes to accounts that called a model lately when a price of it changes within two weeks: once for each change,
// to those who did not choose otherwise. It knows the announced prices of the catalog and who used what; it changes no price.
package pricenotice

import (
	"context"
	"log/slog"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/account"
	"umg/app/catalog"
	"umg/app/mail"
	"umg/app/postgres"
)

// These are the times at which accounts are notified.
const (
	Ahead  = 14 * 24 * time.Hour // lead time of a notification before a price changes
	UsedIn = 30 * 24 * time.Hour // accounts that called the model within this time are notified
	Event  = "price"             // name of the event in notification settings

	lookEvery   = 10 * time.Minute
	batchMax    = 100 // accounts of one transaction
	batchesMax  = 50  // batches of one model in one round
	pathOfModel = "/console/models/"
)

// Options are what the service needs; all are required.
type Options struct {
	Catalog  func() *catalog.Snapshot
	Accounts *account.Service
	Mail     *mail.Service
	Now      app.Clock
	BaseURL  string
	Log      *slog.Logger
}

// Service tells accounts of changes.
type Service struct {
	db *sqlx.DB
	o  Options
}

// New makes the service.
func New(db *sqlx.DB, o Options) *Service { return &Service{db: db, o: o} }

// Coming reports whether a model has a price that changes soon.
func Coming(m *catalog.Model, now time.Time) bool {
	return m.Announced != nil && now.Before(m.Announced.From) && m.Announced.From.Sub(now) <= Ahead && len(m.Differences()) > 0
}

// Tell makes one pass over the models. What it did not finish the next pass does.
func (s *Service) Tell(ctx context.Context) error {
	for _, m := range s.o.Catalog().Models() {
		if !Coming(m, s.o.Now()) {
			continue
		}
		for range batchesMax {
			n, err := s.tellSome(ctx, m)
			if err != nil {
				return err
			}
			if n < batchMax {
				break
			}
		}
	}
	return nil
}

// tellSome marks accounts as told and writes to them in the same transaction.
func (s *Service) tellSome(ctx context.Context, m *catalog.Model) (n int, err error) {
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		now := s.o.Now().UTC()
		accounts, err := mark(ctx, tx, m.ID, m.Announced.ID(), now.Add(-UsedIn), now)
		if err != nil {
			return err
		}
		n = len(accounts)
		for _, id := range accounts {
			if err := s.write(ctx, tx, id, m); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// write sends a mail to those who care for an account's money.
func (s *Service) write(ctx context.Context, q postgres.Queryer, accountID string, m *catalog.Model) error {
	to, err := s.o.Accounts.Recipients(ctx, q, accountID, Event, app.RoleOwner, app.RoleAdmin, app.RoleBilling)
	if err != nil {
		return err
	}
	day := m.Announced.From.UTC().Format("2 January 2006")
	l := mail.Template{
		Title: "The price of " + m.Name + " changes on " + day,
		Paragraphs: []string{
			"You called " + m.ID + " in the last 30 days. Calls that begin on " + day + " (UTC) or later are charged at the new price.",
		},
		Action: mail.Action{Label: "See all its prices", URL: s.o.BaseURL + pathOfModel + m.ID + "#price-history"},
		Footer: "You get this mail as an owner, admin or billing person of the account. Settings, Notifications says which mails you get.",
	}
	for _, d := range m.Differences() {
		l.Paragraphs = append(l.Paragraphs, d.String())
	}
	return mail.SendAll(ctx, q, s.o.Mail, s.o.Log, mail.Broadcast{
		Letter: l, Subject: l.Title, Kind: "price_change", To: to, About: slog.String("account_id", accountID),
	})
}
