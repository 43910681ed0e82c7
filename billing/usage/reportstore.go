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

// These limits apply to reports.
const (
	reportLinesMax  = 20_000
	reportStepsMax  = 20_000
	recordsMax      = 10_000 // One page has at most this many records.
	cursorMicrosMax = 1 << 53
	cursorBytesMax  = 200
	searchBytesMax  = 512 // A request id or its beginning has at most this many bytes.
)

// groupColumns are the columns that group a report. The sums and the records share their names.
var groupColumns = map[Grouping]string{
	ByNothing: "''::text", ByModel: "model", ByKey: "key_id", ByStyle: "style", ByReason: "reason", ByEndUser: "end_user",
	ByModality: "case style when 'videos' then 'video' else 'text' end",
}

type usageSumRow struct {
	Start          *time.Time    `db:"start"`
	Name           string        `db:"name"`
	Requests       int64         `db:"requests"`
	Failed         int64         `db:"failed"`
	Streamed       int64         `db:"streamed"`
	Limited        int64         `db:"limited"`
	Meters         pq.Int64Array `db:"meters"`
	Cost           app.Amount    `db:"cost"`
	Overrun        app.Amount    `db:"overrun"`
	UpstreamCost   app.Amount    `db:"upstream_cost"`
	UpstreamPriced int64         `db:"upstream_priced"`
}

func (r usageSumRow) line() Line {
	line := Line{
		Group: r.Name, Requests: r.Requests, Failed: r.Failed, Streamed: r.Streamed, Limited: r.Limited, Cost: r.Cost, Overrun: r.Overrun,
		UpstreamCost: r.UpstreamCost, UpstreamPriced: r.UpstreamPriced,
	}
	copy(line.Usage[:], r.Meters)
	if r.Start != nil {
		line.Start = r.Start.UTC()
	}
	return line
}

// sumColumns add up the columns that sums and records share. Nearly all calls have only the meters before meter.FirstFurther, which sum
// adds up faster than sum_meters does.
var sumColumns = func() string {
	var first []string
	for m := range meter.FirstFurther {
		first = append(first, fmt.Sprintf("coalesce(sum(meters[%d]), 0)", m+1))
	}
	return fmt.Sprintf(`array[%s]::bigint[] || coalesce(sum_meters(meters[%d:]) filter (where cardinality(meters) > %d), '{}') as meters, `+
		costColumns,
		strings.Join(first, ", "), meter.FirstFurther+1, meter.FirstFurther)
}()

const costColumns = `sum(cost_nanos)::bigint as cost, sum(overrun_nanos)::bigint as overrun,
	coalesce(sum(upstream_cost_nanos), 0)::bigint as upstream_cost`

// intervals are the starts of a report's steps: the days and hours of its time zone.
func intervals(u Query) []string {
	var starts []string
	local := u.From.In(u.Zone)
	start := time.Date(local.Year(), local.Month(), local.Day(), 0, 0, 0, 0, u.Zone)
	next := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, u.Zone) }
	switch u.Step {
	case NoStep:
		return nil
	case Minutely:
		start = local
		next = func(t time.Time) time.Time { return t.Add(time.Minute) }
	case Hourly:
		start = local.Add(-time.Duration(local.Minute()) * time.Minute)
		next = func(t time.Time) time.Time { return t.Add(time.Hour) } // An hour that occurs twice when the clock is set back is two steps.
	case Daily:
	}
	for t := start; t.Before(u.To) && len(starts) <= reportStepsMax; t = next(t) {
		starts = append(starts, t.UTC().Format(time.RFC3339))
	}
	return starts
}

// selectUsage adds up by intervals that the gateway computes, so the database needs no time zone rules.
func selectUsage(ctx context.Context, q postgres.Queryer, u Query) (rows []usageSumRow, err error) {
	at, from := "slot", `sum(requests)::bigint as requests, sum(failed)::bigint as failed, sum(streamed)::bigint as streamed,
			sum(upstream_priced)::bigint as upstream_priced, 0 as limited
		from usage_rollups where account_id = $1 and slot >= $2 and slot < $3 and $8 = ''`
	if u.readsRecords() {
		at, from = "started_at", `count(*) as requests, count(*) filter (where outcome not in ('succeeded', 'client_left')) as failed,
			count(*) filter (where streamed) as streamed, count(upstream_cost_nanos) as upstream_priced,
			count(*) filter (where error_code = 'rate_limit_exceeded') as limited
		from usage_records where account_id = $1 and started_at >= $2 and started_at < $3 and ($8 = '' or end_user = $8)
			and day between ($2::timestamptz at time zone 'utc')::date and ($3::timestamptz at time zone 'utc')::date`
	}
	err = q.SelectContext(ctx, &rows, `
		select ($10::timestamptz[])[width_bucket(`+at+`, $10::timestamptz[])] as start, `+groupColumns[u.Group]+` as name,
			`+sumColumns+`, `+from+`
			and ($4 = '' or model = $4) and ($5 = '' or key_id = $5) and ($6 = '' or style = $6) and ($7 = '' or reason = $7)
			and case $9 when 'video' then style = 'videos' when 'text' then style <> 'videos' else true end
			and ($12::text[] is null or key_id = any($12))
		group by 1, 2 order by 1 nulls first, cost desc, requests desc, 2 limit $11`,
		u.AccountID, u.From.UTC(), u.To.UTC(), u.Model, u.KeyID, u.Style, u.Reason, u.EndUser, u.Modality,
		pq.StringArray(intervals(u)), reportLinesMax+1, keyList(u.Keys))
	return rows, err
}

// keyList returns a list of keys, or nil for no filter. An empty list matches no key.
func keyList(keys []string) any {
	if keys == nil {
		return nil
	}
	return pq.Array(keys)
}
