package usage_test

import (
	"testing"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
	"umg/billing/usage"
)

// TestProviderDaysAddUpRecords checks the edges of days, both sources of costs, and that other providers and calls without usage are left
// out.
func TestProviderDaysAddUpRecords(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -3)
	use := func(at time.Time, model string, counts meter.Counts, upstream, stated app.Amount, change func(*billing.UsageRecord)) {
		h.use(account, at, 10, func(r *billing.UsageRecord) {
			r.Provider, r.UpstreamModel, r.Usage = "openai", model, counts
			if upstream > 0 {
				r.UpstreamCost, r.CostCardID = &upstream, "cost@1"
			}
			if stated > 0 {
				r.ProviderCost = &stated
			}
			if change != nil {
				change(r)
			}
		})
	}
	used := meter.Counts{meter.InputTokens: 5, meter.OutputTokens: 2, meter.Requests: 1, meter.ToolCalls: 7}
	use(day, "gpt-5", used, 100, 90, nil)
	use(day.Add(24*time.Hour-time.Microsecond), "gpt-5", used, 0, 90, func(r *billing.UsageRecord) { r.Estimated = true })
	use(day.Add(time.Hour), "gpt-5", used, 0, 0, nil)
	use(day.Add(24*time.Hour), "gpt-5", used, 1, 0, nil)
	use(day.Add(time.Hour), "gpt-5-mini", used, 3, 0, nil)
	use(day.Add(-time.Microsecond), "gpt-5", used, 1, 0, nil)
	use(day.Add(48*time.Hour), "gpt-5", used, 1, 0, nil)
	use(day.Add(time.Hour), "gpt-5", used, 1, 0, func(r *billing.UsageRecord) { r.Provider = "azure" })
	use(day.Add(time.Hour), "gpt-5", meter.Counts{meter.Requests: 1}, 0, 0, func(r *billing.UsageRecord) { r.Outcome = "failed" })

	days, err := h.reports.ProviderDays(h.ctx, "openai", day.Add(5*time.Hour), day.AddDate(0, 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	thrice := meter.Counts{meter.InputTokens: 15, meter.OutputTokens: 6, meter.Requests: 3, meter.ToolCalls: 21}
	want := []usage.ProviderDay{
		{Day: day, Model: "gpt-5", Calls: 3, Meters: thrice, Cost: 190, Unpriced: 1, Estimated: 1},
		{Day: day, Model: "gpt-5-mini", Calls: 1, Meters: used, Cost: 3},
		{Day: day.AddDate(0, 0, 1), Model: "gpt-5", Calls: 1, Meters: used, Cost: 1},
	}
	if len(days) != len(want) {
		t.Fatalf("%d rows: %+v", len(days), days)
	}
	for i := range want {
		if !days[i].Day.Equal(want[i].Day) {
			t.Errorf("row %d is of %s, want %s", i, days[i].Day, want[i].Day)
		}
		if days[i].Day = want[i].Day; days[i] != want[i] {
			t.Errorf("row %d is %+v, want %+v", i, days[i], want[i])
		}
	}
}
