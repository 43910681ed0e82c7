-- +goose Up

-- Tables and columns get the names that the code and the documents use. No row changes, but a gateway of an earlier release knows
-- only the old names: stop all replicas before this file runs.
alter table throttles rename to auth_throttles;
alter table totps rename to totp_secrets;
alter table call_contents rename to content_logs;
alter table content_settings rename to content_log_settings;
alter table call_marks rename to call_checkpoints;
alter table model_watch rename to model_stats_cursor;
alter table usage_slots rename to usage_rollups;
alter table usage_kept rename to usage_retention;
alter table notice_reads rename to notification_reads;
alter table notice_choices rename to notification_preferences;
alter table operator_deeds rename to operator_actions;
alter table traffic_pauses rename to pauses;
alter table traffic_history rename to pause_events;
alter table replica_reports rename to provider_health_reports;

alter table leases rename column purse_id to credit_account_id;
alter table operator_actions rename column once to idempotency_key;
alter table operator_actions rename column deed to action;
alter table pause_events rename column deed to action;
alter table key_networks rename column news to is_new;
alter table model_minutes rename column what to metric;
alter table model_minutes rename column class to bucket;
alter table credit_accounts rename column exact to return_immediately;
alter table prompt_versions rename column restored to restored_from_version;

-- Indices and constraints follow their tables and columns, because errors of the database name them.
alter index leases_purse rename to leases_credit_account;
-- +goose StatementBegin
do $$
declare
	renamed record;
	item    record;
begin
	for renamed in
		select * from (values
			('throttles', 'auth_throttles'),
			('totps', 'totp_secrets'),
			('call_contents', 'content_logs'),
			('content_settings', 'content_log_settings'),
			('call_marks', 'call_checkpoints'),
			('model_watch', 'model_stats_cursor'),
			('usage_slots', 'usage_rollups'),
			('usage_kept', 'usage_retention'),
			('notice_reads', 'notification_reads'),
			('notice_choices', 'notification_preferences'),
			('operator_deeds', 'operator_actions'),
			('traffic_pauses', 'pauses'),
			('traffic_history', 'pause_events'),
			('replica_reports', 'provider_health_reports')
		) as names (old, new)
	loop
		for item in
			select conrelid::regclass as owner, conname as name from pg_constraint
			where conrelid = renamed.new::regclass and starts_with(conname, renamed.old || '_')
		loop
			execute format('alter table %s rename constraint %I to %I', item.owner, item.name,
				renamed.new || substr(item.name, length(renamed.old) + 1));
		end loop;
		for item in
			select indexname as name from pg_indexes
			where schemaname = current_schema and tablename = renamed.new and starts_with(indexname, renamed.old || '_')
		loop
			execute format('alter index %I rename to %I', item.name, renamed.new || substr(item.name, length(renamed.old) + 1));
		end loop;
	end loop;
end $$;
-- +goose StatementEnd
alter table leases rename constraint leases_purse_id_fkey to leases_credit_account_id_fkey;
alter table model_minutes rename constraint model_minutes_what_check to model_minutes_metric_check;
alter table model_minutes rename constraint model_minutes_class_check to model_minutes_bucket_check;
alter table operator_actions rename constraint operator_actions_deed_check to operator_actions_action_check;
alter table pause_events rename constraint pause_events_deed_check to pause_events_action_check;

-- The bodies of functions are text, in which a rename changes nothing. Those with other names of parameters or results are dropped first.
drop function return_lease(text, bigint, text, bigint);
drop function leased_nanos(text);
drop function recall_leases(text);
drop function take_lease(text, bigint, text, bigint, bigint);
drop function apply_settlements(text, bigint, bigint, bigint, bigint, jsonb, jsonb, text, timestamptz);

-- +goose StatementBegin
create or replace function drop_usage_months(p_before date) returns integer language plpgsql as $$
declare
	v_first date := date_trunc('month', p_before::timestamp)::date;
	v_name  text;
	v_count integer := 0;
