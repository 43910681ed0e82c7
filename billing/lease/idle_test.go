package lease

import (
	"fmt"
	"testing"
	"time"

	"umg/app"
	"umg/billing"
)

// idleLease is a replica that keeps credit of an account after its only call.
func (s *shop) idleLease(credit app.Amount) {
	s.Helper()
	s.account("acc_1", credit)
	manager, end := s.open("one", true)
	s.Cleanup(end)
	h, err := manager.Hold(s.Context(), billing.HoldRequest{ID: "req_1", AccountID: "acc_1", Want: app.Cent})
	if err != nil {
		s.Fatal(err)
	}
	if err := manager.Settle(s.Context(), h, settlementOf("req_1", app.Cent)); err != nil {
		s.Fatal(err)
	}
	if err := manager.Booked(s.Context()); err != nil {
		s.Fatal(err)
	}
	if b := s.balance("acc_1"); b.Held < app.Cent || b.Held > credit/2 {
		s.Fatalf("after its only call the account has %+v", b)
	}
}

// TestCreditIsTakenBackAlsoFromIdleLeases expects free credit in a lease to be available to other spenders when they need it.
func TestCreditIsTakenBackAlsoFromIdleLeases(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.idleLease(100 * app.Dollar)
	for deadline := time.Now().Add(10 * time.Second); s.balance("acc_1").Held != 0; { // A busy machine needs more than one wait.
		if err := s.ledger.Reclaim(t.Context(), "acc_1"); err != nil || time.Now().After(deadline) {
			t.Fatalf("credit is not given back: %v", err)
		}
	}
	all := 100*app.Dollar - app.Cent
	err := s.ledger.Adjust(t.Context(), s.db, billing.Correction{
		AccountID: "acc_1", Amount: -all, Source: "take", Reason: "a test", Operator: "ann@example.com",
	})
	if err != nil {
		t.Fatal(err)
	}
	if b := s.balance("acc_1"); b.Posted != 0 || b.Held != 0 {
		t.Errorf("%+v", b)
	}
	s.books()
}

// TestExpiredCreditLapsesAlsoFromIdleLeases expects expired credit to lapse although a replica had leased it.
func TestExpiredCreditLapsesAlsoFromIdleLeases(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.idleLease(100 * app.Dollar)
	s.db.MustExec(`update grants set expires_at = now() - interval '1 second'`)
	for deadline := time.Now().Add(10 * time.Second); ; {
		if err := s.ledger.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		b := s.balance("acc_1")
		if b.Posted == 0 && b.Held == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", b)
		}
	}
	s.books()
}

// TestAnIdleLeaseDoesNotKeepCreditFromOthers expects a replica to get a whole balance of which another replica leased a part.
func TestAnIdleLeaseDoesNotKeepCreditFromOthers(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.idleLease(100 * app.Dollar)
	other, end := s.open("two", true)
	defer end()
	all := 100*app.Dollar - app.Cent
	h, err := other.Hold(t.Context(), billing.HoldRequest{ID: "req_2", AccountID: "acc_1", Want: all})
	if err != nil || h.Amount != all {
		t.Fatalf("%+v %v", h, err)
	}
	if err := other.Settle(t.Context(), h, settlementOf("req_2", all)); err != nil {
		t.Fatal(err)
	}
}

// TestASmallBalanceIsNotKeptIdle expects all credit of an account with little left to be returned soon.
func TestASmallBalanceIsNotKeptIdle(t *testing.T) {
	t.Parallel()
	l := &lease{creditAccountID: "acc_1", granted: 500, creditAccountFree: 900}
	l.largestWanted.add(0, 50)
	if now := idleAfter; !l.idle(now, 0) || l.runsLow(now) {
		t.Errorf("an account with 18 calls left: idle %v, runs low %v", l.idle(now, 0), l.runsLow(now))
	}
	l.creditAccountFree = 1100
	if now := idleAfter; l.idle(now, 0) {
		t.Error("an account with 22 calls left gets its idle credit back at once")
	}
	if !l.idle(keepFor, 0) {
		t.Error("idle credit is never returned")
	}
}

// TestCreditIsTakenAheadForAMinuteWithoutTheBooks expects credit taken ahead to last longer than a replica is trusted without
// the database, and to be no more than a share of the balance.
func TestCreditIsTakenAheadForAMinuteWithoutTheBooks(t *testing.T) {
	t.Parallel()
	l := &lease{creditAccountID: "acc_1", granted: 100, creditAccountFree: 1_000_000}
	now := time.Hour
	for second := range 40 {
		at := now + time.Duration(second)*time.Second
		l.spend.add(at, 10)
		l.largestWanted.add(at, 30)
		l.used = at
	}
	now += 40 * time.Second
	a, low := l.beginAhead(now)
	if least := app.Amount(10*lowSeconds + 30); !low || a.Need != 0 || l.free()+a.Want < least || l.free()+a.Want > 2*least {
		t.Fatalf("ten a second are spent: %+v %v", a, low)
	}
	l.finishStep(LeaseState{Granted: l.granted + a.Want, Free: 1_000_000 - a.Want}, nil)
	if l.runsLow(now + topEvery) {
		t.Error("it runs low at once")
	}
	l.creditAccountFree, l.granted = 2000, 100
	if a, low = l.beginAhead(now + topEvery); !low || l.free()+a.Want > 2100/aheadShare {
		t.Errorf("of 2100 there are taken %+v %v", a, low)
	}
}

// TestACallerOfBookedDoesNotWaitForMoreSettlements takes the quickest of a few, because a busy machine only makes them slower.
func TestACallerOfBookedDoesNotWaitForMoreSettlements(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.account("acc_1", app.Dollar)
	manager, end := s.open("one", true)
	t.Cleanup(end)
	quickest := time.Hour
	for i := range 20 {
		id := fmt.Sprint("req_", i)
		h, err := manager.Hold(t.Context(), billing.HoldRequest{ID: id, AccountID: "acc_1", Want: app.Cent})
		if err != nil {
			t.Fatal(err)
		}
		if err := manager.Settle(t.Context(), h, settlementOf(id, app.Cent)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := manager.Booked(t.Context()); err != nil {
			t.Fatal(err)
		}
		quickest = min(quickest, time.Since(began))
	}
	if quickest > applyEvery*4/5 {
		t.Errorf("a settlement is in the ledger after %s at the earliest, and the applier waits %s for more", quickest, applyEvery)
	}
}
