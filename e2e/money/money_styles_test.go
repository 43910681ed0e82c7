package money

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/e2e/harness"
)

// TestMoneyOfEveryPairOfStylesLeavesTheBalance adds up what all pairs of styles show, and holds it against the balance.
func TestMoneyOfEveryPairOfStylesLeavesTheBalance(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t, "--token-interval", "0s")
	c := g.NewCustomer(t, "pairs")
	c.SetLimits(t, 1000)
	before := c.SettledBalance(t, c.AccountID)
	var shown atomic.Int64
	var all sync.WaitGroup
	calls := harness.StyleCalls(g.AddModelPerStyle(t, "pair", ""), "count to 30", func(harness.Style) []string { return nil })
	for _, one := range calls {
		all.Go(func() {
			a := one.Send(t, c, one.Body)
			if a.Status != http.StatusOK {
				t.Errorf("%s: status %d: %s", one.Name, a.Status, a.Body)
				return
			}
			cost := harness.ShownCost(t, a.Body)
			shown.Add(cost)
			if r := c.UsageRecord(t, a.Header.Get("X-Request-Id")); r.Cost != cost || cost == 0 || r.Estimated || r.Output != 30 {
				t.Errorf("%s shows %d, recorded is %+v", one.Name, cost, r)
			}
		})
	}
	all.Wait()
	if after := c.SettledBalance(t, c.AccountID); before.Posted-after.Posted != shown.Load() || after.Held != 0 {
		t.Errorf("before %+v, shown %d, after %+v", before, shown.Load(), after)
	}
	c.CheckLedger(t)
}

// TestMoneyOverspendAcrossStyles lets calls of every style, to upstreams of every style, race for a balance that a few
// of them use up, while no upstream answers: the rest are refused for lack of credit, each in its own words, and what
// the few were shown is what is gone.
func TestMoneyOverspendAcrossStyles(t *testing.T) {
	t.Parallel()
	g := harness.StartDemo(t, "--token-interval", "0s")
	c := g.NewCustomerWithoutCredit(t, "race")
	c.SetLimits(t, 1000)
	ids := g.AddModelPerStyle(t, "race", "")
	calls := harness.StyleCalls(ids, "count to 30", func(p harness.Style) []string { return []string{p.OutputLimit(100)} })
	calls = append(calls, calls...)
	c.SetAvailable(t, 5_000_000)
	start := c.SettledBalance(t, c.AccountID)
	g.CallSimulator(t, "POST", "/_control/hold", "")
	ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
	defer cancel()
	var refused, succeeded, shown atomic.Int64
	var all sync.WaitGroup
	for _, one := range calls {
		all.Go(func() {
			a, err := c.TryCall(ctx, http.MethodPost, one.Path, one.Body, "X-Error-Status", "standard")
			switch {
			case err != nil:
				t.Error(err)
			case a.Status == http.StatusOK:
				succeeded.Add(1)
				shown.Add(harness.ShownCost(t, a.Body))
			default:
				one.CheckError(t, a, "unfunded", "insufficient_quota", "")
				refused.Add(1)
			}
		})
	}
	admitted := int64(0)
	for deadline := time.Now().Add(harness.CallTimeMax); refused.Load()+admitted < int64(len(calls)) && time.Now().Before(deadline); {
		path := fmt.Sprintf("/_control/waiting?at_least=%d&timeout=100ms", int64(len(calls))-refused.Load())
		admitted = harness.DecodeJSON[struct{ Count int64 }](t, g.CallSimulator(t, "GET", path, "")).Count
	}
	if b, _ := c.BalanceNow(t, c.AccountID); b.Posted < b.Held || admitted == 0 {
		t.Errorf("%d calls hold more than there is: %+v", admitted, b)
	}
	g.CallSimulator(t, "POST", "/_control/release", "")
	all.Wait()
	after := c.SettledBalance(t, c.AccountID)
	if succeeded.Load() == 0 || refused.Load() == 0 || succeeded.Load()+refused.Load() != int64(len(calls)) ||
		start.Posted-after.Posted != shown.Load() || after.Held != 0 || after.Posted < 0 {
		t.Errorf("%d succeeded, %d were refused, balance %+v → %+v, shown %d", succeeded.Load(), refused.Load(), start, after, shown.Load())
	}
	c.CheckLedger(t)
}
