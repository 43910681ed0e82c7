package apikey

import (
	"testing"
	"time"

	"umg/app"
	"umg/app/postgres/pgtest"
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
