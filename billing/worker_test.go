package billing_test

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/postgres"
	"umg/app/postgres/local"
	"umg/billing"
)

// run starts the worker and returns a function that stops it and waits for its end.
func (h *fixture) run() (stop func()) {
	ctx, cancel := context.WithCancel(h.ctx)
	ended := make(chan error, 1)
	go func() { ended <- h.ledger.Run(ctx) }()
	return func() {
		h.Helper()
		cancel()
		if err := <-ended; err != nil {
			h.Errorf("the worker ended with %v", err)
		}
	}
}

// hear waits until the ledger logs a message.
func (h *fixture) hear(message string) slog.Record {
	h.Helper()
	timeout := time.After(30 * time.Second)
	for {
		select {
		case r := <-h.logged:
			if r.Message == message {
				return r
			}
		case <-timeout:
			h.Fatalf("the ledger never said %q", message)
		}
	}
}

func TestExpiredHoldsGiveTheirCreditBack(t *testing.T) {
	t.Parallel()
	h := setup(t)
	rich, poor := h.account(app.Dollar), h.account(30)
	for range 3 {
		h.expire(h.hold(rich, 10))
		h.expire(h.hold(poor, 10))
	}
	kept := h.hold(rich, 10)
	stop := h.run()
	h.hear("job holds expired")
	stop()
	h.balance(rich, app.Dollar, 10)
	h.balance(poor, 30, 0)
	if got := h.ledger.Stats().HoldsExpired; got != 6 {
		t.Errorf("%d holds expired, want 6", got)
	}
	h.settle(kept, 10)
	h.books()
}