begin
	perform pg_advisory_xact_lock(hashtext('usage_records'));
	for v_name in
		select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
		where i.inhparent = 'usage_records'::regclass and c.relname ~ '^usage_records_[0-9]{6}$'
			and to_date(right(c.relname, 6), 'YYYYMM') < v_first
		order by 1
	loop
		execute format('alter table usage_records detach partition %I', v_name);
		execute format('drop table %I', v_name);
		v_count := v_count + 1;
	end loop;
	delete from usage_records_default where day < v_first;
	if v_count > 0 or found then
		update usage_retention set since = v_first where since < v_first;
	end if;
	return v_count;
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function count_usage(p_records usage_records[]) returns void language sql as $$
	insert into usage_rollups as s
	select r.account_id, date_bin('15 minutes', r.started_at, '2000-01-01 00:00+00'), r.key_id, r.model, r.style, r.reason,
		count(*), count(*) filter (where r.streamed), sum(r.input_tokens), sum(r.cache_read_tokens), sum(r.cache_write_tokens),
		sum(r.output_tokens), sum(r.reasoning_tokens), sum(r.images), sum(r.milliseconds), sum(r.characters),
		sum(r.cost_nanos), sum(r.overrun_nanos), sum(r.first_byte_micros), sum(r.duration_micros),
		count(*) filter (where r.outcome not in ('succeeded', 'client_left')), sum(r.requests)
	from unnest(p_records) r group by 1, 2, 3, 4, 5, 6
	on conflict (account_id, slot, key_id, model, style, reason) do update set
		requests = s.requests + excluded.requests, streamed = s.streamed + excluded.streamed,
		input_tokens = s.input_tokens + excluded.input_tokens, cache_read_tokens = s.cache_read_tokens + excluded.cache_read_tokens,
		cache_write_tokens = s.cache_write_tokens + excluded.cache_write_tokens, output_tokens = s.output_tokens + excluded.output_tokens,
		reasoning_tokens = s.reasoning_tokens + excluded.reasoning_tokens, images = s.images + excluded.images,
		milliseconds = s.milliseconds + excluded.milliseconds, characters = s.characters + excluded.characters,
		cost_nanos = s.cost_nanos + excluded.cost_nanos, overrun_nanos = s.overrun_nanos + excluded.overrun_nanos,
		first_byte_micros = s.first_byte_micros + excluded.first_byte_micros, duration_micros = s.duration_micros + excluded.duration_micros,
		failed = s.failed + excluded.failed, billed_requests = s.billed_requests + excluded.billed_requests
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function return_lease(
	p_replica text, p_epoch bigint, p_credit_account text, p_total bigint, out result text, out granted bigint,
	out returned bigint, out spent bigint, out posted bigint, out held bigint, out return_immediately boolean
) returns record language plpgsql as $$
declare
	v_back bigint;
begin
	select a.posted_nanos, a.held_nanos, a.return_immediately into posted, held, return_immediately
	from credit_accounts a where a.id = p_credit_account and a.kind <> 'internal' for no key update;
	select l.granted_nanos, l.returned_nanos, l.spent_nanos, least(greatest(p_total - l.returned_nanos, 0), l.remaining_nanos)
	into granted, returned, spent, v_back
	from leases l join replicas r on r.id = l.replica_id and r.epoch = l.epoch and r.state = 'live'
	where l.replica_id = p_replica and l.epoch = p_epoch and l.credit_account_id = p_credit_account and l.state = 'open';
	if not found then
		result := 'fenced';
		return;
	end if;
	result := 'returned';
	update leases l set returned_nanos = l.returned_nanos + v_back, recall_at = null, touched_at = now()
	where l.replica_id = p_replica and l.epoch = p_epoch and l.credit_account_id = p_credit_account and (v_back > 0 or l.recall_at is not null);
	if v_back > 0 then
		returned := returned + v_back;
		update credit_accounts a set held_nanos = a.held_nanos - v_back where a.id = p_credit_account returning a.held_nanos into held;
	end if;
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function close_leases(p_replica text, p_epoch bigint, p_state text, p_limit integer) returns integer language plpgsql as $$
declare
	v_credit_accounts text[] := array(
		select distinct credit_account_id from leases where replica_id = p_replica and epoch <= p_epoch and state = 'open' order by credit_account_id limit p_limit);
	v_count  integer;
