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

// blamed are the causes of attempts that failed because of their provider. Unavailable hides a cause from accounts.
var blamed = pq.StringArray{
	"connect", "dns", "tls", "reset", "first_byte_timeout", "idle_timeout", "total_timeout", "rate_limited", "server_error", "redirect",
	"content", "too_large", "unavailable",
}

// filterCodes are the errors of calls that a content filter refused. The caller caused them.
var filterCodes = pq.StringArray{"moderation_blocked", "content_policy_violation"}

// countModels adds the settlements between two times to the days, and to the hours that are kept before end. A record is in the partition
// of the day on which its call began, at most two days before its settlement.
func countModels(ctx context.Context, q postgres.Queryer, from, to, end time.Time) error {
	answered, failed := verdicts()
	_, err := q.ExecContext(ctx, `
		with calls as materialized (
			select model, provider, date_trunc('hour', settled_at at time zone 'utc') at time zone 'utc' as hour,
				(settled_at at time zone 'utc')::date as day, streamed, first_byte_micros as first, duration_micros as whole,
				duration_micros - first_byte_micros as rest, `+generated+` as tokens, attempts, trail,
				case
					when $8 = any(string_to_array(flags, ' ')) then null
					when reason = any($3) then 'answered'
					when reason = any($4) and error_code <> all($9) then 'failed'
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
			select hour, model, provider, verdict as metric, 0 as bucket from calls where verdict is not null
			union all
			select hour, model, provider, 'first_byte', floor(ln(first) / ln(2) * $6)
			from calls where verdict = 'answered' and streamed and first > 0
			union all
			select hour, model, provider, 'duration', floor(ln(whole) / ln(2) * $6) from calls where verdict = 'answered' and whole > 0
			union all
			select hour, model, provider, 'speed', floor(ln(tokens * 1e9 / rest) / ln(2) * $6)
			from calls where verdict = 'answered' and streamed and tokens > 1 and rest > 0
			union all
			select hour, model, split_part(word, ':', 1), 'attempt_failed', 0
			from calls, unnest(string_to_array(trail, ' ')) with ordinality as t(word, place)
			where verdict is not null and attempts > 1 and place > 1 and split_part(word, ':', 3) = any($7)
				and (verdict = 'answered' or split_part(word, ':', 1) <> provider)
		)
		insert into model_provider_hours as h (hour, model, provider, metric, bucket, calls)
		select hour, model, provider, metric, greatest(bucket, 0)::smallint, count(*) from measured where hour >= $5 group by 1, 2, 3, 4, 5
		on conflict (model, hour, provider, metric, bucket) do update set calls = h.calls + excluded.calls`,
		from.UTC(), to.UTC(), pq.StringArray(answered), pq.StringArray(failed), firstHourKept(end), classesDouble, blamed,
		billing.FlagRequestedFault, filterCodes)
	if err != nil {
		return err
	}
	if _, err := q.ExecContext(ctx, `update model_stats_cursor set until = $1`, to.UTC()); err != nil || to.Before(end) {
		return err
	}
	return refreshRecent(ctx, q, end)
}

func firstHourKept(end time.Time) time.Time {
	return end.UTC().Truncate(time.Hour).Add(-statsHoursKept * time.Hour)
}

// summaryColumns are the counts and the percentiles of a group of cumulated rows.
const summaryColumns = `
	coalesce(sum(calls) filter (where metric = 'answered'), 0)::bigint as answered,
	coalesce(sum(calls) filter (where metric = 'failed'), 0)::bigint as failed,
	coalesce(sum(calls) filter (where metric = 'attempt_failed'), 0)::bigint as attempts,
	min(bucket) filter (where metric = 'first_byte' and upto * 100 >= whole * 50) as first_byte_p50,
	min(bucket) filter (where metric = 'first_byte' and upto * 100 >= whole * 95) as first_byte_p95,
	min(bucket) filter (where metric = 'duration' and upto * 100 >= whole * 50) as duration_p50,
	min(bucket) filter (where metric = 'duration' and upto * 100 >= whole * 95) as duration_p95,
	min(bucket) filter (where metric = 'speed' and upto * 100 >= whole * 50) as speed_p50`

// cumulated is a subquery that adds to the rows of a query how many calls are in their bucket and below it, and in all buckets, within the
// groups that the columns make.
func cumulated(columns, query string) string {
	return `(
		select ` + columns + `, metric, bucket, calls, sum(calls) over (partition by ` + columns + `, metric order by bucket) as upto,
			sum(calls) over (partition by ` + columns + `, metric) as whole
		from (` + query + `) rows
	) cumulated`
}

// refreshRecent computes the last 24 hours again, and deletes hours and days that no query reads any more.
func refreshRecent(ctx context.Context, q postgres.Queryer, end time.Time) error {
	_, err := q.ExecContext(ctx, `delete from model_provider_hours where hour < $1`, firstHourKept(end))
	if err != nil {
		return err
	}
	_, err = q.ExecContext(ctx, `
		delete from model_days where day < ($1::timestamptz at time zone 'utc')::date - $2::integer`, end.UTC(), statsDaysKept)
	if err != nil {
		return err
	}
	if _, err := q.ExecContext(ctx, `delete from model_recent_stats`); err != nil {
		return err
	}
	_, err = q.ExecContext(ctx, `
		insert into model_recent_stats (model, answered, failed, first_byte_p50, first_byte_p95, duration_p50, duration_p95, speed_p50, until)
		select model, answered, failed, first_byte_p50, first_byte_p95, duration_p50, duration_p95, speed_p50, $1
		from (
			select model,`+summaryColumns+`
			from `+cumulated("model", `
				select model, metric, bucket, sum(calls) as calls from model_provider_hours where hour > $2 group by 1, 2, 3`)+`
			group by model
		) s`, end.UTC(), end.UTC().Add(-StatsWindow))
	return err
}

type modelStatsRow struct {
	Model string    `db:"model"`
	Until time.Time `db:"until"`

	summaryRow
}

type providerStatsRow struct {
	Start    *time.Time `db:"start"`
	Provider string     `db:"provider"`
	Attempts int64      `db:"attempts"`

	summaryRow
}

// summaryRow is what both kinds of rows have. A bucket is nil where nothing is known.
type summaryRow struct {
	Answered      int64  `db:"answered"`
	Failed        int64  `db:"failed"`
	FirstByte     *int16 `db:"first_byte_p50"`
	FirstByteSlow *int16 `db:"first_byte_p95"`
	Duration      *int16 `db:"duration_p50"`
	DurationSlow  *int16 `db:"duration_p95"`
	Speed         *int16 `db:"speed_p50"`
}
