-- +goose Up

-- How models do at each provider, by the hour of UTC and over all accounts, for the last eight days. Answered and failed count calls by the
-- provider of their last attempt, in bucket 0. Attempt_failed counts the failed attempts of calls that another provider went on with. The
-- other metrics are of answered calls: microseconds to the first token and to the end, and thousandths of a token a second of streams. A
-- bucket of these is an eighth of a doubling.
create table model_provider_hours (
	model    text not null,
	hour     timestamptz not null,
	provider text not null,
	metric   text not null check (metric in ('answered', 'failed', 'attempt_failed', 'first_byte', 'duration', 'speed')),
	bucket   smallint not null check (bucket >= 0),
	calls    bigint not null check (calls > 0),
	primary key (model, hour, provider, metric, bucket)
);
create index model_provider_hours_hour on model_provider_hours (hour);

-- The last 24 hours in one row a model, which a list of models reads. A bucket is null where nothing is known.
create table model_recent_stats (
	model          text primary key,
	answered       bigint not null,
	failed         bigint not null,
	first_byte_p50 smallint,
	first_byte_p95 smallint,
	duration_p50   smallint,
	duration_p95   smallint,
	speed_p50      smallint,
	until          timestamptz not null
);

-- The two replace the minutes and the summary of a single hour, in which most models have too few calls to be judged.
drop table model_minutes;
drop table model_hours;
