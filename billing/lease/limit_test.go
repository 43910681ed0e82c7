package lease_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/billing"
	"umg/billing/lease"
)

// TestALimitThatIsLoweredIsNotSpentPastWithWhatLeasesGiveBack lowers a limit below what is leased. The leases may spend what
// they have, but credit that they return stays unavailable.
func TestALimitThatIsLoweredIsNotSpentPastWithWhatLeasesGiveBack(t *testing.T) {
	t.Parallel()
	v := openVault(t)
	account, key := v.account(app.Dollar), v.ids.New("key")
	r := v.register("one")
	limit := func(to app.Amount) {
		if err := v.ledger.SetBudget(t.Context(), v.db, billing.Budget{KeyID: key, AccountID: account, Limit: to, Period: billing.InTotal}); err != nil {
			t.Fatal(err)
		}
	}
	limit(100)
	v.take(r, account, 1000, 1000)
	v.take(r, key, 80, 80)
	limit(50)
	v.balance(key, 80, 80)
	v.apply(r, v.settlementOf("req_1", r, account, key, 80, 20))
	v.balance(key, 60, 60)
	if _, err := v.bank.Return(t.Context(), r, key, 60); err != nil {
		t.Fatal(err)
	}
	v.balance(key, 30, 0) // The account has spent 20 of 50.
	_, err := v.bank.Take(t.Context(), r, lease.TakeRequest{CreditAccountID: key, Need: 31, Want: 31})
	if !errors.Is(err, lease.ErrShort) {
		t.Errorf("more than the limit is granted: %v", err)
	}
	v.take(r, key, 30, 30)
	if err := v.ledger.CloseBudget(t.Context(), v.db, account, key); err != nil {
		t.Fatal(err)
	}
	v.apply(r, v.settlementOf("req_2", r, account, key, 30, 10)) // The budget of this settlement was deleted.
	if err := v.bank.Retire(t.Context(), lease.Replica{ID: r.ID, Epoch: r.Epoch + 1}); err != nil {
		t.Fatal(err)
	}
	v.balance(key, 0, 0)
	v.books()
}

// TestASpendLimitHoldsForCallsAndJobsUntilItsPeriodIsOver expects an account's own limit to apply to calls and jobs, and to
// count what was spent before the limit was set.
func TestASpendLimitHoldsForCallsAndJobsUntilItsPeriodIsOver(t *testing.T) {
	t.Parallel()
	v := openVault(t)
	account, r := v.account(app.Dollar), v.register("one")
	v.take(r, account, 100, 100)
	v.apply(r, v.settlement(r, account, 100, 30)) // This is spent before there is a limit.
	if err := v.ledger.SetSpendLimit(t.Context(), v.db, account, 200, billing.EachDay); err != nil {
		t.Fatal(err)
	}
	_, err := v.bank.Take(t.Context(), r, lease.TakeRequest{CreditAccountID: account, Need: 101, Want: 101}) // The account has 30 spent and 70 held.
	var short *lease.InsufficientCredit
	if !errors.As(err, &short) || short.Balance.Available() != 100 || short.Limit.Limit != 200 || short.Limit.ResetsAt.IsZero() {
		t.Fatalf("past the limit: %v, %+v", err, short)
	}
	v.take(r, account, 60, 60)
	job := billing.HoldRequest{ID: v.ids.New("vid"), AccountID: account, Want: 41}
	_, err = v.ledger.HoldFor(t.Context(), v.db, job, time.Hour)
	if e := app.AsError(err); e.Code != "spend_limit_exceeded" || !strings.Contains(e.Message, "$0.00000004 is left") || !e.NoRetry {
		t.Errorf("a job past the limit: %v", err)
	}
	job.Want = 40
	h, err := v.ledger.HoldFor(t.Context(), v.db, job, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	done := billing.Settlement{Cost: 25, Record: billing.UsageRecord{RequestID: job.ID, StartedAt: time.Now(), Outcome: "succeeded", Reason: "completed"}}
	if err := v.ledger.SettleIn(t.Context(), v.db, h, done); err != nil {
		t.Fatal(err)
	}
	if s, err := v.ledger.AccountSpendLimit(t.Context(), account); err != nil || s.Spent != 55 || s.Held != 0 || s.Left() != 145 {
		t.Errorf("limit %+v, %v", s, err)
	}
	// This moves the account to the next day.
	if _, err := v.db.Exec(`update spend_limits set period_start = period_start - interval '1 day'`); err != nil {
		t.Fatal(err)
	}
	if s, err := v.ledger.AccountSpendLimit(t.Context(), account); err != nil || s.Spent != 0 || s.ResetsAt.Before(time.Now()) {
		t.Errorf("the limit of the next day %+v, %v", s, err)
	}
	v.take(r, account, 70, 70) // The account now holds 200.
	if _, err := v.bank.Take(t.Context(), r, lease.TakeRequest{CreditAccountID: account, Need: 1, Want: 1}); !errors.Is(err, lease.ErrShort) {
		t.Errorf("past the limit of the next day: %v", err)
	}
	v.apply(r, v.settlement(r, account, 10, 10))
	if s, err := v.ledger.AccountSpendLimit(t.Context(), account); err != nil || s.Spent != 10 {
		t.Errorf("limit after the first charge of a day %+v, %v", s, err)
	}
	v.books()
}
