package usage_test

import (
	"testing"
	"time"

	"umg/app"
	"umg/billing"
)

func TestSpendCountsSince(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account, start := h.account(app.Dollar), time.Now()
	for i, cost := range []app.Amount{5, 7, 0} {
		hold := h.hold(account, 10)
		r := record(hold)
		r.StartedAt = start.Add(time.Duration(i) * time.Hour)
		if err := h.ledger.SettleIn(t.Context(), h.db, hold, billing.Settlement{Cost: cost, Record: r}); err != nil {
			t.Fatal(err)
		}
	}
	for since, want := range map[time.Duration][2]int64{-time.Hour: {12, 3}, time.Minute: {7, 2}, 24 * time.Hour: {0, 0}} {
		cost, requests, err := h.reports.Spend(t.Context(), account, start.Add(since))
		if err != nil || int64(cost) != want[0] || requests != want[1] {
			t.Errorf("since %s: %d for %d requests, %v; want %v", since, cost, requests, err, want)
		}
	}
}

func TestListsAreBoundedAndNewestFirst(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	start := time.Now()
	for i := range 5 {
		hold := h.hold(account, 1)
		r := record(hold)
		r.StartedAt = start.Add(time.Duration(i) * time.Second)
		if err := h.ledger.SettleIn(t.Context(), h.db, hold, billing.Settlement{Cost: 1, Record: r}); err != nil {
			t.Fatal(err)
		}
	}
	for limit, want := range map[int]int{-1: 1, 0: 1, 3: 3, 1_000_000: 5} {
		got, err := h.reports.Requests(t.Context(), account, limit)
		if err != nil || len(got) != want {
			t.Fatalf("limit %d: %d requests, %v", limit, len(got), err)
		}
		for i := 1; i < len(got); i++ {
			if got[i].StartedAt.After(got[i-1].StartedAt) {
				t.Errorf("limit %d: request %d is newer than the one before", limit, i)
			}
		}
	}
}
