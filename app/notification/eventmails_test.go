package notification_test

import (
	"crypto/rand"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/mail"
	"umg/app/notification"
	"umg/app/postgres/pgtest"
	"umg/billing"
)

// TestEventsOfKeysVideosAndModelsAreMailedOnce has one event of each kind, each of which a member may have switched off.
func TestEventsOfKeysVideosAndModelsAreMailedOnce(t *testing.T) {
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
	model := file.Models[0].ID
	if err := catalog.Apply(t.Context(), db, file); err != nil {
		t.Fatal(err)
	}
	people := populate(t, db, model, billing.NewLedger(db, billing.Options{Now: time.Now, IDs: ids, Log: log}), ids)
	if err := notification.New(db, time.Now).SetPreferences(t.Context(), notification.Reader{UserID: "developer@used.example", AccountID: "used"},
		map[notification.Event]notification.Preference{notification.KeyExpiry: {InConsole: true}}); err != nil {
		t.Fatal(err)
	}
	db.MustExec(`
		insert into api_keys (id, account_id, secret_hash, name, prefix, last_four, env, error_mode, models, concurrency, created_at, expires_at)
		select 'key_' || n, 'used', decode(repeat('0' || n, 32), 'hex'), 'Key ' || n, 'sk-umg-1234', '1234', '', 'standard', '{}', 0, now(),
			now() + n * interval '5 days' from generate_series(1, 2) n`)
	db.MustExec(`
		insert into key_networks (key_id, account_id, network, since, last_at, is_new) values
			('key_1', 'used', '203.0.113.0/24', now(), now(), true), ('key_2', 'used', '203.0.113.0/24', now(), now(), false),
			('key_2', 'used', '198.51.100.0/24', now() - interval '3 days', now(), true)`)
	db.MustExec(`
		insert into video_jobs (id, account_id, key_id, user_id, model, prompt, size, seconds, provider, style, upstream_model, state,
			error_code, rate_card_id, hold_nanos, cost_nanos, deadline_at, created_at, completed_at)
		select 'video_' || n, 'lately', '', '', 'm', 'p', '1x1', 4, 'p', 'videos', 'm', 'failed', 'upstream_error', 'r', 0, 0, now(), now(), now()
		from generate_series(1, 3) n`)
	c, err := catalog.Open(t.Context(), db, catalog.Options{Now: time.Now, Log: log, Secrets: func(string) (string, bool) { return "x", true }})
	if err != nil {
		t.Fatal(err)
	}
	s := notification.NewPriceChanges(db, notification.PriceOptions{
		Catalog: func() *catalog.Snapshot { return c.Snapshot() }, Accounts: people, Mail: letters, Now: time.Now,
		BaseURL: "https://gateway.example", Log: log,
	})
	for range 2 {
		if err := s.NotifyEvents(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	list, err := letters.Outbox(t.Context(), 50)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range list {
		if l.Kind == string(notification.Model) {
			continue // the models of the catalog decide
		}
		got = append(got, l.Kind+" "+l.To)
		if !strings.Contains(l.Text, "https://gateway.example/console/") {
			t.Errorf("the mail leads nowhere: %s", l.Text)
		}
	}
	slices.Sort(got)
	want := []string{
		"key_expiry owner@used.example", "key_network developer@used.example", "key_network owner@used.example",
		"video developer@lately.example", "video owner@lately.example",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the mails are %q, want %q", got, want)
	}
}

// TestTheEndOfAModelIsMailedToThoseWhoCalledIt announces the end of a model that two accounts called lately.
func TestTheEndOfAModelIsMailedToThoseWhoCalledIt(t *testing.T) {
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
	at := slices.IndexFunc(file.Models, func(m catalog.FileModel) bool {
		return time.Time(m.Shutdown).IsZero() && time.Time(m.Deprecated).IsZero()
	})
	end := catalog.Date(time.Now().UTC().AddDate(0, 1, 0).Truncate(24 * time.Hour))
	file.Models[at].Shutdown = end
	if err := catalog.Apply(t.Context(), db, file); err != nil {
		t.Fatal(err)
	}
	people := populate(t, db, file.Models[at].ID, billing.NewLedger(db, billing.Options{Now: time.Now, IDs: ids, Log: log}), ids)
	c, err := catalog.Open(t.Context(), db, catalog.Options{Now: time.Now, Log: log, Secrets: func(string) (string, bool) { return "x", true }})
	if err != nil {
		t.Fatal(err)
	}
	s := notification.NewPriceChanges(db, notification.PriceOptions{
		Catalog: c.Snapshot, Accounts: people, Mail: letters, Now: time.Now, BaseURL: "https://gateway.example", Log: log,
	})
	for range 2 {
		if err := s.NotifyEvents(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	list, err := letters.Outbox(t.Context(), 50)
	if err != nil || len(list) != 4 { // an owner and a developer of two accounts
		t.Fatalf("%d mails, %v", len(list), err)
	}
	for _, l := range list {
		if !strings.Contains(l.Subject, "is shut down on") || !strings.Contains(l.Text, file.Models[at].ID) {
			t.Errorf("%s: %s", l.Subject, l.Text)
		}
	}
}
