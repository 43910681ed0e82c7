package usage

import (
	"context"
	"time"

	"umg/app"
	"umg/app/postgres"
)

// ProviderActivity is how many calls a provider had, and what they brought in and cost. The two may be of different times.
type ProviderActivity struct {
	Calls  int64
	Margin MarginLine
}

// ProviderActivity reports on all providers, by id: the amounts of the days of UTC from the first one on, and the calls since a time. A
// provider without calls is left out.
func (r *Reports) ProviderActivity(ctx context.Context, firstDay, callsSince time.Time) (map[string]ProviderActivity, error) {
	var rows []struct {
		Provider      string     `db:"provider"`
		Calls         int64      `db:"calls"`
		Recent        int64      `db:"recent"`
		Revenue       app.Amount `db:"revenue"`
		PricedRevenue app.Amount `db:"priced_revenue"`
		Cost          app.Amount `db:"cost"`
		Unpriced      int64      `db:"unpriced"`
	}
	err := r.reads.SelectContext(ctx, &rows, `
		select provider, count(*) filter (where counts) as calls, count(*) filter (where started_at >= $2) as recent,
			coalesce(sum(cost_nanos) filter (where counts), 0)::bigint as revenue,
			coalesce(sum(cost_nanos) filter (where counts and cost is not null), 0)::bigint as priced_revenue,
			coalesce(sum(cost) filter (where counts), 0)::bigint as cost, count(*) filter (where counts and cost is null) as unpriced
		from (
			select provider, started_at, cost_nanos, `+operatorCost+` as cost, (cost_nanos > 0 or `+hasUsage+`) as counts
			from usage_records where day >= $1::date and provider <> ''
		) r
		group by provider`,
		firstDay.UTC().Format(time.DateOnly), callsSince.UTC())
	if err != nil {
		return nil, postgres.StoreError("usage: activity of providers", err)
	}
	all := make(map[string]ProviderActivity, len(rows))
	for _, row := range rows {
		all[row.Provider] = ProviderActivity{Calls: row.Recent, Margin: MarginLine{
			Provider: row.Provider, Calls: row.Calls, Revenue: row.Revenue, PricedRevenue: row.PricedRevenue, Cost: row.Cost, Unpriced: row.Unpriced,
		}}
	}
	return all, nil
}
