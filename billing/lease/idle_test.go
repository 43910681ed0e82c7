package lease

import (
	"testing"
	"time"

	"umg/app"
	"umg/billing"
)

// idleLease is a replica that keeps credit of an account after its only call.
func (s *shop) idleLease(credit app.Amount) {
	s.Helper()
	s.account("acc_1", credit)
	till, end := s.open("one", true)
	s.Cleanup(end)
	h, err := till.Hold(s.Context(), billing.HoldRequest{ID: "req_1", AccountID: "acc_1", Want: app.Cent})
	if err != nil {
		s.Fatal(err)
	}
	if err := till.Settle(s.Context(), h, settlementOf("req_1", app.Cent)); err != nil {
		s.Fatal(err)
	}
	if err := till.Booked(s.Context()); err != nil {
		s.Fatal(err)
	}
	if b := s.balance("acc_1"); b.Held < app.Cent || b.Held > credit/2 {
		s.Fatalf("after its only call the account has %+v", b)
	}
}

// Credit that replicas keep at hand is free for everybody else as soon as it is needed.
func TestCreditIsTakenBackAlsoFromIdleLeases(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.idleLease(100 * app.Dollar)
	for deadline := time.Now().Add(10 * time.Second); s.balance("acc_1").Held != 0; { // a busy machine needs more than one wait
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

// What has expired lapses although a replica kept it at hand.
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

// Another replica gets what it needs of a balance of which one keeps a part at hand.
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

// An account with little credit keeps all of it together, as before.
func TestASmallBalanceIsNotKeptIdle(t *testing.T) {
	t.Parallel()
	l := &lease{purse: "acc_1", granted: 500, purseFree: 900}
	l.asked.add(0, 50)
	if now := idleAfter; !l.idle(now, 0) || l.runsLow(now) {
		t.Errorf("a purse with 18 calls left: idle %v, runs low %v", l.idle(now, 0), l.runsLow(now))
	}
	l.purseFree = 1100
	if now := idleAfter; l.idle(now, 0) {
		t.Error("a purse with 22 calls left gets its credit back at once")
	}
	if !l.idle(keepFor, 0) {
		t.Error("credit is kept for ever")
	}
}

// What is taken ahead covers what was spent lately for longer than a replica is trusted without the books, and no more than a
// share of the balance.
func TestCreditIsTakenAheadForAMinuteWithoutTheBooks(t *testing.T) {
	t.Parallel()
	l := &lease{purse: "acc_1", granted: 100, purseFree: 1_000_000}
	now := time.Hour
	for second := range 40 {
		at := now + time.Duration(second)*time.Second
		l.spend.add(at, 10)
		l.asked.add(at, 30)
		l.used = at
	}
	now += 40 * time.Second
	a, low := l.beginAhead(now)
	if least := app.Amount(10*lowSeconds + 30); !low || a.Need != 0 || l.free()+a.Want < least || l.free()+a.Want > 2*least {
		t.Fatalf("ten a second are spent: %+v %v", a, low)
	}
	l.landed(Row{Granted: l.granted + a.Want, Free: 1_000_000 - a.Want}, nil)
	if l.runsLow(now + topEvery) {
		t.Error("it runs low at once")
	}
	l.purseFree, l.granted = 2000, 100
	if a, low = l.beginAhead(now + topEvery); !low || l.free()+a.Want > 2100/aheadShare {
		t.Errorf("of 2100 there are taken %+v %v", a, low)
	}
}
