-- +goose Up

-- Usage is counted in one array by the numbers of the meters: element i+1 is meter i, and zeros at the end are left out. The nine
-- columns for the first nine meters go. Each month of records is written anew, and a gateway of an earlier release knows only the old
-- columns: stop all replicas before this file runs. Their journals may have settlements left; those are still read.

-- trim_meters leaves out the zeros at the end of an array of counts.
-- +goose StatementBegin
create function trim_meters(p_meters bigint[]) returns bigint[] language plpgsql immutable strict parallel safe as $$
declare
	v_last integer := cardinality(p_meters);
begin
	while v_last > 0 and p_meters[v_last] = 0 loop
		v_last := v_last - 1;
	end loop;
	return p_meters[1:v_last];
end $$;
-- +goose StatementEnd

-- add_meters adds two arrays of counts, of which one may be longer.
-- +goose StatementBegin
create function add_meters(p_sum bigint[], p_meters bigint[]) returns bigint[] language plpgsql immutable strict parallel safe as $$
declare
	v_length integer := cardinality(p_sum);
begin
	for i in 1..cardinality(p_meters) loop
		if i > v_length then
			p_sum[i] := p_meters[i];
		elsif p_meters[i] <> 0 then
			p_sum[i] := p_sum[i] + p_meters[i];
		end if;
	end loop;
	return p_sum;
end $$;
-- +goose StatementEnd

create aggregate sum_meters(bigint[]) (sfunc = add_meters, stype = bigint[], initcond = '{}', combinefunc = add_meters, parallel = safe);

-- A column takes the array in place of the first count, so that each partition is written once. The names of the constraints on that
-- count depend on the version with which a database began.
-- +goose StatementBegin
do $$
declare
	v_name text;
begin
	for v_name in
		select c.conname from pg_constraint c join pg_attribute a on a.attrelid = c.conrelid and a.attname = 'input_tokens'
		where c.conrelid = 'usage_records'::regclass and c.contype = 'c' and a.attnum = any(c.conkey)
	loop
		execute format('alter table usage_records drop constraint %I', v_name);
	end loop;
end $$;
-- +goose StatementEnd

alter table usage_records alter column input_tokens type bigint[] using trim_meters(array[input_tokens, cache_read_tokens,
	cache_write_tokens, output_tokens, reasoning_tokens, images, milliseconds, characters, requests]);
alter table usage_records rename column input_tokens to meters;
alter table usage_records
	drop column cache_read_tokens, drop column cache_write_tokens, drop column output_tokens, drop column reasoning_tokens,
	drop column images, drop column milliseconds, drop column characters, drop column requests,
	add constraint usage_records_meters_check check (
		0 <= all (meters) and array_position(meters, null) is null and coalesce(array_lower(meters, 1), 1) = 1),
	-- The terms on which the provider served the call, such as service_tier=flex. Empty for the usual service.
	add column terms text not null default '',
	-- What the provider said that it takes. Null where it said nothing.
	add column provider_cost_nanos bigint check (provider_cost_nanos >= 0),
	-- What the call cost the operator, and the cost card that says so. Null where it is not known.
	add column upstream_cost_nanos bigint check (upstream_cost_nanos >= 0),
	add column cost_card_id text,
	-- What operators should know about the record, as words with spaces between them, such as unpriced.
	add column flags text not null default '';

-- The sums have what calls were billed by as the meter of requests, beside the number of calls. upstream_priced counts the calls whose
-- cost to the operator is known.
alter table usage_rollups alter column input_tokens type bigint[] using trim_meters(array[input_tokens, cache_read_tokens,
	cache_write_tokens, output_tokens, reasoning_tokens, images, milliseconds, characters, billed_requests]);
alter table usage_rollups rename column input_tokens to meters;
alter table usage_rollups
	drop column cache_read_tokens, drop column cache_write_tokens, drop column output_tokens, drop column reasoning_tokens,
	drop column images, drop column milliseconds, drop column characters, drop column billed_requests,
	add constraint usage_rollups_meters_check check (array_position(meters, null) is null and coalesce(array_lower(meters, 1), 1) = 1),
	add column upstream_cost_nanos bigint not null default 0,
	add column upstream_priced bigint not null default 0;

-- read_records reads settlements as gateways write them, in order. Those of earlier releases have the nine counts as members.
-- +goose StatementBegin
create function read_records(p_records jsonb) returns usage_records[] language sql stable as $$
	select coalesce(array_agg(jsonb_populate_record(null::usage_records, case
		when j.value ? 'meters' then j.value
		else j.value || jsonb_build_object('meters', to_jsonb(trim_meters(array[
			(j.value ->> 'input_tokens')::bigint, (j.value ->> 'cache_read_tokens')::bigint, (j.value ->> 'cache_write_tokens')::bigint,
			(j.value ->> 'output_tokens')::bigint, (j.value ->> 'reasoning_tokens')::bigint, (j.value ->> 'images')::bigint,
			(j.value ->> 'milliseconds')::bigint, (j.value ->> 'characters')::bigint, (j.value ->> 'requests')::bigint
		])))
	end) order by j.place), '{}')
	from jsonb_array_elements(p_records) with ordinality j (value, place)
$$;
-- +goose StatementEnd

-- count_usage adds records to the sums of their quarter hours. The caller holds their accounts' rows.
-- +goose StatementBegin
create or replace function count_usage(p_records usage_records[]) returns void language sql as $$
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
		upstream_priced = s.upstream_priced + excluded.upstream_priced
$$;
-- +goose StatementEnd

