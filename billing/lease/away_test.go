package lease

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"umg/app"
	"umg/app/postgres"
	"umg/billing"
)

// TestAMinuteWithoutTheBooksRefusesNoAccountWithCredit makes the database unavailable for a minute, once with errors and once
// with timeouts. Accounts with credit keep working, whether they call often, now and then, or for the first time after a
// pause.
func TestAMinuteWithoutTheBooksRefusesNoAccountWithCredit(t *testing.T) {
	t.Parallel()
	for _, hangs := range []time.Duration{0, stepMax} {
		for _, pause := range []time.Duration{0, 10 * time.Second, 10 * time.Minute} {
			t.Run(fmt.Sprintf("hangs %v, after a pause of %v", hangs, pause), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { playAway(t, hangs, pause) })
			})
		}
	}
}

func playAway(t *testing.T, hangs, pause time.Duration) {
	r := newReplica(t)
	accounts := map[string]time.Duration{"acc_busy": time.Second / 15, "acc_steady": time.Second / 2, "acc_rare": 7 * time.Second}
	for id := range accounts {
		r.books.books.open(id, false, false)
		r.books.books.grant(id, 1_000_000_000, 0)
	}
	r.start()
	t.Cleanup(func() { r.stop() })
	calls := func(d time.Duration) {
		var all sync.WaitGroup
		for id, every := range accounts {
			all.Go(func() {
				for n, end := 0, time.Now().Add(d); time.Now().Before(end); n++ {
					all.Go(func() { awayCall(t, r.manager, fmt.Sprint(id, time.Now().UnixNano()), id, 500*time.Millisecond) })
					time.Sleep(every)
				}
			})
		}
		all.Wait()
	}
	calls(8 * time.Second)
	time.Sleep(pause)
	if pause == 0 {
		r.books.goAway(true, hangs)
		calls(time.Minute)
	} else {
		r.books.goAway(true, hangs)
		time.Sleep(5 * time.Second)
		calls(55 * time.Second)
	}
	r.books.goAway(false, 0)
	calls(3 * time.Second)
	if err := r.manager.Booked(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := r.manager.Stats()
	if s.RefusedAway > 0 || s.Kept > 0 || s.Undelivered > 0 {
		t.Errorf("%+v", s)
	}
	if err := r.books.books.check(); err != nil {
		t.Error(err)
	}
}

// awayCall makes a call that reserves much more than it costs.
func awayCall(t *testing.T, manager *Manager, id, account string, takes time.Duration) {
	const want, cost = 32_000, 40
	h, err := manager.Hold(t.Context(), billing.HoldRequest{ID: id, AccountID: account, Want: want})
	if err != nil {
		return // The manager counts the refusal.
	}
	time.Sleep(takes)
	if err := manager.Settle(t.Context(), h, settlementOf(id, app.Amount(cost))); err != nil {
		t.Error(err)
	}
}

// late is a bank that never answers in time.
type late struct{ Store }

func (late) Take(context.Context, Replica, TakeRequest) (LeaseState, error) {
	return LeaseState{}, postgres.StoreError("lease: take", context.DeadlineExceeded)
}

// TestBooksThatAreTooLateAreNotACallerWhoLeft expects a timeout of the database to be reported as unavailable, not as a
// canceled call.
func TestBooksThatAreTooLateAreNotACallerWhoLeft(t *testing.T) {
	t.Parallel()
	b := newBooks()
	b.open("acc_1", false, false)
	b.grant("acc_1", 1000, 0)
	manager, err := New(Options{Bank: late{b}, Registry: b, ReplicaID: "r", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := manager.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = manager.Hold(t.Context(), billing.HoldRequest{ID: "req_1", AccountID: "acc_1", Want: 10})
	if e := app.AsError(err); e.Kind != app.Unavailable || e.RetryAfter <= 0 {
		t.Errorf("%v", err)
	}
}

// TestABurstWithoutTheDatabaseWaitsForOtherCalls starts more calls at once than the lease has credit for while the database is away. They
// get the credit that other calls set free, and those that have waited for too long are refused.
func TestABurstWithoutTheDatabaseWaitsForOtherCalls(t *testing.T) {
	t.Parallel()
	for _, hangs := range []time.Duration{0, stepMax} {
		t.Run(fmt.Sprintf("hangs %v", hangs), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { playBurst(t, hangs) })
		})
	}
}

func playBurst(t *testing.T, hangs time.Duration) {
	const account, burstCalls = "acc_busy", 40
	r := newReplica(t)
	r.books.books.open(account, false, false)
	r.books.books.grant(account, 1_000_000_000, 0)
	r.start()
	t.Cleanup(func() { r.stop() })
	for n := range 60 {
		awayCall(t, r.manager, fmt.Sprint("before_", n), account, 500*time.Millisecond)
	}
	r.books.goAway(true, hangs)
	var all sync.WaitGroup
	burst := func(name string, takes time.Duration) {
		for n := range burstCalls {
			all.Go(func() { awayCall(t, r.manager, fmt.Sprint(name, "_", n), account, takes) })
		}
		all.Wait()
	}
	began := time.Now()
	burst("short", 500*time.Millisecond)
	if s := r.manager.Stats(); s.RefusedAway > 0 {
		t.Errorf("%d of %d calls were refused", s.RefusedAway, burstCalls)
	}
	if took := time.Since(began); took > stepMax+3*time.Second {
		t.Errorf("%d calls took %v", burstCalls, took)
	}
	began = time.Now()
	burst("long", time.Minute)
	if took := time.Since(began); took != time.Minute {
		t.Errorf("the long calls took %v", took)
	}
	if s := r.manager.Stats(); s.RefusedAway != burstCalls-9 {
		t.Errorf("%d of %d long calls were refused, the lease has credit for 9 at once", s.RefusedAway, burstCalls)
	}
	r.books.goAway(false, 0)
	if err := r.manager.Booked(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.books.books.check(); err != nil {
		t.Error(err)
	}
}
