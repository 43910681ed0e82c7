-- +goose Up

-- How each call went, as billing.Trail writes it: when its steps were done, and its attempts at providers. Null for records of
-- before. A column without a default changes no row and no partition.
alter table usage_records add column trail text;

-- keep_records inserts the records that are not there yet and returns them, in order.
-- +goose StatementBegin
create or replace function keep_records(
	p_records usage_records[], p_transaction text, p_at timestamptz
) returns usage_records[] language plpgsql as $$
declare
	v_new usage_records[];
begin
	with kept as (
		insert into usage_records as u
		select r.request_id, r.day, r.account_id, r.key_id, coalesce(r.budget_id, ''), r.model, r.provider, r.upstream_model, r.style,
			r.rate_card_id, r.end_user, r.finish_reason, r.error_code, r.outcome, r.reason, r.streamed, r.estimated, r.attempts,
			r.input_tokens, r.cache_read_tokens, r.cache_write_tokens, r.output_tokens, r.reasoning_tokens, r.images, r.milliseconds,
			r.characters, r.requests, r.reserved_nanos, r.cost_nanos, r.overrun_nanos, r.started_at, r.first_byte_micros,
			r.duration_micros, p_at, coalesce(r.replica_id, ''), coalesce(r.epoch, 0),
			case when r.cost_nanos + r.overrun_nanos > 0 then p_transaction else '' end, nullif(r.trail, '')
		from unnest(p_records) r
		on conflict do nothing
		returning u
	)
	select array_agg(u) into v_new from kept;
	return coalesce(v_new, '{}');
end $$;
-- +goose StatementEnd

-- At which hundredths of a key's budget its people are told, each once in a period.
alter table api_keys add column budget_alerts smallint[] not null default '{80,100}'
	check (cardinality(budget_alerts) <= 8 and 0 < all (budget_alerts) and 100 >= all (budget_alerts));

-- The highest of them that was told, and of which period. What is passed already today is old news.
alter table key_budgets
	add column alerted smallint not null default 0 check (alerted between 0 and 100),
	add column alerted_start timestamptz;
update key_budgets set alerted_start = period_start, alerted = case
	when spent_nanos >= limit_nanos then 100
	when spent_nanos::numeric * 100 >= limit_nanos::numeric * 80 then 80
	else 0 end;

-- From which networks keys were used, so that a new one can be told of: /24 of IPv4 and /48 of IPv6. A few of each key stay.
create table key_networks (
	key_id     text not null references api_keys (id) on delete cascade,
	account_id text not null references accounts (id),
	network    cidr not null,
	since      timestamptz not null, -- used with no break of 30 days
	last_at    timestamptz not null,
	news       boolean not null,     -- the key was known from elsewhere when it came
	primary key (key_id, network)
);
create index key_networks_news on key_networks (account_id, since) where news;
