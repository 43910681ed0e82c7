package usage

import (
	"context"
	"time"

	"github.com/lib/pq"

	"umg/app/postgres"
	"umg/billing"
)

type tailRow struct {
	billing.UsageRow
	SettledAt time.Time `db:"settled_at"`
}

type barRow struct {
	Step     int   `db:"step"`
	Requests int64 `db:"requests"`
	Failed   int64 `db:"failed"`
}

func selectBars(ctx context.Context, q postgres.Queryer, r RecordQuery, step time.Duration) (rows []barRow, err error) {
	err = q.SelectContext(ctx, &rows, `
		select floor(extract(epoch from started_at - $2::timestamptz) / $23)::integer as step, count(*) as requests,
			count(*) filter (where outcome not in ('succeeded', 'client_left')) as failed
		from (
			select started_at, outcome from usage_records where `+r.where()+` order by started_at desc limit $22
		) r group by 1`,
		recordArgs(r, sampledMax, int64(step/time.Second))...)
	return rows, err
}

func selectSlotBars(ctx context.Context, q postgres.Queryer, r RecordQuery, step time.Duration) (rows []barRow, err error) {
	err = q.SelectContext(ctx, &rows, `
		select floor(extract(epoch from slot - $2::timestamptz) / $8)::integer as step, sum(requests)::bigint as requests,
			sum(failed)::bigint as failed
		from usage_rollups where account_id = $1 and slot >= $2 and slot < $3 and ($4 = '' or model = $4) and ($5 = '' or key_id = $5)
			and ($6 = '' or style = $6) and ($7 = '' or reason = $7)
		group by 1`,
		r.AccountID, r.From.UTC(), r.To.UTC(), r.Model, r.KeyID, r.Style, r.Reason, int64(step/time.Second))
	return rows, err
}

type latencyRow struct {
	Start    *time.Time `db:"start"`
	Name     string     `db:"name"`
	All      bool       `db:"whole"`
	Calls    int64      `db:"calls"`
	P50      *int64     `db:"p50"`
	P95      *int64     `db:"p95"`
	FirstP50 *int64     `db:"first_p50"`
	FirstP95 *int64     `db:"first_p95"`
}

// selectLatencies reads equally many calls of each interval by an index. A month of a busy account then costs no more than a
// quiet one's, and no hour is left out.
func selectLatencies(ctx context.Context, q postgres.Queryer, u Query, sample Latencies) (rows []latencyRow, err error) {
	err = q.SelectContext(ctx, &rows, `
		with taken as (
			select r.* from generate_series($2::timestamptz, $3::timestamptz - interval '1 second', $11 * interval '1 second') at
			cross join lateral (
				select ($10::timestamptz[])[width_bucket(started_at, $10::timestamptz[])] as start, `+groupColumns[u.Group]+` as name,
					duration_micros, nullif(first_byte_micros, 0) as first_byte
				from usage_records where account_id = $1 and started_at >= at and started_at < least(at + $11 * interval '1 second', $3)
					and day between (at at time zone 'utc')::date and ((at + $11 * interval '1 second') at time zone 'utc')::date
					and outcome = 'succeeded' and ($4 = '' or model = $4) and ($5 = '' or key_id = $5) and ($6 = '' or style = $6)
					and ($7 = '' or reason = $7) and ($8 = '' or end_user = $8)
					and case $9 when 'video' then style = 'videos' when 'text' then style <> 'videos' else true end
					and ($14::text[] is null or key_id = any($14))
				order by started_at desc limit $12
			) r
		)
		select case grouping(start) when 0 then start end as start, case grouping(name) when 0 then name else '' end as name,
			grouping(name) = 1 as whole, count(*) as calls,
			percentile_disc(0.5) within group (order by duration_micros) as p50,
			percentile_disc(0.95) within group (order by duration_micros) as p95,
			percentile_disc(0.5) within group (order by first_byte) as first_p50,
			percentile_disc(0.95) within group (order by first_byte) as first_p95
		from taken group by grouping sets ((start, name), (start), (name), ())
		limit $13`,
		u.AccountID, u.From.UTC(), u.To.UTC(), u.Model, u.KeyID, u.Style, u.Reason, u.EndUser, u.Modality,
		pq.StringArray(intervals(u)), int64(sample.Every/time.Second), sample.Each, reportLinesMax, keyList(u.Keys))
	return rows, err
}
