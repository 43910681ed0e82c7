package operator

import (
	"cmp"
	"context"
	"encoding/csv"
	"net/http"
	"slices"
	"strconv"
	"time"

	"umg/app"
	"umg/app/console/page"
	"umg/billing/usage"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

// marginTimeMax is the timeout of the queries of this page, which read every record of the range.
const marginTimeMax = 15 * time.Second

// marginQuery is what the address asks for, and the number of days.
func (c *Console) marginQuery(p *page.Page) (usage.MarginQuery, int) {
	days, _ := strconv.Atoi(p.QueryParam("days"))
	if !slices.Contains(operatorpages.MarginRanges, days) {
		days = operatorpages.MarginRanges[0]
	}
	today := c.o.Now().UTC().Truncate(24 * time.Hour)
	return usage.MarginQuery{
		First: today.AddDate(0, 0, 1-days), Last: today,
		Provider: app.MakeStorable(p.QueryParam("provider"), filterBytesMax), Model: app.MakeStorable(p.QueryParam("model"), filterBytesMax),
	}, days
}

// filterBytesMax bounds the filters of an address.
const filterBytesMax = 200

// margin shows revenue, cost and margin by day, provider and model.
func (c *Console) margin(p *page.Page) error {
	ctx, cancel := context.WithTimeout(p.Request().Context(), marginTimeMax)
	defer cancel()
	query, days := c.marginQuery(p)
	m := operatorpages.Margin{Shell: c.Shell(p), Days: days, Provider: query.Provider, Model: query.Model}
	report, err := c.o.Reports.Margins(ctx, query)
	if err == nil {
		err = c.marginTests(ctx, &m, query)
	}
	if m.Failure, err = page.Unavailable(p, err); err != nil {
		return err
	}
	c.marginChoices(&m)
	m.Total = marginLine(&report.Total, "")
	for i := range report.Providers {
		m.ByProvider = append(m.ByProvider, marginLine(&report.Providers[i], report.Providers[i].Provider))
	}
	for i := range report.Models {
		m.ByModel = append(m.ByModel, marginLine(&report.Models[i], report.Models[i].Model))
	}
	byDay := map[time.Time]operatorpages.MarginLine{}
	for i := range report.Days {
		byDay[report.Days[i].Day] = marginLine(&report.Days[i], "")
	}
	for day := query.First; !day.After(query.Last); day = day.AddDate(0, 0, 1) {
		line := byDay[day]
		line.Day = day
		m.ByDay = append(m.ByDay, line)
	}
	return c.Render(p, http.StatusOK, operatorpages.MarginPage(m))
}

// marginTests adds what tests of providers cost. They call models by the names of their providers, so a filter by model leaves them out.
func (c *Console) marginTests(ctx context.Context, m *operatorpages.Margin, q usage.MarginQuery) error {
	if c.o.TestCalls == nil || q.Model != "" {
		return nil
	}
	sums, err := c.o.TestCalls.Sum(ctx, q.First, q.Last, q.Provider)
	for _, s := range sums {
		m.Tests = append(m.Tests, operatorpages.TestLine{Provider: s.Provider, Calls: s.Calls, Unpriced: s.Unpriced, Cost: s.Cost})
	}
	return err
}

func marginLine(l *usage.MarginLine, name string) operatorpages.MarginLine {
	return operatorpages.MarginLine{
		Day: l.Day, Name: name, Calls: l.Calls, Unpriced: l.Unpriced, Revenue: l.Revenue, PricedRevenue: l.PricedRevenue, Cost: l.Cost,
	}
}

// marginChoices fills the options of the filters: the providers and models of the catalog.
func (c *Console) marginChoices(m *operatorpages.Margin) {
	snapshot := c.o.Catalog.Snapshot()
	for _, provider := range snapshot.Providers() {
		m.Providers = append(m.Providers, ui.Option{Value: provider.ID, Label: provider.ID})
	}
	for _, model := range snapshot.Models() {
		m.Models = append(m.Models, ui.Option{Value: model.ID, Label: model.ID})
	}
	for _, options := range [][]ui.Option{m.Providers, m.Models} {
		slices.SortFunc(options, func(a, b ui.Option) int { return cmp.Compare(a.Value, b.Value) })
	}
}

// marginHeads are the columns of the file. Amounts are in dollars.
var marginHeads = []string{
	"day", "provider", "model", "calls", "revenue", "cost", "margin", "calls_with_unknown_cost", "revenue_with_unknown_cost",
}

// marginCSV exports a line for each day, provider and model. Cost and margin are empty where the cost of all calls is unknown.
func (c *Console) marginCSV(p *page.Page) error {
	ctx, cancel := context.WithTimeout(p.Request().Context(), marginTimeMax)
	defer cancel()
	query, _ := c.marginQuery(p)
	lines, err := c.o.Reports.MarginLines(ctx, query)
	if err != nil {
		return err
	}
	h := p.Response().Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="margin-`+query.Last.Format(time.DateOnly)+`.csv"`)
	p.Response().WriteHeader(http.StatusOK)
	out := csv.NewWriter(p.Response())
	if err := out.Write(marginHeads); err != nil {
		return err
	}
	for i := range lines {
		l := &lines[i]
		cost, margin := "", ""
		if l.Unpriced < l.Calls {
			cost, margin = l.Cost.String(), l.Margin().String()
		}
		err := out.Write([]string{
			l.Day.Format(time.DateOnly), l.Provider, l.Model, strconv.FormatInt(l.Calls, 10), l.Revenue.String(), cost, margin,
			strconv.FormatInt(l.Unpriced, 10), (l.Revenue - l.PricedRevenue).String(),
		})
		if err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