begin
	perform from credit_accounts where id = any(v_credit_accounts) order by id for no key update;
	with closed as (
		update leases l set returned_nanos = l.granted_nanos - l.spent_nanos, state = p_state, recall_at = null, touched_at = now()
		from (
			select replica_id, epoch, credit_account_id, remaining_nanos as rest from leases
			where replica_id = p_replica and epoch <= p_epoch and state = 'open' and credit_account_id = any(v_credit_accounts)
		) o
		where l.replica_id = o.replica_id and l.epoch = o.epoch and l.credit_account_id = o.credit_account_id
		returning l.credit_account_id, o.rest
	), back as (
		update credit_accounts a set held_nanos = a.held_nanos - c.rest
		from (select credit_account_id, sum(rest)::bigint as rest from closed group by credit_account_id) c where a.id = c.credit_account_id
	)
	select count(*) from closed into v_count;
	return v_count;
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function spend_budgets(p_records usage_records[], p_at timestamptz) returns void language sql as $$
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
	from parts p where a.id = p.budget_id and a.kind = 'budget'
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function charge_accounts(
	p_records usage_records[], p_ref text, p_transaction text, p_at timestamptz, out late bigint, out overruns bigint
) returns record language plpgsql as $$
declare
	v_ids    text[];
	v_paid   bigint[];
	v_posted bigint[];
	v_short  bigint[];
	v_lost   bigint;
begin
	with due as (
		select r.replica_id, r.epoch, r.account_id, sum(r.cost_nanos)::bigint as cost, count(*) filter (where r.cost_nanos > 0) as records
		from unnest(p_records) r group by 1, 2, 3
	), leased as (
		update leases l set spent_nanos = l.spent_nanos + least(d.cost, o.remaining_nanos), touched_at = p_at
		from due d join leases o on o.replica_id = d.replica_id and o.epoch = d.epoch and o.credit_account_id = d.account_id and o.state = 'open'
		where l.replica_id = o.replica_id and l.epoch = o.epoch and l.credit_account_id = o.credit_account_id
		returning l.replica_id, l.epoch, l.credit_account_id, least(d.cost, o.remaining_nanos) as cost
	), parts as (
		select d.account_id, sum(coalesce(l.cost, 0))::bigint as leased, sum(d.cost)::bigint as cost,
			coalesce(sum(d.records) filter (where l.credit_account_id is null), 0)::bigint as late
		from due d left join leased l on l.replica_id = d.replica_id and l.epoch = d.epoch and l.credit_account_id = d.account_id group by 1
	), charged as (
		update credit_accounts a set held_nanos = a.held_nanos - p.leased,
			posted_nanos = a.posted_nanos - p.leased - least(p.cost - p.leased, o.posted_nanos - o.held_nanos)
		from parts p join credit_accounts o on o.id = p.account_id and o.kind = 'customer'
		where a.id = o.id and p.cost > 0
		returning a.id, a.posted_nanos as posted, p.leased + least(p.cost - p.leased, o.posted_nanos - o.held_nanos) as paid
	)
	select array_agg(p.account_id order by p.account_id), array_agg(coalesce(c.paid, 0) order by p.account_id),
		array_agg(c.posted order by p.account_id), array_agg(p.cost - coalesce(c.paid, 0) order by p.account_id), sum(p.late)
	into v_ids, v_paid, v_posted, v_short, late
	from parts p left join charged c on c.id = p.account_id;
	for i in 1..cardinality(v_ids) loop
		if v_short[i] > 0 then
			p_records := forgive(p_records, v_ids[i], v_short[i]);
		end if;
	end loop;
	perform count_usage(p_records);
	perform spend_budgets(p_records, p_at);
	perform draw_due(v_ids, v_paid);
	select coalesce(sum(r.overrun_nanos), 0), count(*) filter (where r.overrun_nanos > 0) into v_lost, overruns from unnest(p_records) r;
	perform post_charges(p_transaction, p_ref, p_at, v_ids, v_paid, v_posted, v_lost);
