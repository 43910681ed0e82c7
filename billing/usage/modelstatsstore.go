package usage

import (
	"context"
	"time"

	"github.com/lib/pq"

	"umg/app/meter"
	"umg/app/postgres"
	"umg/billing"
)

// generated is the number of tokens that the model made.
var generated = billing.MeterColumn(meter.OutputTokens) + " + " + billing.MeterColumn(meter.ReasoningTokens) + " + " +
	billing.MeterColumn(meter.OutputAudioTokens) + " + " + billing.MeterColumn(meter.OutputImageTokens)

// countModels adds the settlements between two times to the days, and to the minutes of the hour before end. A record is in
// the partition of the day on which its call began, at most two days before its settlement.
func countModels(ctx context.Context, q postgres.Queryer, from, to, end time.Time) error {
	answered, failed := verdicts()
	_, err := q.ExecContext(ctx, `
		with calls as materialized (
			select model, date_trunc('minute', settled_at) as minute, (settled_at at time zone 'utc')::date as day, streamed,
				first_byte_micros as first, duration_micros - first_byte_micros as rest, `+generated+` as tokens,
				case
					when reason = any($3) then 'answered'
					when reason = any($4) and error_code not in ('moderation_blocked', 'content_policy_violation') then 'failed'
				end as verdict
			from usage_records
			where settled_at >= $1 and settled_at < $2 and day between ($1::timestamptz at time zone 'utc')::date - 2
				and ($2::timestamptz at time zone 'utc')::date + 1
		), days as (
			insert into model_days as d (model, day, answered, failed)
			select model, day, count(*) filter (where verdict = 'answered'), count(*) filter (where verdict = 'failed')
			from calls where verdict is not null group by 1, 2
			on conflict (model, day) do update set answered = d.answered + excluded.answered, failed = d.failed + excluded.failed
		), measured as (
			select minute, model, verdict as metric, 0 as bucket from calls where verdict is not null
			union all
			select minute, model, 'first_byte', floor(ln(first) / ln(2) * $6)
			from calls where verdict = 'answered' and streamed and first > 0
			union all
			select minute, model, 'speed', floor(ln(tokens * 1e9 / rest) / ln(2) * $6)
			from calls where verdict = 'answered' and streamed and tokens > 1 and rest > 0
		)
		insert into model_minutes (minute, model, metric, bucket, calls)
		select minute, model, metric, greatest(bucket, 0)::smallint, count(*) from measured where minute >= $5 group by 1, 2, 3, 4`,
		from.UTC(), to.UTC(), pq.StringArray(answered), pq.StringArray(failed), end.Add(-statsHour), classesDouble)
	if err != nil {
		return err
	}
	if _, err := q.ExecContext(ctx, `update model_stats_cursor set until = $1`, to.UTC()); err != nil || to.Before(end) {
		return err
	}
	return refreshHours(ctx, q, end)
}

// refreshHours computes the last hour again, and deletes minutes that no query reads any more.
func refreshHours(ctx context.Context, q postgres.Queryer, end time.Time) error {
	for _, step := range []string{
		`delete from model_minutes where minute < $1::timestamptz - interval '1 hour'`,
		`delete from model_hours where $1::timestamptz is not null`,
		`insert into model_hours (model, answered, failed, first_byte_p50, first_byte_p95, speed_p50, until)
		select model, coalesce(sum(calls) filter (where metric = 'answered'), 0), coalesce(sum(calls) filter (where metric = 'failed'), 0),
			min(bucket) filter (where metric = 'first_byte' and upto * 100 >= whole * 50),
			min(bucket) filter (where metric = 'first_byte' and upto * 100 >= whole * 95),
			min(bucket) filter (where metric = 'speed' and upto * 100 >= whole * 50), $1
		from (
			select model, metric, bucket, calls, sum(calls) over (partition by model, metric order by bucket) as upto,
				sum(calls) over (partition by model, metric) as whole
			from (select model, metric, bucket, sum(calls) as calls from model_minutes group by 1, 2, 3) s
		) c group by model`,
	} {
		if _, err := q.ExecContext(ctx, step, end.UTC()); err != nil {
			return err
		}
	}
	_, err := q.ExecContext(ctx, `
		delete from model_days where day < ($1::timestamptz at time zone 'utc')::date - $2::integer`, end.UTC(), statsDaysKept)
	return err
}

type modelHourRow struct {
	Model         string    `db:"model"`
	Answered      int64     `db:"answered"`
	Failed        int64     `db:"failed"`
	FirstByte     *int16    `db:"first_byte_p50"`
	FirstByteSlow *int16    `db:"first_byte_p95"`
	Speed         *int16    `db:"speed_p50"`
	Until         time.Time `db:"until"`
}