// TestBudgetsAreRefilledWhenTheDayBegins starts the worker in the last second of a day. Its next regular pass is 10 s away.
func TestBudgetsAreRefilledWhenTheDayBegins(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account, key := h.account(1000), h.ids.New("key")
	budget := billing.Budget{KeyID: key, AccountID: account, Limit: 100, Period: billing.EachDay}
	if err := h.ledger.OpenBudget(h.ctx, h.db, budget); err != nil {
		t.Fatal(err)
	}
	const lastPart = 500 * time.Millisecond
	began, midnight := time.Now(), time.Now().UTC().Truncate(24*time.Hour).Add(24*time.Hour)
	late := billing.NewLedger(h.db, billing.Options{
		Now: func() time.Time { return midnight.Add(time.Since(began) - lastPart) }, IDs: h.ids, Log: slog.New(slog.DiscardHandler),
	})
	ctx, cancel := context.WithCancel(h.ctx)
	ended := make(chan error, 1)
	go func() { ended <- late.Run(ctx) }()
	refilled := false
	for !refilled && time.Since(began) < 8*time.Second {
		if err := h.db.Get(&refilled, `select period_start = $2 from key_budgets where key_id = $1`, key, midnight); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); !refilled || took < lastPart {
		t.Errorf("refilled: %t, %s after the start", refilled, took)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestManyExpiredHoldsAreReleasedInBatches(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	h.exec(`insert into holds (id, account_id, amount_nanos, expires_at)
		select 'req_' || n, $1, 1, now() from generate_series(1, 1201) n`, account)
	h.exec(`update credit_accounts set held_nanos = 1201 where id = $1`, account)
	other := open(t, h.db)
	swept := make(chan error, 2)
	go func() { swept <- h.ledger.Sweep(t.Context()) }()
	go func() { swept <- other.ledger.Sweep(t.Context()) }()
	for range 2 {
		if err := <-swept; err != nil {
			t.Error(err)
		}
	}
	h.balance(account, app.Dollar, 0)
	if got := h.ledger.Stats().HoldsExpired + other.ledger.Stats().HoldsExpired; got != 1201 {
		t.Errorf("%d holds expired in both replicas, want 1201", got)
	}
	h.books()
}

func TestALateSettlementTakesOnlyWhatIsFree(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(100)
	late, later, latest := h.hold(account, 40), h.hold(account, 30), h.hold(account, 30)
	for _, hold := range []billing.Hold{late, later, latest} {
		h.expire(hold)
	}
	h.sweep()
	h.balance(account, 100, 0)
	running := h.hold(account, 50)
	h.settle(late, 45)  // It costs more than its own hold, so it takes 40 of the 50 that are free.
	h.settle(later, 30) // Only 10 are left.
	h.settle(latest, 30)
	h.settle(latest, 30)
	h.balance(account, 50, 50)
	if loss := h.internal("internal:platform_loss"); loss != -(5 + 20 + 30) {
		t.Errorf("the platform lost %d, want 55", -loss)
	}
	if got := h.ledger.Stats().SettledLate; got != 3 {
		t.Errorf("%d late settlements, want 3", got)
	}
	h.settle(running, 50)
	h.balance(account, 0, 0)
	h.books()
}

func TestExpiredGrantsLapseAsHoldsClose(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(20)
	soon := time.Now().Add(time.Hour)
	h.grant(billing.Grant{AccountID: account, Kind: billing.Trial, Amount: 100, ExpiresAt: &soon, Source: "trial"})
	hold := h.hold(account, 70)
	h.sweep()
	h.balance(account, 120, 70)
	h.exec(`update grants set expires_at = now() where source = 'trial'`)
	h.sweep()
	h.balance(account, 70, 70) // The account had 50 free; the running call may still use the rest.
	h.sweep()
	h.balance(account, 70, 70)
	h.settle(hold, 30)
	h.sweep()
	h.balance(account, 20, 0) // The account paid 30 from the trial, 20 more lapsed, and the purchased grant is whole.
	if breakage := h.internal("internal:breakage"); breakage != 70 {
		t.Errorf("%d lapsed, want 70", breakage)
	}
	if got := h.ledger.Stats().GrantsExpired; got != 2 {
		t.Errorf("%d lapses, want 2", got)
	}
	h.books()
}

// ownServer starts a database server that a test may stop.
func ownServer(t *testing.T, dir string) (*fixture, *local.Server) {
	t.Helper()
	pg, err := local.Start(t.Context(), local.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop(context.Background()) })
	db, err := postgres.Open(t.Context(), pg.DSN(), postgres.Options{Connections: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := postgres.Migrate(t.Context(), db, postgres.MigrateOptions{}); err != nil {
		t.Fatal(err)
	}
	return open(t, db), pg
}

// soon fails when a method takes longer than a caller should wait, or when its error is not an unavailable store.
func (h *fixture) soon(name string, verb func() error) {
	h.Helper()
	start := time.Now()
	err := verb()
	if took := time.Since(start); took > 3500*time.Millisecond {
		h.Errorf("%s took %s", name, took)
	}
	if err == nil || app.KindOf(err) != app.Unavailable || app.AsError(err).Code != "service_unavailable" {
		h.Errorf("%s without a store: %v", name, err)
	}
}

// allVerbsUnavailable does everything at once that needs the store, since each waits for it.
func (h *fixture) allVerbsUnavailable(account string, hold billing.Hold, more map[string]func() error) {
	h.Helper()
	verbs := map[string]func() error{
		"hold": func() error {
			_, err := h.ledger.HoldFor(h.ctx, h.db, billing.HoldRequest{ID: "req_down", AccountID: account, Want: 1}, time.Hour)
			return err
		},
		"settle": func() error {
			return h.ledger.SettleIn(h.ctx, h.db, hold, billing.Settlement{Cost: 7, Record: record(hold)})
		},
	}
	maps.Copy(verbs, more)
	var all sync.WaitGroup
	for name, verb := range verbs {
		all.Go(func() { h.soon(name, verb) })
	}
	all.Wait()
}

func TestAStoppedStoreIsUnavailableAndTheWorkerWaits(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	h, pg := ownServer(t, dir)
	account := h.account(app.Dollar)
	hold := h.hold(account, 10)
	if err := pg.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.allVerbsUnavailable(account, hold, map[string]func() error{
		"balance": func() error { _, err := h.ledger.Balance(h.ctx, account); return err },
		"grant": func() error {
			return h.ledger.Grant(h.ctx, h.db, billing.Grant{AccountID: account, Kind: billing.Trial, Amount: 1, Source: "s"})
		},
		"books": func() error { _, err := billing.Books(h.ctx, h.db); return err },
	})
	stop := h.run()
	h.hear("billing sweep failed")
	ownServer(t, dir)
	stop()
	h.settle(hold, 7)
	h.balance(account, app.Dollar-7, 0)
	h.books()
}

// shortDir is a folder with a short path, because a socket's path is limited to 107 bytes.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "umg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
