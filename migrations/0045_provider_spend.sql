-- +goose Up

-- The credential of the provider that a call used: its reference in the catalog, never its value. Null in older records.
alter table usage_records add column credential text;

-- What the calls of a day of UTC cost the operator, by provider and credential. Each replica has rows of its own, so that the batches of
-- one never wait for those of another.
create table provider_spend (
	day         date not null,
	provider    text not null,
	credential  text not null,
	replica_id  text not null,
	spent_nanos bigint not null,
	primary key (day, provider, credential, replica_id)
) with (fillfactor = 50);

-- keep_records inserts the records that are not there yet, with their credentials, and returns them, in order.
-- +goose StatementBegin
create or replace function keep_records(
	p_records usage_records[], p_transaction text, p_at timestamptz
) returns usage_records[] language plpgsql as $$
declare
	v_new usage_records[];
begin
	with kept as (
		insert into usage_records as u (request_id, day, account_id, key_id, budget_id, model, provider, upstream_model, style,
			rate_card_id, end_user, finish_reason, error_code, outcome, reason, streamed, estimated, attempts, meters, terms,
			reserved_nanos, cost_nanos, overrun_nanos, provider_cost_nanos, upstream_cost_nanos, cost_card_id, flags, started_at,
			first_byte_micros, duration_micros, settled_at, replica_id, epoch, transaction_id, trail, credential)
		select r.request_id, r.day, r.account_id, r.key_id, coalesce(r.budget_id, ''), r.model, r.provider, r.upstream_model, r.style,
			r.rate_card_id, r.end_user, r.finish_reason, r.error_code, r.outcome, r.reason, r.streamed, r.estimated, r.attempts, r.meters,
			coalesce(r.terms, ''), r.reserved_nanos, r.cost_nanos, r.overrun_nanos, r.provider_cost_nanos, r.upstream_cost_nanos,
			nullif(r.cost_card_id, ''), coalesce(r.flags, ''), r.started_at, r.first_byte_micros, r.duration_micros, p_at,
			coalesce(r.replica_id, ''), coalesce(r.epoch, 0),
			case when r.cost_nanos + r.overrun_nanos > 0 then p_transaction else '' end, nullif(r.trail, ''), nullif(r.credential, '')
		from unnest(p_records) r
		on conflict do nothing
		returning u
	)
	select array_agg(u) into v_new from kept;
	return coalesce(v_new, '{}');
end $$;
-- +goose StatementEnd

-- count_usage adds records to the sums of their quarter hours, and to what their providers charged the operator: by the cost card, or as
-- the provider stated, or else by the price. The caller holds their accounts' rows. The order of the rows keeps batches from deadlocks.
-- +goose StatementBegin
create or replace function count_usage(p_records usage_records[]) returns void language plpgsql as $$
begin
	insert into usage_rollups as s (account_id, slot, key_id, model, style, reason, requests, streamed, meters, cost_nanos, overrun_nanos,
		first_byte_micros, duration_micros, failed, upstream_cost_nanos, upstream_priced)
	select r.account_id, date_bin('15 minutes', r.started_at, '2000-01-01 00:00+00'), r.key_id, r.model, r.style, r.reason,
		count(*), count(*) filter (where r.streamed), sum_meters(r.meters), sum(r.cost_nanos), sum(r.overrun_nanos),
		sum(r.first_byte_micros), sum(r.duration_micros), count(*) filter (where r.outcome not in ('succeeded', 'client_left')),
		coalesce(sum(r.upstream_cost_nanos), 0), count(r.upstream_cost_nanos)
	from unnest(p_records) r group by 1, 2, 3, 4, 5, 6
	on conflict (account_id, slot, key_id, model, style, reason) do update set
		requests = s.requests + excluded.requests, streamed = s.streamed + excluded.streamed,
		meters = add_meters(s.meters, excluded.meters),
		cost_nanos = s.cost_nanos + excluded.cost_nanos, overrun_nanos = s.overrun_nanos + excluded.overrun_nanos,
		first_byte_micros = s.first_byte_micros + excluded.first_byte_micros, duration_micros = s.duration_micros + excluded.duration_micros,
		failed = s.failed + excluded.failed, upstream_cost_nanos = s.upstream_cost_nanos + excluded.upstream_cost_nanos,
		upstream_priced = s.upstream_priced + excluded.upstream_priced;
	insert into provider_spend as s (day, provider, credential, replica_id, spent_nanos)
	select r.day, r.provider, coalesce(r.credential, ''), coalesce(r.replica_id, ''), sum(c.cost)
	from unnest(p_records) r, lateral (
		select coalesce(r.upstream_cost_nanos, nullif(r.provider_cost_nanos, 0), r.cost_nanos + r.overrun_nanos) as cost
	) c
	where r.provider <> '' and c.cost > 0
	group by 1, 2, 3, 4 order by 1, 2, 3, 4
	on conflict (day, provider, credential, replica_id) do update set spent_nanos = s.spent_nanos + excluded.spent_nanos;
end $$;
-- +goose StatementEnd
