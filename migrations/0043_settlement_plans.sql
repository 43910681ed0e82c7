-- +goose Up

-- A function in SQL is planned anew at each call, which took nearly half of the time of a small batch of settlements. These are the same
-- statements in PL/pgSQL, whose plans are kept by each connection. A version before this one works with them.

-- read_records reads records, also those of journals from before 0041.
-- +goose StatementBegin
create or replace function read_records(p_records jsonb) returns usage_records[] language plpgsql stable as $$
begin
	return (select coalesce(array_agg(jsonb_populate_record(null::usage_records, case
		when j.value ? 'meters' then j.value
		else j.value || jsonb_build_object('meters', to_jsonb(trim_meters(array[
			(j.value ->> 'input_tokens')::bigint, (j.value ->> 'cache_read_tokens')::bigint, (j.value ->> 'cache_write_tokens')::bigint,
			(j.value ->> 'output_tokens')::bigint, (j.value ->> 'reasoning_tokens')::bigint, (j.value ->> 'images')::bigint,
			(j.value ->> 'milliseconds')::bigint, (j.value ->> 'characters')::bigint, (j.value ->> 'requests')::bigint
		])))
	end) order by j.place), '{}')
	from jsonb_array_elements(p_records) with ordinality j (value, place));
end $$;
-- +goose StatementEnd

-- count_usage adds records to the sums of their quarter hours. The caller holds their accounts' rows.
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
end $$;
-- +goose StatementEnd

-- spend_budgets charges the budgets of keys. Most records have none.
-- +goose StatementBegin
create or replace function spend_budgets(p_records usage_records[], p_at timestamptz) returns void language plpgsql as $$
begin
	if not exists (select from unnest(p_records) r where r.budget_id <> '' and r.cost_nanos > 0) then
		return;
	end if;
	with due as (
		select r.replica_id, r.epoch, r.budget_id, sum(r.cost_nanos)::bigint as cost
		from unnest(p_records) r where r.budget_id <> '' and r.cost_nanos > 0 group by 1, 2, 3
	), paid as (
		update leases l set spent_nanos = l.spent_nanos + least(d.cost, l.remaining_nanos), touched_at = p_at
		from due d, (select replica_id, epoch, credit_account_id, remaining_nanos from leases) o
		where l.replica_id = d.replica_id and l.epoch = d.epoch and l.credit_account_id = d.budget_id and l.state = 'open'
			and o.replica_id = d.replica_id and o.epoch = d.epoch and o.credit_account_id = d.budget_id
		returning l.replica_id, l.epoch, l.credit_account_id, least(d.cost, o.remaining_nanos) as cost
	), parts as (
		select d.budget_id, sum(coalesce(p.cost, 0))::bigint as leased, sum(d.cost)::bigint as cost
		from due d left join paid p on p.replica_id = d.replica_id and p.epoch = d.epoch and p.credit_account_id = d.budget_id group by 1
	), counted as (
		update key_budgets k set spent_nanos = k.spent_nanos + p.cost from parts p where k.key_id = p.budget_id
	)
	update credit_accounts a set held_nanos = a.held_nanos - p.leased,
		posted_nanos = a.posted_nanos - p.leased - least(p.cost - p.leased, a.posted_nanos - a.held_nanos)
	from parts p where a.id = p.budget_id and a.kind = 'budget';
end $$;
-- +goose StatementEnd
