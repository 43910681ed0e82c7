package billing_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/postgres"
	"umg/billing"
	"umg/billing/usage"
)

// TestASweepGoesOnAfterWhatFails makes the store reject one grant and one debt. The sweep must do the rest, and its error
// must name both.
func TestASweepGoesOnAfterWhatFails(t *testing.T) {
	t.Parallel()
	h := setup(t)
	soon := time.Now().Add(time.Hour)
	expired := func(source string) (account string) {
		account = h.account(0)
		h.grant(billing.Grant{AccountID: account, Kind: billing.Trial, Amount: 100, ExpiresAt: &soon, Source: source})
		return account
	}
	bad, good := expired("bad"), expired("good")
	h.exec(`update grants set expires_at = now() - case source when 'bad' then interval '1 hour' else interval '1 minute' end
		where source in ('bad', 'good')`)

	owing := func() (account string) {
		account = h.customer(100)
		lease := h.hold(account, 100)
		if owed := h.refund(account, 60); owed != 60 {
			t.Fatalf("%d is owed, want 60", owed)
		}
		h.settle(lease, 0)
		return account
	}
	badReceivable, goodDebt := owing(), owing()

	account, key := h.account(1000), h.ids.New("key")
	budget := billing.Budget{KeyID: key, AccountID: account, Limit: 100, Period: billing.EachDay}
	if err := h.ledger.OpenBudget(h.ctx, h.db, budget); err != nil {
		t.Fatal(err)
	}
	hold, err := h.ledger.HoldFor(h.ctx, h.db, billing.HoldRequest{ID: "video_1", AccountID: account, BudgetID: key, Want: 70}, time.Hour)
	if err = errors.Join(err, h.settleJob(hold, 70)); err != nil {
		t.Fatal(err)
	}
	h.exec(`update key_budgets set period_start = period_start - interval '1 day'`)

	h.exec(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused by the test'; end $$`)
	h.exec(`create trigger refuse_bad before update on grants for each row when (old.source = 'bad') execute function refuse()`)
	h.exec(`create table refused (id text primary key)`)
	h.exec(`insert into refused values ($1)`, badReceivable)
	h.exec(`create function refuse_debt() returns trigger language plpgsql as $$ begin
		if exists (select from refused where id = new.account_id) then raise exception 'refused by the test'; end if; return new; end $$`)
	h.exec(`create trigger refuse_debt before update on receivables for each row execute function refuse_debt()`)

	err = h.ledger.Sweep(h.ctx)
	for _, name := range []string{"expire grants", "collect receivables", badReceivable} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
	h.balance(bad, 100, 0)
	h.balance(good, 0, 0)
	h.owes(badReceivable, 60, true)
	h.owes(goodDebt, 0, false)
	budgets, err := h.ledger.Budgets(h.ctx, account)
	if b := budgets[key]; err != nil || b.Spent != 0 || b.Left != app.Amount(100) {
		t.Errorf("the budget was not refilled: %+v, %v", b, err)
	}

	if err := h.ledger.Sweep(h.ctx); err != nil {
		t.Errorf("the pass after a failure tries it again at once, so that many failures would stop all that follows: %v", err)
	}
	h.exec(`drop trigger refuse_bad on grants`)
	h.exec(`drop trigger refuse_debt on receivables`)
	h.sweep()
	h.balance(bad, 0, 0)
	h.owes(badReceivable, 0, false)
	h.books()
}

// TestAWrongClockOfAReplicaTakesNothingBack sets the clock of a replica 500 days ahead: records that are kept for 400 days stay,
// and so does credit that has not expired by the time of the database.
func TestAWrongClockOfAReplicaTakesNothingBack(t *testing.T) {
	t.Parallel()
	h := setup(t)
	soon := time.Now().Add(time.Hour)
	account := h.account(0)
	h.grant(billing.Grant{AccountID: account, Kind: billing.Trial, Amount: 100, ExpiresAt: &soon, Source: "trial"})
	months := func() (names string) {
		t.Helper()
		if err := h.db.GetContext(h.ctx, &names, `
			select string_agg(inhrelid::regclass::text, ' ' order by inhrelid::regclass::text) from pg_inherits where inhparent = 'usage_records'::regclass`); err != nil {
			t.Fatal(err)
		}
		return names
	}
	if err := h.reports.MaintainPartitions(h.ctx); err != nil {
		t.Fatal(err)
	}
	before := months()
	log := slog.New(slog.DiscardHandler)
	clock, err := postgres.NewClock(h.ctx, h.db, func() time.Time { return time.Now().AddDate(0, 0, 500) }, log)
	if err != nil {
		t.Fatal(err)
	}
	replica := billing.NewLedger(h.db, billing.Options{Now: clock.Now, IDs: h.ids, Log: log})
	reports := usage.NewReports(h.db, usage.Options{Now: clock.Now, Log: log})
	if err := errors.Join(replica.DeleteOldLeases(h.ctx), reports.MaintainPartitions(h.ctx), replica.Sweep(h.ctx)); err != nil {
		t.Fatal(err)
	}
	if after := months(); after != before {
		t.Errorf("the months of records are %s, but were %s", after, before)
	}
	h.balance(account, 100, 0)
}
