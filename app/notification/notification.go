package notification

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"umg/app"
	"umg/app/postgres"
)

// Event is a kind of event that members of an account are notified of.
type Event string

// These are the events that a member has preferences for.
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

// Events returns all events, in the order in which the settings page shows them.
func Events() []Event {
	return []Event{LowBalance, AutoTopUp, Webhook, KeyExpiry, KeyBudget, KeyNetwork, Model, Price, Video}
}

const (
	readIDsMax = 200 // ids of notifications that a reader has read
	idBytesMax = 120
)

// Preference is how a user wants to be notified of an event.
type Preference struct {
	ByMail, InConsole bool
}

// Reader is a user who reads the notifications of an account.
type Reader struct{ UserID, AccountID string }

// Service stores read marks and preferences.
type Service struct {
	db  *sqlx.DB
	now app.Clock
}

// New returns the service over a database.
func New(db *sqlx.DB, now app.Clock) *Service { return &Service{db: db, now: now} }

// ReadIDs returns the ids of the notifications that the reader has read.
func (s *Service) ReadIDs(ctx context.Context, r Reader) ([]string, error) {
	seen, err := readIDs(ctx, s.db, r)
	return seen, postgres.StoreError("notification: read ids", err)
}

// MarkRead marks notifications as read. It forgets all other read marks of the reader: those notifications have ended.
func (s *Service) MarkRead(ctx context.Context, r Reader, ids []string) error {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return id == "" || len(id) > idBytesMax || !app.Storable(id)
	})
	return postgres.StoreError("notification: mark as read", postgres.Exec(ctx, s.db, `
		insert into notification_reads (user_id, account_id, seen, read_at) values ($1, $2, $3, $4)
		on conflict (user_id, account_id) do update set seen = excluded.seen, read_at = excluded.read_at`,
		r.UserID, r.AccountID, pq.Array(ids[:min(len(ids), readIDsMax)]), s.now()))
}

// Preferences returns how the reader wants to be notified of each event. Without a choice the reader gets everything.
func (s *Service) Preferences(ctx context.Context, r Reader) (map[Event]Preference, error) {
	rows, err := postgres.Select[preferenceRow](ctx, s.db, `
		select event, by_mail, in_console from notification_preferences where user_id = $1 and account_id = $2`, r.UserID, r.AccountID)
	all := make(map[Event]Preference, len(Events()))
	for _, e := range Events() {
		all[e] = Preference{ByMail: true, InConsole: true}
	}
	for _, row := range rows {
		if _, known := all[row.Event]; known {
			all[row.Event] = Preference{ByMail: row.ByMail, InConsole: row.InConsole}
		}
	}
	return all, postgres.StoreError("notification: read preferences", err)
}

// SetPreferences stores how the reader wants to be notified. Events that are not in the map keep their preference.
func (s *Service) SetPreferences(ctx context.Context, r Reader, preferences map[Event]Preference) error {
	return postgres.StoreError("notification: set preferences", postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		for _, e := range Events() {
			if c, named := preferences[e]; named {
				if err := postgres.Exec(ctx, tx, `
					insert into notification_preferences (user_id, account_id, event, by_mail, in_console) values ($1, $2, $3, $4, $5)
					on conflict (user_id, account_id, event) do update set by_mail = excluded.by_mail, in_console = excluded.in_console`,
					r.UserID, r.AccountID, string(e), c.ByMail, c.InConsole); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

func readIDs(ctx context.Context, q postgres.Queryer, r Reader) (seen []string, err error) {
	err = q.GetContext(ctx, (*pq.StringArray)(&seen), `
		select seen from notification_reads where user_id = $1 and account_id = $2`, r.UserID, r.AccountID)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return seen, err
}

type preferenceRow struct {
	Event     Event `db:"event"`
	ByMail    bool  `db:"by_mail"`
	InConsole bool  `db:"in_console"`
}
