package notification

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
	"umg/app/workqueue"
)

const (
	priceLeadTime = 14 * 24 * time.Hour // lead time of a notification before a price changes
	usedWithin    = 30 * 24 * time.Hour // accounts that called the model within this time are notified

	pricesCheckedEvery = 10 * time.Minute
	batchMax           = 100 // accounts in one transaction
	batchesMax         = 50  // batches for one model in one call of Notify
	pathOfModel        = "/console/models/"
)

// PriceOptions are what PriceChanges needs. All are required.
type PriceOptions struct {
	Catalog  func() *catalog.Snapshot
	Accounts *account.Service
	Mail     *mail.Service
	Now      app.Clock
	BaseURL  string
	Log      *slog.Logger
}

// PriceChanges sends e-mails about announced price changes to accounts that called the model lately, once for each change. It also sends
// those about keys, videos and models that end.
type PriceChanges struct {
	db *sqlx.DB
	o  PriceOptions
}

// NewPriceChanges returns the sender of e-mails about price changes.
func NewPriceChanges(db *sqlx.DB, o PriceOptions) *PriceChanges { return &PriceChanges{db: db, o: o} }

// PriceChangesSoon reports whether a price of the model changes within the next 14 days.
func PriceChangesSoon(m *catalog.Model, now time.Time) bool {
	return m.Announced != nil && now.Before(m.Announced.From) && m.Announced.From.Sub(now) <= priceLeadTime && len(m.Differences()) > 0
}

// Notify sends the e-mails that are due for all models. The next call continues where a call stopped early.
func (s *PriceChanges) Notify(ctx context.Context) error {
	for _, m := range s.o.Catalog().Models() {
		if !PriceChangesSoon(m, s.o.Now()) {
			continue
		}
		for range batchesMax {
			n, err := s.notifyBatch(ctx, m)
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

// notifyBatch marks accounts as notified and queues their e-mails in the same transaction.
func (s *PriceChanges) notifyBatch(ctx context.Context, m *catalog.Model) (n int, err error) {
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		now := s.o.Now().UTC()
		accounts, err := markNotified(ctx, tx, m.ID, m.Announced.ID(), now.Add(-usedWithin), now)
		if err != nil {
			return err
		}
		n = len(accounts)
		for _, id := range accounts {
			if !m.IsVisibleTo(id) { // The account called the model while it could see it.
				continue
			}
			if err := s.send(ctx, tx, id, m); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// send queues an e-mail to the members who look after the account's spending.
func (s *PriceChanges) send(ctx context.Context, q postgres.Queryer, accountID string, m *catalog.Model) error {
	to, err := s.o.Accounts.Recipients(ctx, q, accountID, string(Price), app.RoleOwner, app.RoleAdmin, app.RoleBilling)
	if err != nil {
		return err
	}
	day := m.Announced.From.UTC().Format("2 January 2006")
	l := mail.Template{
		Title: "The price of " + m.Name + " changes on " + day,
		Paragraphs: []string{
			"You called " + m.ID + " in the last 30 days. Calls that begin on " + day + " (UTC) or later are charged at the new price.",
		},
		Action: mail.Action{Label: "See all its prices", URL: s.o.BaseURL + pathOfModel + m.ID + "?tab=history#price-history"},
		Footer: "You get this mail as an owner, admin or billing person of the account. Settings, Notifications says which mails you get.",
	}
	for _, d := range m.Differences() {
		l.Paragraphs = append(l.Paragraphs, d.String())
	}
	return mail.SendAll(ctx, q, s.o.Mail, s.o.Log, mail.Broadcast{
		Letter: l, Subject: l.Title, Kind: "price_change", To: to, About: slog.String("account_id", accountID),
	})
}

// markNotified records that accounts which used a model since then are notified of a change, at most a batch of them, and returns them.
// Replicas that run it at the same time mark different ones.
func markNotified(ctx context.Context, q postgres.Queryer, model, change string, since, now time.Time) ([]string, error) {
	return postgres.Select[string](ctx, q, `
		with used as (
			select distinct u.account_id from usage_rollups u join accounts a on a.id = u.account_id
			where u.model = $1 and u.slot >= $3
				and not exists (select from price_notices n where n.account_id = u.account_id and n.model_id = $1 and n.change = $2)
			order by u.account_id limit $5
		)
		insert into price_notices (account_id, model_id, change, told_at) select account_id, $1, $2, $4 from used
		on conflict do nothing returning account_id`, model, change, since, now, batchMax)
}

// Run calls Notify and NotifyEvents every few minutes until ctx ends. Any number of replicas may run it.
func (s *PriceChanges) Run(ctx context.Context) error {
	workqueue.Run(ctx, s.o.Log,
		workqueue.Task{Name: "send price changes", Every: pricesCheckedEvery, Work: workqueue.Repeat(s.Notify)},
		workqueue.Task{Name: "send event mails", Every: eventsCheckedEvery, Work: workqueue.Repeat(s.NotifyEvents)})
	return nil
}
