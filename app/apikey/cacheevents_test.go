package apikey

import (
	"encoding/hex"
	"log/slog"
	"testing"
	"time"

	"umg/app"
	"umg/app/postgres"
	"umg/app/postgres/pgtest"
	"umg/app/seal"
	"umg/billing"
)

func TestARingKnowsAtOnceThatAnAccountIsFrozenOrKeepsContentOrAKeyHasABudget(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	b := setupOn(db)
	u := b.member(t, "ada@example.com")
	must(t, b.ledger.OpenAccount(t.Context(), db, u.AccountID))
	k, secret := b.key(t, u.Principal(), Spec{})
	r := b.ring(t)
	run(t, r, pgtest.DSN(t, db))
	is := func(what string, yes func(Key) bool) {
		t.Helper()
		eventually(t, time.Second, what, func() bool {
			found, err := r.Find(t.Context(), secret, "192.0.2.1")
			return err == nil && yes(found)
		})
	}
	is("plain", func(k Key) bool { return !k.Frozen && k.BudgetID == "" })
	must(t, b.ledger.Freeze(t.Context(), db, u.AccountID, "dispute"))
	is("frozen", func(k Key) bool { return k.Frozen })
	must(t, b.ledger.Unfreeze(t.Context(), db, u.AccountID))
	is("not frozen", func(k Key) bool { return !k.Frozen })
	budget := func(one *billing.Allowance) {
		t.Helper()
		_, err := b.keys.Update(t.Context(), u.Principal(), k.ID, Patch{Budget: &one})
		must(t, err)
	}
	budget(&billing.Allowance{Limit: app.Dollar, Period: billing.EachDay})
	is("with a budget", func(found Key) bool { return found.BudgetID == k.ID && found.Principal().BudgetID == k.ID })
	budget(nil)
	is("without one", func(k Key) bool { return k.BudgetID == "" })
	keep := func(what string) {
		t.Helper()
		_, err := db.Exec(`insert into content_log_settings (account_id, keep, days, changed_at) values ($1, $2, 30, now())
			on conflict (account_id) do update set keep = $2`, u.AccountID, what)
		must(t, err)
	}
	keep("all")
	is("whose content is kept", func(k Key) bool { return k.KeepContent })
	keep("asked")
	is("that does not ask for it", func(k Key) bool { return !k.KeepContent })
	asks := true
	_, err := b.keys.Update(t.Context(), u.Principal(), k.ID, Patch{LogContent: &asks})
	must(t, err)
	is("that asks for it", func(k Key) bool { return k.KeepContent })
	keep("never")
	is("that asks for it and is refused", func(k Key) bool { return !k.KeepContent })
}

// TestRingKeepsAnAnswerUnlessAChangeOfItsKeyOvertookIt sends a notification while a query runs. A key that was not kept would be refused
// while the store is away.
func TestRingKeepsAnAnswerUnlessAChangeOfItsKeyOvertookIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, secret := b.key(t, b.member(t, "ada@example.com").Principal(), Spec{})
	f := seal.FingerprintOf(secret)
	for payload, want := range map[string]struct{ known, fresh bool }{
		hex.EncodeToString(f[:]):                 {},
		hex.EncodeToString(make([]byte, len(f))): {known: true, fresh: true},
		"":                                       {known: true},
	} {
		db, err := postgres.Open(t.Context(), pgtest.DSN(t, b.db), postgres.Options{})
		must(t, err)
		defer func() { _ = db.Close() }()
		r := NewCache(db, CacheOptions{Now: b.clock.Now, Log: slog.New(slog.DiscardHandler)})
		r.heard("")
		db.SetMaxOpenConns(1)
		busy, err := db.Connx(t.Context())
		must(t, err)
		found := make(chan error)
		go func() {
			_, err := r.Find(t.Context(), secret, "192.0.2.1")
			found <- err
		}()
		eventually(t, 20*time.Second, "the query waits", func() bool { return db.Stats().WaitCount > 0 })
		r.heard(payload)
		must(t, busy.Close())
		must(t, <-found)
		if _, known, fresh := r.recall(f, b.clock.Now()); known != want.known || fresh != want.fresh {
			t.Errorf("after %q the key is known: %t, fresh: %t; want %+v", payload, known, fresh, want)
		}
	}
}
