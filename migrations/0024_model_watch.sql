-- +goose Up

-- How models do, over all accounts. A worker passes once over each minute of settlements and adds it up here, so that no call
-- writes anything more than before. The index is a few bytes a megabyte of records, because records come in the order of time.
create index usage_records_settled on usage_records using brin (settled_at) with (autosummarize = on, pages_per_range = 32);

-- One row: up to when settlements were passed over.
create table model_watch (
	one   boolean primary key default true check (one),
	until timestamptz not null
);
insert into model_watch (until) values (date_trunc('minute', now()));

-- What the calls of a day came to. Those that failed through their client's fault, and those whose client left, are in neither.
create table model_days (
	model    text not null,
	day      date not null,
	answered bigint not null check (answered >= 0),
	failed   bigint not null check (failed >= 0),
	primary key (model, day)
);

-- The minutes of the last hour: how many calls were answered and failed (in class 0), and how many fell into which class of
-- microseconds to the first token and of thousandths of tokens a second. A class is an eighth of a doubling.
create table model_minutes (
	minute timestamptz not null,
	model  text not null,
	what   text not null check (what in ('answered', 'failed', 'first_byte', 'speed')),
	class  smallint not null check (class >= 0),
	calls  bigint not null check (calls > 0),
	primary key (minute, model, what, class)
);

-- The last hour in one row a model, so that a list of models costs one short read. Classes are null where nothing is known.
create table model_hours (
	model          text primary key,
	answered       bigint not null,
	failed         bigint not null,
	first_byte_p50 smallint,
	first_byte_p95 smallint,
	speed_p50      smallint,
	until          timestamptz not null
);

-- The days before this was kept are in the sums of usage.
insert into model_days
select model, (slot at time zone 'utc')::date, coalesce(sum(requests) filter (where verdict = 'answered'), 0),
	coalesce(sum(requests) filter (where verdict = 'failed'), 0)
from (
	select model, slot, requests, case
		when reason in ('completed', 'usage_missing', 'usage_implausible', 'overrun', 'filtered', 'filtered_unanswered', 'no_content',
			'length_enforced', 'recovered', 'client_left', 'client_left_at_end', 'video_completed', 'video_shorter', 'succeeded') then 'answered'
		when reason in ('empty_answer', 'upstream_failed', 'upstream_broke_off', 'timed_out_unanswered', 'timed_out', 'stopped_unanswered',
			'stopped', 'crashed_unanswered', 'crashed', 'unrecorded', 'unrecorded_end', 'video_failed', 'video_lost', 'video_expired',
			'video_unavailable', 'failed') then 'failed'
		end as verdict
	from usage_slots where slot >= now() - interval '90 days'
) s
where verdict is not null
group by 1, 2;
