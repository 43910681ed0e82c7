package usage

import (
	"context"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// MarginQuery selects the calls of a margin report, from the first to the last day of UTC, both included. An empty filter matches all.
type MarginQuery struct {
	First, Last     time.Time
	Provider, Model string
}

// MarginLine is what some calls brought in and cost.
type MarginLine struct {
	// Day, Provider and Model are those of the calls. They are zero where a line has calls of several.
	Day             time.Time
	Provider, Model string
	Calls           int64
	// Revenue is what accounts paid. PricedRevenue is the part of it for calls whose cost is known, and Cost is that cost.
	Revenue, PricedRevenue, Cost app.Amount
	// Unpriced is how many of the calls have no known cost.
	Unpriced int64
}

// Margin is what remains of the revenue of the calls whose cost is known.
func (l *MarginLine) Margin() app.Amount { return l.PricedRevenue - l.Cost }

// MarginReport is the same calls by day, by provider and by model, and all together. Days without calls are missing; providers and
// models are in order of revenue.
type MarginReport struct {
	Days, Providers, Models []MarginLine
	Total                   MarginLine
}

// These are the values of grouping(day, provider, model) for each part of a report.
const (
	groupDay      = 0b011
	groupProvider = 0b101
	groupModel    = 0b110
	groupTotal    = 0b111
)

type marginRow struct {
	Grouped       int        `db:"grouped"`
	Day           *time.Time `db:"day"`
	Provider      string     `db:"provider"`
	Model         string     `db:"model"`
	Calls         int64      `db:"calls"`
	Revenue       app.Amount `db:"revenue"`
	PricedRevenue app.Amount `db:"priced_revenue"`
	Cost          app.Amount `db:"cost"`
	Unpriced      int64      `db:"unpriced"`
}

func (r *marginRow) line() MarginLine {
	l := MarginLine{
		Provider: r.Provider, Model: r.Model, Calls: r.Calls, Revenue: r.Revenue, PricedRevenue: r.PricedRevenue, Cost: r.Cost,
		Unpriced: r.Unpriced,
	}
	if r.Day != nil {
		l.Day = r.Day.UTC()
	}
	return l
}

// Margins reports what calls brought in and cost. It reads the records, so it reaches only as far back as they are kept.
func (r *Reports) Margins(ctx context.Context, q MarginQuery) (MarginReport, error) {
	rows, err := r.selectMargins(ctx, q, "grouping sets ((day), (provider), (model), ())")
	if err != nil {
		return MarginReport{}, postgres.StoreError("usage: margins", err)
	}
	var report MarginReport
	for i := range rows {
		line := rows[i].line()
		switch rows[i].Grouped {
		case groupDay:
			report.Days = append(report.Days, line)
		case groupProvider:
			report.Providers = append(report.Providers, line)
		case groupModel:
			report.Models = append(report.Models, line)
		case groupTotal:
			report.Total = line
		}
	}
	return report, nil
}

// MarginLines lists the same numbers for each day, provider and model.
func (r *Reports) MarginLines(ctx context.Context, q MarginQuery) ([]MarginLine, error) {
	rows, err := r.selectMargins(ctx, q, "day, provider, model")
	if err != nil {
		return nil, postgres.StoreError("usage: margin lines", err)
	}
	lines := make([]MarginLine, len(rows))
	for i := range rows {
		lines[i] = rows[i].line()
	}
	return lines, nil
}

func (r *Reports) selectMargins(ctx context.Context, q MarginQuery, groups string) (rows []marginRow, err error) {
	err = r.reads.SelectContext(ctx, &rows, `
		select grouping(day, provider, model) as grouped, day, coalesce(provider, '') as provider, coalesce(model, '') as model,
			count(*) as calls, coalesce(sum(cost_nanos), 0)::bigint as revenue,
			coalesce(sum(cost_nanos) filter (where `+operatorCost+` is not null), 0)::bigint as priced_revenue,
			coalesce(sum(`+operatorCost+`), 0)::bigint as cost, count(*) filter (where `+operatorCost+` is null) as unpriced
		from usage_records
		where day between $1::date and $2::date and ($3 = '' or provider = $3) and ($4 = '' or model = $4)
			and (cost_nanos > 0 or `+hasUsage+`)
		group by `+groups+`
		order by grouped, day, revenue desc, provider, model`,
		q.First.UTC().Format(time.DateOnly), q.Last.UTC().Format(time.DateOnly), q.Provider, q.Model)
	return rows, err
}