end $$;
-- +goose StatementEnd

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
		v_records := array(select r from jsonb_populate_recordset(null::usage_records, p_records) r);
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
create or replace function grant_credit(
	p_id text, p_account text, p_kind text, p_priority integer, p_amount bigint, p_expires timestamptz, p_source text,
	p_from text, p_transaction text, p_at timestamptz, p_meta jsonb
) returns boolean language plpgsql as $$
declare
	v_posted bigint;
	v_owed   bigint := 0;
begin
	insert into ledger_transactions (id, kind, ref, at, meta)
	values (p_transaction, case p_kind when 'adjustment' then p_kind else 'grant' end, p_source, p_at, p_meta)
	on conflict (kind, ref) do nothing;
	if not found then
		return false;
	end if;
	select posted_nanos into v_posted from credit_accounts where id = p_account and kind = 'customer' for no key update;
	if not found then
		raise exception 'account % is not a customer', p_account using errcode = 'no_data_found';
	end if;
	if p_kind = 'purchased' then
		select least(owed_nanos, p_amount) into v_owed from receivables where account_id = p_account and owed_nanos > 0;
		v_owed := coalesce(v_owed, 0);
		update receivables set owed_nanos = owed_nanos - v_owed where account_id = p_account and v_owed > 0;
	end if;
	v_posted := v_posted + p_amount - v_owed;
	update credit_accounts set posted_nanos = v_posted,
		return_immediately = case when p_kind = 'trial' then return_immediately or v_posted = p_amount else return_immediately and p_amount = v_owed end
	where id = p_account;
	if p_amount > v_owed then
		insert into grants (id, account_id, kind, priority, amount_nanos, remaining_nanos, expires_at, source, created_at)
		values (p_id, p_account, p_kind, p_priority, p_amount - v_owed, p_amount - v_owed, p_expires, p_source, p_at);
	end if;
	insert into ledger_entries (transaction_id, account_id, amount_nanos, posted_after)
	select p_transaction, e.account, e.amount, e.posted
	from (values (1, p_account, p_amount - v_owed, v_posted), (2, 'internal:receivables', v_owed, null),
		(3, p_from, -p_amount, null)) e (place, account, amount, posted)
	where e.amount <> 0 order by e.place;
	return true;
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function leased_nanos(p_credit_account text) returns bigint language sql
stable as $$
	select coalesce(sum(remaining_nanos), 0)::bigint from leases where credit_account_id = p_credit_account and state = 'open'
$$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function recall_leases(p_credit_account text) returns void language plpgsql as $$
begin
	update leases set recall_at = now() where credit_account_id = p_credit_account and state = 'open';
	if found then
		perform pg_notify('lease_recall', p_credit_account);
	end if;
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function set_budget(p_key text, p_account text, p_limit bigint, p_period text, p_start timestamptz) returns boolean language plpgsql as $$
declare
	b key_budgets%rowtype;
