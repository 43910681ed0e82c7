package usage

import (
	"context"
	"time"

	"umg/app"
	"umg/app/postgres"
	"umg/billing"
)

// TimingsMax is how many calls Timings reads, which keeps its page fast for accounts with many calls.
const TimingsMax = 2000

// failuresMax is the length of the list that Failures returns.
const failuresMax = 50

// Hour is what an account did in one hour, as the sum of its usage records.
type Hour struct {
	At       time.Time  `db:"hour"` // At is the beginning of the hour.
	Spend    app.Amount `db:"spend"`
	Requests int64      `db:"requests"`
	Failed   int64      `db:"failed"` // Failed counts calls that neither succeeded nor were ended by their client.
}

// Hours are the hours since a given time in which the account made calls, the oldest first. They are sums of quarter hours,
// of which there are few however many calls there were.
func (r *Reports) Hours(ctx context.Context, accountID string, since time.Time) ([]Hour, error) {
	var hours []Hour
	err := r.reads.SelectContext(ctx, &hours, `
		select date_trunc('hour', slot at time zone 'utc') at time zone 'utc' as hour, sum(cost_nanos)::bigint as spend,
			sum(requests)::bigint as requests, sum(failed)::bigint as failed
		from usage_rollups where account_id = $1 and slot >= $2 group by 1 order by 1`, accountID, since.UTC())
	for i := range hours {
		hours[i].At = hours[i].At.UTC()
	}
	return hours, postgres.StoreError("usage: hours", err)
}

// Timing is how long one answered text call took.
type Timing struct {
	At        time.Time
	FirstByte time.Duration
	Duration  time.Duration
	Streamed  bool
}

// Timings are the latest answered text calls between two times, the newest first, 2,000 at most.
func (r *Reports) Timings(ctx context.Context, accountID string, from, to time.Time) ([]Timing, error) {
	var rows []timingRow
	err := r.reads.SelectContext(ctx, &rows, `
		select started_at, first_byte_micros, duration_micros, streamed from usage_records
		where account_id = $1 and started_at >= $2 and started_at < $3 and outcome = 'succeeded' and style <> 'videos'
			and day between ($2::timestamptz at time zone 'utc')::date and ($3::timestamptz at time zone 'utc')::date
		order by started_at desc, request_id desc limit $4`, accountID, from.UTC(), to.UTC(), TimingsMax)
	timings := make([]Timing, len(rows))
	for i, row := range rows {
		timings[i] = Timing{
			At: row.At.UTC(), FirstByte: time.Duration(row.FirstByte) * time.Microsecond,
			Duration: time.Duration(row.Duration) * time.Microsecond, Streamed: row.Streamed,
		}
	}
	return timings, postgres.StoreError("usage: timings", err)
}

// Failures are the latest calls since a given time that neither succeeded nor were ended by their caller, the newest first.
func (r *Reports) Failures(ctx context.Context, accountID string, since time.Time, limit int) ([]billing.UsageRecord, error) {
	var rows []billing.UsageRow
	// The outcomes are listed exactly as in the index of failures, because the planner only then uses it.
	err := r.reads.SelectContext(ctx, &rows, `
		select `+billing.UsageColumns+` from usage_records
		where account_id = $1 and started_at >= $2 and day >= ($2::timestamptz at time zone 'utc')::date
			and outcome not in ('succeeded', 'client_left', 'canceled')
		order by started_at desc, request_id desc limit $3`, accountID, since.UTC(), min(limit, failuresMax))
	return recordsOf(rows), postgres.StoreError("usage: failures", err)
}

type timingRow struct {
	At        time.Time `db:"started_at"`
	FirstByte int64     `db:"first_byte_micros"`
	Duration  int64     `db:"duration_micros"`
	Streamed  bool      `db:"streamed"`
}
