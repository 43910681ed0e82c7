package usage_test

import (
	"slices"
	"testing"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
	"umg/billing/usage"
)

// TestMarginsAddUpByDayProviderAndModel checks each part of the report and its filters, with calls whose cost is unknown and with calls
// of two accounts.
func TestMarginsAddUpByDayProviderAndModel(t *testing.T) {
	t.Parallel()
	h := setup(t)
	accounts := []string{h.account(app.Dollar), h.account(app.Dollar)}
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -3)
	use := func(at time.Time, provider, model string, paid app.Amount, cost *app.Amount) {
		accounts[0], accounts[1] = accounts[1], accounts[0]
		h.use(accounts[0], at, paid, func(r *billing.UsageRecord) {
			r.Provider, r.Model, r.UpstreamCost = provider, model, cost
			if cost != nil {
				r.CostCardID = "cost@1"
			}
		})
	}
	costs := func(a app.Amount) *app.Amount { return &a }
	use(day, "one", "atlas", 100, costs(60))
	use(day.Add(23*time.Hour), "one", "reel", 50, costs(80))
	use(day.Add(25*time.Hour), "two", "atlas", 30, nil)
	use(day.Add(26*time.Hour), "two", "atlas", 10, costs(0))
	use(day.Add(-time.Hour), "one", "atlas", 1000, costs(1))
	h.use(accounts[0], day, 0, func(r *billing.UsageRecord) {
		r.Provider, r.Outcome, r.Usage = "one", "failed", meter.Counts{meter.Requests: 1}
	})

	query := usage.MarginQuery{First: day, Last: day.AddDate(0, 0, 1)}
	report, err := h.reports.Margins(h.ctx, query)
	if err != nil {
		t.Fatal(err)
	}
	first := usage.MarginLine{Day: day, Calls: 2, Revenue: 150, PricedRevenue: 150, Cost: 140}
	second := usage.MarginLine{Day: day.AddDate(0, 0, 1), Calls: 2, Revenue: 40, PricedRevenue: 10, Unpriced: 1}
	total := usage.MarginLine{Calls: 4, Revenue: 190, PricedRevenue: 160, Cost: 140, Unpriced: 1}
	if report.Total != total || report.Total.Margin() != 20 {
		t.Errorf("total is %+v, margin %d", report.Total, report.Total.Margin())
	}
	for what, c := range map[string]struct{ got, want []usage.MarginLine }{
		"days": {report.Days, []usage.MarginLine{first, second}},
		"providers": {report.Providers, []usage.MarginLine{
			{Provider: "one", Calls: 2, Revenue: 150, PricedRevenue: 150, Cost: 140},
			{Provider: "two", Calls: 2, Revenue: 40, PricedRevenue: 10, Unpriced: 1},
		}},
		"models": {report.Models, []usage.MarginLine{
			{Model: "atlas", Calls: 3, Revenue: 140, PricedRevenue: 110, Cost: 60, Unpriced: 1},
			{Model: "reel", Calls: 1, Revenue: 50, PricedRevenue: 50, Cost: 80},
		}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s are %+v, want %+v", what, c.got, c.want)
		}
	}
	query.Provider, query.Model = "one", "reel"
	if report, err = h.reports.Margins(h.ctx, query); err != nil || report.Total.Revenue != 50 || report.Total.Margin() != -30 || len(report.Days) != 1 {
		t.Errorf("filtered: %+v, %v", report, err)
	}
	query.Provider, query.Model = "", ""
	lines, err := h.reports.MarginLines(h.ctx, query)
	want := []usage.MarginLine{
		{Day: day, Provider: "one", Model: "atlas", Calls: 1, Revenue: 100, PricedRevenue: 100, Cost: 60},
		{Day: day, Provider: "one", Model: "reel", Calls: 1, Revenue: 50, PricedRevenue: 50, Cost: 80},
		{Day: day.AddDate(0, 0, 1), Provider: "two", Model: "atlas", Calls: 2, Revenue: 40, PricedRevenue: 10, Unpriced: 1},
	}
	if err != nil || !slices.Equal(lines, want) {
		t.Errorf("lines are %+v, %v, want %+v", lines, err, want)
	}
	query.First = day.AddDate(0, 0, 9)
	query.Last = query.First
	if report, err = h.reports.Margins(h.ctx, query); err != nil || report.Total != (usage.MarginLine{}) || len(report.Days) != 0 {
		t.Errorf("without calls: %+v, %v", report, err)
	}
}
