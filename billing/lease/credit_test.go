package lease

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"umg/app"
	"umg/billing"
)

// watchedManager is a lease manager that counts how often it reads a balance.
func watchedManager(s *shop) (manager *Manager, looks *atomic.Int64, away *atomic.Bool) {
	s.Helper()
	looks, away = &atomic.Int64{}, &atomic.Bool{}
	manager, err := New(Options{
		Bank: s.bank, Registry: s.bank, ReplicaID: "one", Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Balance: func(ctx context.Context, account string) (billing.Balance, error) {
			looks.Add(1)
			if away.Load() {
				return billing.Balance{}, app.ErrStore(errors.New("away"))
			}
			return s.ledger.Balance(ctx, account)
		},
	})
	if err != nil {
		s.Fatal(err)
	}
	if err := manager.Recover(s.Context()); err != nil {
		s.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- manager.Run(ctx) }()
	s.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			s.Error(err)
		}
	})
	return manager, looks, away
}

// TestCreditIsCheckedInMemoryForFundedAccounts checks credit as it is done before the body of a call is read.
func TestCreditIsCheckedInMemoryForFundedAccounts(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.account("acc_rich", app.Dollar)
	s.account("acc_poor", 999)
	manager, looks, away := watchedManager(s)
	check := func(account string) error {
		return manager.CheckCredit(t.Context(), billing.HoldRequest{ID: "req_1", AccountID: account, Want: 1000, Min: 1000})
	}
	if err := check("acc_rich"); err != nil || looks.Load() != 1 {
		t.Fatalf("an account that was not seen yet: %v after %d looks", err, looks.Load())
	}
	if b := s.balance("acc_rich"); b.Held != 0 {
		t.Errorf("the check reserves: %+v", b)
	}
	h, err := manager.Hold(t.Context(), billing.HoldRequest{ID: "req_1", AccountID: "acc_rich", Want: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := check("acc_rich"); err != nil {
			t.Fatal(err)
		}
	}
	if n := looks.Load(); n != 1 {
		t.Errorf("the books were asked %d times about an account that has credit in its lease", n-1)
	}
	for range 2 {
		if err := check("acc_poor"); app.KindOf(err) != app.Unfunded {
			t.Errorf("an account without enough credit: %v", err)
		}
	}
	away.Store(true)
	if err := check("acc_poor"); err != nil {
		t.Errorf("while the books are away: %v", err)
	}
	if n := manager.Stats().RefusedUnfunded; n != 2 {
		t.Errorf("%d refusals are counted", n)
	}
	if err := manager.Settle(t.Context(), h, settlementOf("req_1", 0)); err != nil {
		t.Fatal(err)
	}
}

// TestCreditThatRunningCallsHoldIsCredit holds all of an account's credit, then spends it.
func TestCreditThatRunningCallsHoldIsCredit(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.account("acc_1", 1000)
	manager, looks, _ := watchedManager(s)
	r := billing.HoldRequest{ID: "req_1", AccountID: "acc_1", Want: 1000, Min: 1000}
	h, err := manager.Hold(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	r.ID = "req_2"
	if _, err := manager.Hold(t.Context(), r); app.KindOf(err) != app.Unfunded {
		t.Fatalf("a second call beside it: %v", err)
	}
	if err := manager.CheckCredit(t.Context(), r); err != nil || looks.Load() != 1 {
		t.Errorf("while a call runs that may give credit back: %v after %d looks", err, looks.Load())
	}
	if err := manager.Settle(t.Context(), h, settlementOf("req_1", 1000)); err != nil {
		t.Fatal(err)
	}
	if err := manager.CheckCredit(t.Context(), r); app.KindOf(err) != app.Unfunded {
		t.Errorf("when it has spent all: %v", err)
	}
}
