package usage_test

import (
	"testing"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
	"umg/billing/usage"
)

// TestProviderActivityCountsAnHourAndAddsUpDays has calls before and after the hour and the first day, one of which failed and one of
// which has no known cost.
func TestProviderActivityCountsAnHourAndAddsUpDays(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -3)
	use := func(at time.Time, provider string, paid app.Amount, cost *app.Amount) {
		h.use(account, at, paid, func(r *billing.UsageRecord) {
			r.Provider, r.UpstreamCost = provider, cost
			if cost != nil {
				r.CostCardID = "cost@1"
			}
		})
	}
	costs := func(a app.Amount) *app.Amount { return &a }
	use(day.Add(-time.Minute), "one", 900, costs(900))
	use(day, "one", 100, costs(60))
	use(day.Add(25*time.Hour), "one", 30, nil)
	use(day.Add(25*time.Hour), "two", 10, costs(0))
	h.use(account, day.Add(25*time.Hour), 0, func(r *billing.UsageRecord) {
		r.Provider, r.Outcome, r.Usage = "one", "failed", meter.Counts{meter.Requests: 1}
	})
	got, err := h.reports.ProviderActivity(h.ctx, day, day.Add(24*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]usage.ProviderActivity{
		"one": {Calls: 2, Margin: usage.MarginLine{Provider: "one", Calls: 2, Revenue: 130, PricedRevenue: 100, Cost: 60, Unpriced: 1}},
		"two": {Calls: 1, Margin: usage.MarginLine{Provider: "two", Calls: 1, Revenue: 10, PricedRevenue: 10}},
	}
	if len(got) != len(want) || got["one"] != want["one"] || got["two"] != want["two"] {
		t.Errorf("the activity is %+v", got)
	}
}