-- keep_records inserts the records that are not there yet and returns them, in order.
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
			first_byte_micros, duration_micros, settled_at, replica_id, epoch, transaction_id, trail)
		select r.request_id, r.day, r.account_id, r.key_id, coalesce(r.budget_id, ''), r.model, r.provider, r.upstream_model, r.style,
			r.rate_card_id, r.end_user, r.finish_reason, r.error_code, r.outcome, r.reason, r.streamed, r.estimated, r.attempts, r.meters,
			coalesce(r.terms, ''), r.reserved_nanos, r.cost_nanos, r.overrun_nanos, r.provider_cost_nanos, r.upstream_cost_nanos,
			nullif(r.cost_card_id, ''), coalesce(r.flags, ''), r.started_at, r.first_byte_micros, r.duration_micros, p_at,
			coalesce(r.replica_id, ''), coalesce(r.epoch, 0),
			case when r.cost_nanos + r.overrun_nanos > 0 then p_transaction else '' end, nullif(r.trail, '')
		from unnest(p_records) r
		on conflict do nothing
		returning u
	)
	select array_agg(u) into v_new from kept;
	return coalesce(v_new, '{}');
end $$;
-- +goose StatementEnd

-- apply_settlements and settle_hold read records with read_records. They are otherwise as before.
-- +goose StatementBegin
create or replace function apply_settlements(
	p_replica text, p_epoch bigint, p_from bigint, p_to bigint, p_open bigint, p_records jsonb, p_checkpoints jsonb,
	p_transaction text, p_at timestamptz, out result text, out applied bigint, out late bigint, out overruns bigint
) returns record language plpgsql as $$
declare
	v_records usage_records[];
begin
	result := 'applied';
	applied := 0;
	late := 0;
	overruns := 0;
	if p_to > 0 then
		select c.applied_lsn into applied from journal_cursors c where c.replica_id = p_replica for update;
		perform from replicas r where r.id = p_replica and r.epoch = p_epoch;
		if not found or applied is null then
			result := 'fenced';
			return;
		end if;
		if applied <> p_from then
			return;
		end if;
		update journal_cursors c set applied_lsn = p_to, open_lsn = p_open where c.replica_id = p_replica;
		applied := p_to;
	end if;
	if jsonb_array_length(p_records) > 0 then
		v_records := read_records(p_records);
		perform from credit_accounts a
		where a.id in (select r.account_id from unnest(v_records) r union select r.budget_id from unnest(v_records) r)
		order by a.id for no key update;
		v_records := keep_records(v_records, p_transaction, p_at);
		if cardinality(v_records) > 0 then
			select c.late, c.overruns into late, overruns from charge_accounts(v_records, p_replica || '/' || p_epoch || '/' ||
				case when p_to > 0 then p_from || '-' || p_to else p_transaction end, p_transaction, p_at) c;
		end if;
	end if;
	if p_to = 0 then
		insert into call_checkpoints as m (request_id, replica_id, epoch, record)
		select r.request_id, r.replica_id, r.epoch, j.value
		from jsonb_array_elements(p_checkpoints) j, jsonb_populate_record(null::usage_records, j.value) r
		where not exists (select from usage_records u where u.day = r.day and u.request_id = r.request_id)
		order by r.request_id
		on conflict (request_id) do update set record = excluded.record;
		delete from call_checkpoints m using jsonb_array_elements(p_records) j where m.request_id = j.value ->> 'request_id';
	end if;
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function settle_hold(
	p_hold text, p_account text, p_cost bigint, p_transaction text, p_at timestamptz, p_record jsonb,
	out charged bigint, out overrun bigint, out outcome text
) language plpgsql as $$
declare
	h         holds%rowtype;
	v_posted  bigint;
	v_held    bigint;
	v_records usage_records[];
begin
	select * into h from holds where id = p_hold and account_id = p_account for update;
	if not found then
		outcome := 'unknown';
		return;
	end if;
	charged := h.captured_nanos;
	if h.reason in ('settled', 'late') then
		outcome := 'repeated';
		return;
	end if;
	perform from credit_accounts a where a.id in (p_account, h.budget_id) order by a.id for no key update;
	select a.posted_nanos, a.held_nanos into v_posted, v_held from credit_accounts a where a.id = p_account;
	outcome := case when h.state = 'open' then 'settled' else 'late' end;
	charged := least(p_cost, h.amount_nanos);
	if h.state = 'open' then
		v_held := v_held - h.amount_nanos;
		update credit_accounts a set held_nanos = a.held_nanos - h.amount_nanos, posted_nanos = a.posted_nanos - charged
		where a.id = h.budget_id and a.kind = 'budget';
	else
		charged := least(charged, v_posted - v_held);
		update credit_accounts a set posted_nanos = a.posted_nanos - least(charged, a.posted_nanos - a.held_nanos)
		where a.id = h.budget_id and a.kind = 'budget';
	end if;
	update key_budgets set spent_nanos = spent_nanos + charged where key_id = h.budget_id;
	overrun := p_cost - charged;
	v_posted := v_posted - charged;
	update credit_accounts a set posted_nanos = v_posted, held_nanos = v_held where a.id = p_account;
	update holds set captured_nanos = charged, reason = outcome, closed_at = p_at,
		state = case when charged > 0 then 'captured' else 'released' end
	where id = p_hold;
	perform draw_due(array[p_account], array[charged]);
	v_records := keep_records(read_records(jsonb_build_array(p_record || jsonb_build_object(
		'request_id', p_hold, 'account_id', p_account, 'budget_id', h.budget_id,
		'reserved_nanos', h.amount_nanos, 'cost_nanos', charged, 'overrun_nanos', overrun))), p_transaction, p_at);
	perform count_usage(v_records);
	perform post_charges(p_transaction, p_hold, p_at, array[p_account], array[charged], array[v_posted], overrun);
end $$;
-- +goose StatementEnd
