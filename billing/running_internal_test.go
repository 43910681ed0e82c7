package billing

import (
	"context"
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres/pgtest"
)

// replica is a ledger with a clock of its own over a store that others may share.
type replica struct {
	testing.TB

	*Ledger
	now    time.Time
	keeper keeper
}

func newReplica(t testing.TB, db *sqlx.DB) *replica {
	t.Helper()
	r := &replica{TB: t, now: time.Now()}
	clock := func() time.Time { return r.now }
	r.Ledger = NewLedger(db, Options{Now: clock, IDs: app.IDs{Now: clock, Random: rand.Reader}, Log: slog.New(slog.DiscardHandler)})
	r.keeper = keeper{ledger: r.Ledger, renewed: r.now}
	return r
}

func (r *replica) open(credit app.Amount) (account string) {
	r.Helper()
	account = r.o.IDs.New("acc")
	if err := r.OpenAccount(r.Context(), r.db, account); err != nil {
		r.Fatal(err)
	}
	if err := r.Grant(r.Context(), r.db, Grant{AccountID: account, Kind: Purchased, Amount: credit, Source: account}); err != nil {
		r.Fatal(err)
	}
	return account
}

func (r *replica) take(ctx context.Context, account string) Hold {
	r.Helper()
	h, err := r.Hold(ctx, HoldRequest{ID: r.o.IDs.New("req"), AccountID: account, Want: 10})
	if err != nil {
		r.Fatal(err)
	}
	return h
}

// pass lets time go by on this replica and makes a pass.
func (r *replica) pass(after time.Duration) {
	r.Helper()
	r.now = r.now.Add(after)
	if err := r.keeper.pass(r.Context()); err != nil {
		r.Fatal(err)
	}
}

// age makes all open holds of the store expire by so much earlier.
func (r *replica) age(by time.Duration) {
	r.Helper()
	if _, err := r.db.ExecContext(r.Context(), `update holds set expires_at = expires_at - $1 * interval '1 second' where state = 'open'`,
		int64(by/time.Second)); err != nil {
		r.Fatal(err)
	}
}

func (r *replica) held(account string, want app.Amount) {
	r.Helper()
	b, err := r.Balance(r.Context(), account)
	if err != nil {
		r.Fatal(err)
	}
	if b.Held != want {
		r.Errorf("%d nano-dollars are held, want %d", b.Held, want)
	}
}

// TestOnlyTheHoldsOfADeadReplicaExpire runs two replicas for longer than a hold lasts, and a third that died.
func TestOnlyTheHoldsOfADeadReplicaExpire(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	one, two, dead := newReplica(t, db), newReplica(t, db), newReplica(t, db)
	account := one.open(app.Dollar)
	first, second := one.take(t.Context(), account), two.take(t.Context(), account)
	dead.take(t.Context(), account)
	for range 12 {
		one.age(renewEvery)
		one.pass(renewEvery)
		two.pass(renewEvery)
	}
	one.held(account, 20)
	for _, settled := range []struct {
		r *replica
		h Hold
	}{{one, first}, {two, second}} {
		err := settled.r.Settle(t.Context(), settled.h, Settlement{Cost: 7, Record: UsageRecord{Outcome: "succeeded"}})
		if s := settled.r.Stats(); err != nil || s.SettledLate != 0 || s.Running != 0 {
			t.Errorf("settled with %v, stats %+v", err, s)
		}
	}
	one.held(account, 0)
	if expired := one.Stats().HoldsExpired + two.Stats().HoldsExpired; expired != 1 {
		t.Errorf("%d holds expired, want that of the dead replica", expired)
	}
}

// TestASuspendedProcessKeepsItsOwnHolds renews before it releases, however late it is.
func TestASuspendedProcessKeepsItsOwnHolds(t *testing.T) {
	t.Parallel()
	r := newReplica(t, pgtest.New(t))
	account := r.open(app.Dollar)
	r.take(t.Context(), account)
	r.age(2 * holdLeaseMax)
	r.pass(2 * holdLeaseMax)
	r.held(account, 10)
}

// TestNothingIsReleasedRightAfterTheStoreWasAway gives the other replicas time to renew.
func TestNothingIsReleasedRightAfterTheStoreWasAway(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	busy, idle := newReplica(t, db), newReplica(t, db)
	account := busy.open(app.Dollar)
	busy.take(t.Context(), account)
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := idle.keeper.pass(gone); err == nil {
		t.Fatal("a pass without a store succeeded")
	}
	busy.age(2 * holdLeaseMax)
	idle.pass(sweepEvery)
	busy.held(account, 10)
	busy.pass(renewEvery)
	idle.pass(releasePause)
	busy.held(account, 10)
	busy.age(2 * holdLeaseMax)
	idle.pass(sweepEvery)
	busy.held(account, 0)
}

// TestAHoldThatItsCallerForgotExpires covers a panic between hold and settlement.
func TestAHoldThatItsCallerForgotExpires(t *testing.T) {
	t.Parallel()
	r := newReplica(t, pgtest.New(t))
	account := r.open(app.Dollar)
	call, end := context.WithCancel(t.Context())
	r.take(call, account)
	kept := r.take(call, account)
	end()
	r.SettleLater(kept, Settlement{Cost: 7, Record: UsageRecord{Outcome: "succeeded"}}) // its settlement waits
	for range 2 {
		r.age(holdLeaseMax)
		r.pass(holdLeaseMax)
	}
	r.held(account, 10)
	if s := r.Stats(); s.Running != 1 || s.HoldsExpired != 1 {
		t.Errorf("stats %+v", s)
	}
}

func TestManyHoldsAreRenewedInBatches(t *testing.T) {
	t.Parallel()
	r := newReplica(t, pgtest.New(t))
	account := r.open(app.Dollar)
	for range 2*renewHoldsMax + 1 {
		id := r.o.IDs.New("req")
		r.running.add(id, lease{taken: r.now})
		if _, err := r.db.ExecContext(t.Context(), `insert into holds (id, account_id, amount_nanos, expires_at)
			values ($1, $2, 0, now())`, id, account); err != nil {
			t.Fatal(err)
		}
	}
	r.pass(renewEvery)
	if s := r.Stats(); s.HoldsExpired != 0 || s.Running != 2*renewHoldsMax+1 {
		t.Errorf("stats %+v", s)
	}
}
