package notification_test

import (
	"crypto/rand"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/account"
	"umg/app/catalog"
	"umg/app/mail"
	"umg/app/notification"
	"umg/app/postgres/pgtest"
	"umg/billing"
)

func TestThoseWhoUsedAModelAreToldOnceOfEachChangeOfItsPrice(t *testing.T) {
	t.Parallel()
	db, ids, log := pgtest.New(t), app.IDs{Now: time.Now, Random: rand.Reader}, slog.New(slog.DiscardHandler)
	letters, err := mail.New(db, mail.Options{Key: [32]byte{7}, Now: time.Now, IDs: ids, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	file, err := catalog.ParseFile(catalog.Default())
	if err != nil {
		t.Fatal(err)
	}
	m := &file.Models[0]
	announce := func(days int, dearer app.Amount) {
		t.Helper()
		from := time.Now().UTC().AddDate(0, 0, days).Truncate(24 * time.Hour)
		m.Announced = &catalog.FileAnnounced{From: catalog.Date(from), Rates: raised(m.Rates, dearer)}
		if err := catalog.Apply(t.Context(), db, file); err != nil {
			t.Fatal(err)
		}
	}
	ledger := billing.NewLedger(db, billing.Options{Now: time.Now, IDs: ids, Log: log})
	people := populate(t, db, m.ID, ledger, ids)
	quiet := map[notification.Event]notification.Preference{notification.Price: {InConsole: true}}
	told := func(days int, dearer app.Amount) (to []string, text string) {
		t.Helper()
		announce(days, dearer)
		c, err := catalog.Open(t.Context(), db, catalog.Options{Now: time.Now, Log: log, Secrets: func(string) (string, bool) { return "x", true }})
		if err != nil {
			t.Fatal(err)
		}
		s := notification.NewPriceChanges(db, notification.PriceOptions{
			Catalog: c.Snapshot, Accounts: people, Mail: letters, Now: time.Now, BaseURL: "https://gateway.example", Log: log,
		})
		db.MustExec(`delete from mails`)
		for range 2 {
			if err := s.Notify(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		list, err := letters.Outbox(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range list {
			to, text = append(to, l.To), l.Text
		}
		return to, text
	}
	if to, _ := told(20, 1); len(to) != 0 {
		t.Errorf("%v are notified too early", to)
	}
	to, text := told(10, 1)
	if len(to) != 2 || !strings.Contains(strings.Join(to, " "), "owner@used.example") || !strings.Contains(strings.Join(to, " "), "owner@lately.example") {
		t.Errorf("%v are notified", to)
	}
	if !strings.Contains(text, m.ID) || !strings.Contains(text, " → $") || !strings.Contains(text, "/console/models/"+m.ID+"?tab=history#price-history") {
		t.Errorf("the mail says %s", text)
	}
	if err := notification.New(db, time.Now).SetPreferences(t.Context(), notification.Reader{UserID: "owner@used.example", AccountID: "used"}, quiet); err != nil {
		t.Fatal(err)
	}
	if to, _ := told(10, 2); len(to) != 1 || to[0] != "owner@lately.example" {
		t.Errorf("of another change %v are notified", to)
	}
	m.Accounts = []string{"used"}
	if to, _ := told(10, 3); len(to) != 0 {
		t.Errorf("of the price of a model that they do not see any more %v are notified", to)
	}
}

// raised are prices that are higher by an amount each.
func raised(prices catalog.Rates, by app.Amount) catalog.Rates {
	rates := catalog.Rates{}
	for meter, price := range prices {
		price.Amount += by
		rates[meter] = price
	}
	return rates
}

// populate makes accounts that used a model at different times, each with an owner and a developer.
func populate(t *testing.T, db *sqlx.DB, model string, ledger *billing.Ledger, ids app.IDs) *account.Service {
	t.Helper()
	people := account.New(db, ledger, account.Options{Now: time.Now, IDs: ids, Random: rand.Reader, Log: slog.New(slog.DiscardHandler)})
	for id, used := range map[string]string{"used": "1 day", "lately": "29 days", "before": "40 days", "never": ""} {
		db.MustExec(`insert into accounts (id, created_at) values ($1, now())`, id)
		for _, role := range []string{"owner", "developer"} {
			mailbox := role + "@" + id + ".example"
			db.MustExec(`insert into users (id, email, password_hash, created_at) values ($1, $1, '', now())`, mailbox)
			db.MustExec(`insert into memberships (account_id, user_id, role, created_at) values ($1, $2, $3, now())`, id, mailbox, role)
		}
		if used != "" {
			db.MustExec(`select count_usage(array[r]) from jsonb_populate_record(null::usage_records, jsonb_build_object('account_id', $1::text,
				'key_id', '', 'model', $2::text, 'style', 'chat', 'reason', 'completed', 'outcome', 'succeeded', 'streamed', false,
				'started_at', now() - $3::interval, 'meters', jsonb_build_array(1, 0, 0, 1), 'cost_nanos', 1, 'overrun_nanos', 0,
				'first_byte_micros', 0, 'duration_micros', 0)) r`, id, model, used)
		}
	}
	return people
}
