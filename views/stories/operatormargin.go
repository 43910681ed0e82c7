package stories

import (
	"strings"
	"time"

	"umg/app"
	"umg/views"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

func marginPages() []Story {
	story := func(name, title string, change func(*operatorpages.Margin)) Story {
		return operatorStory(name, title, "/console/operator/margin", view(operatorpages.MarginPage, exampleMargin, change))
	}
	none := func(m *operatorpages.Margin) {
		m.ByProvider, m.ByModel, m.Total = nil, nil, operatorpages.MarginLine{}
		for i := range m.ByDay {
			m.ByDay[i] = operatorpages.MarginLine{Day: m.ByDay[i].Day}
		}
	}
	return []Story{
		story("operator-margin", "Margin, with a loss and with unknown costs", func(*operatorpages.Margin) {}),
		story("operator-margin-known", "Margin of one provider, every cost is known", func(m *operatorpages.Margin) {
			m.Provider, m.ByProvider, m.ByModel, m.Total = "meridian", m.ByProvider[:1], m.ByModel[:1], m.ByProvider[0]
		}),
		story("operator-margin-unknown", "Margin, no cost is known", func(m *operatorpages.Margin) {
			for _, lines := range [][]operatorpages.MarginLine{m.ByDay, m.ByProvider, m.ByModel} {
				for i := range lines {
					lines[i].Unpriced, lines[i].PricedRevenue, lines[i].Cost = lines[i].Calls, 0, 0
				}
			}
			m.Total.Unpriced, m.Total.PricedRevenue, m.Total.Cost = m.Total.Calls, 0, 0
		}),
		story("operator-margin-tests", "Margin, with test calls of providers", func(m *operatorpages.Margin) {
			m.Tests = []operatorpages.TestLine{
				{Provider: "boreal", Calls: 6, Unpriced: 6}, {Provider: "meridian", Calls: 9, Unpriced: 1, Cost: 412_300 * app.Nano},
				{Provider: "polaris", Calls: 3, Cost: 98_700 * app.Nano},
			}
		}),
		story("operator-margin-only-tests", "Margin, no calls but test calls", func(m *operatorpages.Margin) {
			none(m)
			m.Tests = []operatorpages.TestLine{{Provider: "meridian", Calls: 3, Cost: 98_700 * app.Nano}}
		}),
		story("operator-margin-empty", "Margin, no calls", none),
		story("operator-margin-none", "Margin, no call matches", func(m *operatorpages.Margin) {
			none(m)
			m.Days, m.Model = 30, "aurora/mini"
		}),
		story("operator-margin-store-error", "Margin, the store is away", func(m *operatorpages.Margin) {
			none(m)
			m.Failure = &views.LoadFailure{RequestID: "req_01kb4a6zt4h2s8j5y7r3w9mvaq"}
		}),
		story("operator-margin-hostile", "Margin, hostile text", func(m *operatorpages.Margin) {
			long := nastyText + strings.Repeat("averylongwordwithoutanyspace", 12)
			m.Provider, m.Model, m.ByProvider[0].Name, m.ByModel[0].Name = long, long, long, long
			m.ByModel[0].Calls, m.ByModel[0].Revenue, m.ByModel[0].PricedRevenue, m.ByModel[0].Cost = 1<<62, 1<<61, 1<<61, 1<<60
			m.ByDay[2].Cost = 1 << 62
			m.ByProvider[1].Name = ""
		}),
	}
}

// exampleMargin is a week with a model that costs more than it brings in, and a provider without a cost card.
func exampleMargin(s views.Shell) operatorpages.Margin {
	m := operatorpages.Margin{
		Shell: s, Days: 7,
		Providers: []ui.Option{{Value: "boreal", Label: "boreal"}, {Value: "meridian", Label: "meridian"}},
		Models: []ui.Option{
			{Value: "aurora/mini", Label: "aurora/mini"}, {Value: "meridian/atlas", Label: "meridian/atlas"},
			{Value: "meridian/atlas-small", Label: "meridian/atlas-small"},
		},
	}
	line := func(name string, calls, unpriced int64, revenue, priced, cost app.Amount) operatorpages.MarginLine {
		return operatorpages.MarginLine{Name: name, Calls: calls, Unpriced: unpriced, Revenue: revenue, PricedRevenue: priced, Cost: cost}
	}
	today := Now().UTC().Truncate(24 * time.Hour)
	for i := range m.Days {
		n := app.Amount(20 + 9*(i%4))
		day := line("", int64(1200+310*(i%3)), int64(40*(i%2)), n*app.Dollar, n*app.Dollar, n*app.Dollar*7/10)
		if i == 3 {
			day.Cost = 61 * app.Dollar
		}
		if day.Unpriced > 0 {
			day.Revenue += 3 * app.Dollar
		}
		day.Day = today.AddDate(0, 0, i-m.Days+1)
		m.ByDay = append(m.ByDay, day)
		m.Total.Calls, m.Total.Unpriced = m.Total.Calls+day.Calls, m.Total.Unpriced+day.Unpriced
		m.Total.Revenue, m.Total.PricedRevenue = m.Total.Revenue+day.Revenue, m.Total.PricedRevenue+day.PricedRevenue
		m.Total.Cost += day.Cost
	}
	unpriced := m.Total.Revenue - m.Total.PricedRevenue
	small := 12_345_678_901 * app.Nano
	m.ByProvider = []operatorpages.MarginLine{
		line("meridian", m.Total.Calls-m.Total.Unpriced, 0, m.Total.PricedRevenue, m.Total.PricedRevenue, m.Total.Cost),
		line("boreal", m.Total.Unpriced, m.Total.Unpriced, unpriced, 0, 0),
	}
	m.ByModel = []operatorpages.MarginLine{
		line("meridian/atlas", m.Total.Calls/2, 0, m.Total.PricedRevenue-small, m.Total.PricedRevenue-small, m.Total.Cost-2*small),
		line("meridian/atlas-small", m.Total.Calls/2-m.Total.Unpriced/2, m.Total.Unpriced/2, small+unpriced/2, small, 2*small),
		line("aurora/mini", m.Total.Unpriced/2, m.Total.Unpriced/2, unpriced/2, 0, 0),
	}
	return m
}
