package usage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lib/pq"

	"umg/app"
	"umg/app/meter"
	"umg/app/postgres"
)

// ProviderDay is what the calls of a day used of one model of a provider. A call belongs to the day of UTC on which it began. Calls
// without usage, such as refused ones, are left out.
type ProviderDay struct {
	Day    time.Time
	Model  string // Model is the provider's name of the model.
	Calls  int64
	Meters meter.Counts
	// Cost is what the calls cost the operator: by the cost card of the route, or as the provider stated where there is no such card.
	Cost app.Amount
	// Unpriced is how many of the calls have no known cost, and Estimated how many the gateway counted itself.
	Unpriced, Estimated int64
}

// ProviderDays adds up the records of a provider by day and model, from the first to the last day, both included.
func (r *Reports) ProviderDays(ctx context.Context, provider string, first, last time.Time) ([]ProviderDay, error) {
	var rows []struct {
		Day       time.Time     `db:"day"`
		Model     string        `db:"upstream_model"`
		Calls     int64         `db:"calls"`
		Meters    pq.Int64Array `db:"meters"`
		Cost      app.Amount    `db:"cost"`
		Unpriced  int64         `db:"unpriced"`
		Estimated int64         `db:"estimated"`
	}
	err := r.reads.SelectContext(ctx, &rows, `
		select day, upstream_model, count(*) as calls, sum_meters(meters) as meters, coalesce(sum(`+operatorCost+`), 0)::bigint as cost,
			count(*) filter (where `+operatorCost+` is null) as unpriced, count(*) filter (where estimated) as estimated
		from usage_records
		where provider = $1 and day between $2::date and $3::date
			and `+hasUsage+`
		group by 1, 2 order by 1, 2`,
		provider, first.UTC().Format(time.DateOnly), last.UTC().Format(time.DateOnly))
	if err != nil {
		return nil, postgres.StoreError("usage: days of a provider", err)
	}
	days := make([]ProviderDay, len(rows))
	for i, row := range rows {
		days[i] = ProviderDay{
			Day: row.Day.UTC(), Model: row.Model, Calls: row.Calls, Cost: row.Cost, Unpriced: row.Unpriced, Estimated: row.Estimated,
		}
		copy(days[i].Meters[:], row.Meters)
	}
	return days, nil
}

// hasUsage is true of a record with a count of anything but the request itself.
var hasUsage = fmt.Sprintf("meters not in ('{}', '{%s1}')", strings.Repeat("0,", int(meter.Requests)))

// operatorCost is what a record cost the operator, or null where that is unknown.
const operatorCost = `coalesce(upstream_cost_nanos, provider_cost_nanos)`