begin
	insert into credit_accounts (id, kind, posted_nanos, return_immediately) values (p_key, 'budget', p_limit, false) on conflict (id) do nothing;
	perform from credit_accounts where id = p_key and kind = 'budget' for no key update;
	if not found then
		return false;
	end if;
	select * into b from key_budgets where key_id = p_key;
	if not found then
		update credit_accounts set posted_nanos = greatest(p_limit, held_nanos) where id = p_key;
		insert into key_budgets (key_id, account_id, limit_nanos, period, period_start) values (p_key, p_account, p_limit, p_period, p_start);
		return true;
	end if;
	if b.account_id <> p_account then
		return false;
	end if;
	update credit_accounts set posted_nanos = greatest(held_nanos, p_limit - b.spent_nanos) where id = p_key;
	update key_budgets set limit_nanos = p_limit, period = p_period,
		period_start = case when period = p_period then period_start else p_start end
	where key_id = p_key;
	return true;
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function set_spend_limit(p_account text, p_limit bigint, p_period text, p_start timestamptz) returns boolean language plpgsql as $$
begin
	perform from credit_accounts where id = p_account and kind = 'customer' for no key update;
	if not found then
		return false;
	end if;
	insert into spend_limits as s (account_id, limit_nanos, period, period_start, spent_nanos)
	values (p_account, p_limit, p_period, p_start, (
		select coalesce(sum(u.cost_nanos), 0)::bigint from usage_rollups u where u.account_id = p_account and u.slot >= p_start
	))
	on conflict (account_id) do update set limit_nanos = excluded.limit_nanos, period = excluded.period,
		period_start = excluded.period_start,
		spent_nanos = case when s.period = excluded.period and s.period_start = excluded.period_start then s.spent_nanos
			else excluded.spent_nanos end;
	perform recall_leases(p_account);
	return true;
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function take_lease(
	p_replica text, p_epoch bigint, p_credit_account text, p_need bigint, p_want bigint, out result text,
	out granted bigint, out returned bigint, out spent bigint, out posted bigint, out held bigint,
	out return_immediately boolean, out cap_nanos bigint, out cap_period text, out cap_start timestamptz
) returns record language plpgsql as $$
declare
	v_free  bigint;
	v_grant bigint;
	v_kind  text;
begin
	perform from replicas r where r.id = p_replica and r.epoch = p_epoch and r.state = 'live';
	if not found then
		result := 'fenced';
		return;
	end if;
	select a.posted_nanos, a.held_nanos, a.return_immediately, a.kind into posted, held, return_immediately, v_kind
	from credit_accounts a where a.id = p_credit_account and a.kind <> 'internal' for no key update;
	if not found then
		result := 'unknown';
		return;
	end if;
	perform from accounts a where a.id = p_credit_account and a.frozen_at is not null;
	if found then
		result := 'frozen';
		return;
	end if;
	if v_kind = 'customer' then
		select u.posted, u.cap_nanos, u.cap_period, u.cap_start into posted, cap_nanos, cap_period, cap_start
		from under_limit(p_credit_account, posted, held, clock_timestamp()) u;
	end if;
	v_free := posted - held;
	if v_free < p_need then
		update leases l set recall_at = now()
		where l.credit_account_id = p_credit_account and l.state = 'open' and l.remaining_nanos > 0 and (l.replica_id, l.epoch) <> (p_replica, p_epoch);
		result := 'short';
		if found then
			result := 'elsewhere';
			perform pg_notify('lease_recall', p_credit_account);
		end if;
		return;
	end if;
	v_grant := greatest(p_need, least(p_want, v_free / 2));
	if return_immediately or (v_free - v_grant) / 20 < p_need then
		return_immediately := true;
		v_grant := p_need;
	end if;
	insert into leases as l (replica_id, epoch, credit_account_id, granted_nanos) values (p_replica, p_epoch, p_credit_account, v_grant)
	on conflict (replica_id, epoch, credit_account_id) do update set granted_nanos = l.granted_nanos + v_grant, touched_at = now()
	where l.state = 'open'
	returning l.granted_nanos, l.returned_nanos, l.spent_nanos into granted, returned, spent;
	if not found then
		result := 'fenced';
		return;
	end if;
	update credit_accounts a set held_nanos = a.held_nanos + v_grant where a.id = p_credit_account returning a.held_nanos into held;
	result := 'granted';
end $$;
-- +goose StatementEnd
