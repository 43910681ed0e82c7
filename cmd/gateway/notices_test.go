package main

import (
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/account"
	"umg/app/apptest"
	"umg/app/mail"
	"umg/app/notification"
	"umg/app/postgres"
	"umg/app/postgres/pgtest"
	"umg/app/webhook"
	"umg/billing"
)

// TestOwnersAndAdminsAreWrittenToAboutAnEndpoint disables an endpoint, whose transaction also writes the mails. One invalid address
// must not stop the mails to the others.
func TestOwnersAndAdminsAreWrittenToAboutAnEndpoint(t *testing.T) {
	t.Parallel()
	db, ids, log := pgtest.New(t), app.IDs{Now: time.Now, Random: rand.Reader}, slog.New(slog.DiscardHandler)
	letters, err := mail.New(db, mail.Options{Key: [32]byte{7}, Now: time.Now, IDs: ids, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	ledger := billing.NewLedger(db, billing.Options{Now: time.Now, IDs: ids, Log: log})
	accounts := account.New(db, ledger, account.Options{PasswordMemoryKiB: apptest.PasswordMemoryKiB, Now: time.Now, IDs: ids, Random: rand.Reader, Log: log})
	g := &gatewayServer{
		log: log, billing: billingLayer{mail: letters}, services: serviceLayer{accounts: accounts},
		cfg: Config{httpFlags: httpFlags{BaseURL: "https://gateway.example"}},
	}
	db.MustExec(`insert into accounts (id, created_at) values ('acct_1', now()), ('acct_2', now())`)
	for i, u := range []struct{ email, account, role string }{
		{"owner@example.com", "acct_1", "owner"}, {"no address", "acct_1", "admin"}, {"admin@example.com", "acct_1", "admin"},
		{"developer@example.com", "acct_1", "developer"}, {"billing@example.com", "acct_1", "billing"}, {"other@example.com", "acct_2", "owner"},
	} {
		db.MustExec(`insert into users (id, email, password_hash, created_at) values ($1, $2, '', now())`, u.email, u.email)
		db.MustExec(`insert into memberships (account_id, user_id, role, created_at) values ($1, $2, $3, now() + $4 * interval '1 second')`,
			u.account, u.email, u.role, i)
	}
	n := webhook.Notice{AccountID: "acct_1", EndpointID: "whe_1", Name: "<b>Render</b>", Disabled: true, Text: "It answered 410 Gone."}
	undone := errors.New("undone")
	err = postgres.InTx(t.Context(), db, func(tx *sqlx.Tx) error { return errors.Join(g.notifyEndpointFailure(t.Context(), tx, n), undone) })
	if !errors.Is(err, undone) {
		t.Fatal(err)
	}
	if list, err := letters.Outbox(t.Context(), 10); err != nil || len(list) != 0 {
		t.Errorf("mails were sent about events that did not happen: %+v, %v", list, err)
	}
	if err := postgres.InTx(t.Context(), db, func(tx *sqlx.Tx) error { return g.notifyEndpointFailure(t.Context(), tx, n) }); err != nil {
		t.Fatal(err)
	}
	chosen := map[notification.Event]notification.Preference{notification.Webhook: {InConsole: true}}
	if err := notification.New(db, time.Now).SetPreferences(t.Context(), notification.Reader{UserID: "admin@example.com", AccountID: "acct_1"}, chosen); err != nil {
		t.Fatal(err)
	}
	n.Disabled = false
	if err := postgres.InTx(t.Context(), db, func(tx *sqlx.Tx) error { return g.notifyEndpointFailure(t.Context(), tx, n) }); err != nil {
		t.Fatal(err)
	}
	list, err := letters.Outbox(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		got = append(got, m.To+" "+m.Kind+" "+m.Subject)
		if !strings.Contains(m.Text, "It answered 410 Gone.") || !strings.Contains(m.Text, "https://gateway.example/console/webhooks/whe_1") ||
			!strings.Contains(m.HTML, "&lt;b&gt;Render&lt;/b&gt;") {
			t.Errorf("%s\n%s", m.Text, m.HTML)
		}
	}
	for _, want := range []string{
		"owner@example.com webhook_disabled A webhook endpoint is disabled", "admin@example.com webhook_disabled A webhook endpoint is disabled",
		"owner@example.com webhook_failing A webhook endpoint is failing",
	} {
		if strings.Count(strings.Join(got, "\n"), want) != 1 {
			t.Errorf("%q is not among %q", want, got)
		}
	}
	if len(got) != 3 { // The admin chose to be notified in the console only.
		t.Errorf("%d mails: %q", len(got), got)
	}
}
