-- +goose Up

-- A budget is the spending limit of one API key, kept as a second account: posted is what is left of it in this period,
-- held is what leases have taken. It has no entries and no grants. An exact account is never given more than a call
-- needs, because little or borrowed money must not wait in the memory of a replica.
alter table credit_accounts
	drop constraint credit_accounts_kind_check,
	drop constraint credit_accounts_check,
	drop constraint credit_accounts_check2,
	add constraint credit_accounts_kind check (kind in ('customer', 'internal', 'budget')),
	add constraint credit_accounts_sum check ((kind = 'internal') = (posted_nanos is null)),
	add constraint credit_accounts_covered check (kind = 'internal' or posted_nanos - held_nanos >= 0),
	add column exact boolean not null default false;
insert into credit_accounts (id, kind) values ('internal:receivables', 'internal') on conflict do nothing;
alter table ledger_transactions
	drop constraint ledger_transactions_kind_check,
	add constraint ledger_transactions_kind
		check (kind in ('grant', 'charge', 'reversal', 'refund', 'dispute', 'expiry', 'adjustment'));
alter table accounts add column frozen_reason text not null default '';

-- key_budgets says which key has a budget and when it is refilled. Its credit account has the key's id.
create table key_budgets (
	key_id       text primary key references credit_accounts (id),
	account_id   text not null references credit_accounts (id),
	limit_nanos  bigint not null check (limit_nanos > 0),
	period       text not null check (period in ('total', 'day', 'week', 'month')),
	period_start timestamptz not null,
	spent_nanos  bigint not null default 0 -- in this period
);

-- A run of a gateway's process. A later run of the same replica has a higher epoch, and one that was silent for too long
-- is lost: what it then writes changes nothing but late charges.
create table replicas (
	id           text primary key,
	epoch        bigint not null check (epoch > 0),
	state        text not null default 'live' check (state in ('live', 'lost', 'ended')),
	started_at   timestamptz not null default now(),
	heartbeat_at timestamptz not null default now()
);

-- How far the journal of a replica is applied, and from where it must be read again after a crash: the first mark of the
-- oldest call that was still open.
create table journal_cursors (
	replica_id  text primary key references replicas (id),
	applied_lsn bigint not null default 0 check (applied_lsn >= 0),
	open_lsn    bigint not null default 0 check (open_lsn >= 0)
);

-- Credit that a run of a replica may spend without asking: of an account, or of a key's budget. The three sums only
-- grow, so that repeating a step whose outcome is unknown changes nothing. What is left of it is part of the purse's
-- held_nanos.
create table leases (
	replica_id      text not null references replicas (id),
	epoch           bigint not null,
	purse_id        text not null references credit_accounts (id),
	granted_nanos   bigint not null default 0 check (granted_nanos >= 0),
	returned_nanos  bigint not null default 0 check (returned_nanos >= 0),
	spent_nanos     bigint not null default 0 check (spent_nanos >= 0),
	remaining_nanos bigint not null generated always as (granted_nanos - returned_nanos - spent_nanos) stored check (remaining_nanos >= 0),
	state           text not null default 'open' check (state in ('open', 'closed', 'reclaimed')),
	recall_at       timestamptz,
	touched_at      timestamptz not null default now(),
	primary key (replica_id, epoch, purse_id)
) with (fillfactor = 50);

create index leases_purse on leases (purse_id) where state = 'open';

-- What calls that still run have delivered, for replicas that keep their journal in this database.
create table call_marks (
	request_id text primary key,
	replica_id text not null references replicas (id),
	epoch      bigint not null,
	record     jsonb not null
);

create index call_marks_replica on call_marks (replica_id, epoch);

-- One row a request, kept by months. cost is what the account paid, overrun what the call cost beyond it and the platform
-- bore; reason is the row of the settlement table that decided it, and transaction_id the ledger's transaction that has
-- the charge, with those of other requests of the same batch. Nothing is charged twice: a request begins on one day only.
alter table usage_records rename to usage_records_whole;
alter index usage_records_account rename to usage_records_whole_account;
alter table usage_records_whole rename constraint usage_records_pkey to usage_records_whole_pkey;

create table usage_records (
	request_id         text not null,
	day                date not null,
	account_id         text not null,
	key_id             text not null,
	budget_id          text not null default '',
	model              text not null,
	provider           text not null,
	upstream_model     text not null,
	style              text not null,
	rate_card_id       text not null,
	end_user           text not null,
	finish_reason      text not null,
	error_code         text not null,
	outcome            text not null,
	reason             text not null,
	streamed           boolean not null,
	estimated          boolean not null,
	attempts           integer not null check (attempts >= 0),
	input_tokens       bigint not null check (input_tokens >= 0),
	cache_read_tokens  bigint not null check (cache_read_tokens >= 0),
	cache_write_tokens bigint not null check (cache_write_tokens >= 0),
	output_tokens      bigint not null check (output_tokens >= 0),
	reasoning_tokens   bigint not null check (reasoning_tokens >= 0),
	images             bigint not null check (images >= 0),
	milliseconds       bigint not null check (milliseconds >= 0),
	characters         bigint not null check (characters >= 0),
	requests           bigint not null check (requests >= 0),
	reserved_nanos     bigint not null,
	cost_nanos         bigint not null check (cost_nanos between 0 and reserved_nanos),
	overrun_nanos      bigint not null check (overrun_nanos >= 0),
	started_at         timestamptz not null,
	first_byte_micros  bigint not null check (first_byte_micros >= 0),
	duration_micros    bigint not null check (duration_micros >= 0),
	settled_at         timestamptz not null,
	replica_id         text not null default '',
	epoch              bigint not null default 0,
	transaction_id     text not null default '',
	primary key (day, request_id)
) partition by range (day);

create index usage_records_account on usage_records (account_id, started_at desc, request_id desc);
create index usage_records_request on usage_records (request_id);
create index usage_records_transaction on usage_records (transaction_id, account_id);

-- What an account used and paid in a quarter of an hour of UTC, which is where the days of every time zone begin and end.
-- These sums outlive the records.
create table usage_slots (
	account_id         text not null,
	slot               timestamptz not null,
	key_id             text not null,
	model              text not null,
	style              text not null,
	reason             text not null,
	requests           bigint not null,
	streamed           bigint not null,
	input_tokens       bigint not null,
	cache_read_tokens  bigint not null,
	cache_write_tokens bigint not null,
	output_tokens      bigint not null,
	reasoning_tokens   bigint not null,
	images             bigint not null,
	milliseconds       bigint not null,
	characters         bigint not null,
	cost_nanos         bigint not null,
	overrun_nanos      bigint not null,
	first_byte_micros  bigint not null,
	duration_micros    bigint not null,
	failed             bigint not null, -- that neither succeeded nor were left by their client
	billed_requests    bigint not null, -- what calls were billed by
	primary key (account_id, slot, key_id, model, style, reason)
) with (fillfactor = 70);

create table usage_records_default partition of usage_records default;

-- Since when records are kept. Sums from before then have no records to compare with.
create table usage_kept (
	one   boolean primary key default true check (one),
	since date not null
);
insert into usage_kept (since) values ('2000-01-01');

-- What an account owes, because credit that it had spent was taken back. The next credit it buys pays this first.
create table receivables (
	account_id text primary key references credit_accounts (id),
	owed_nanos bigint not null check (owed_nanos >= 0)
);

-- Credit is drawn by priority, then what expires first, then what is oldest: the trial, what was given, what was bought.
update grants set priority = case kind when 'trial' then 10 when 'purchased' then 30 else 20 end where priority = 50;
update credit_accounts a set exact = true
where a.kind = 'customer' and exists (select from grants g where g.account_id = a.id and g.kind = 'trial')
	and not exists (select from grants g where g.account_id = a.id and g.kind = 'purchased');

-- make_usage_months makes the partitions of the months that a range of days touches, and moves in what had to go
-- elsewhere meanwhile. It says how many it made. Several replicas may call it at once.
-- +goose StatementBegin
create function make_usage_months(p_from date, p_to date) returns integer language plpgsql as $$
declare
	v_month date;
	v_name  text;
	v_count integer := 0;
begin
	perform pg_advisory_xact_lock(hashtext('usage_records'));
	for v_month in select generate_series(date_trunc('month', p_from::timestamp), p_to::timestamp, interval '1 month')::date loop
		v_name := 'usage_records_' || to_char(v_month, 'YYYYMM');
		continue when to_regclass(v_name) is not null;
		execute format('create table %I (like usage_records including defaults including constraints)', v_name);
		execute format('with moved as (delete from usage_records_default where day >= %L and day < %L returning *) insert into %I select * from moved',
			v_month, v_month + interval '1 month', v_name);
		execute format('alter table usage_records attach partition %I for values from (%L) to (%L)',
			v_name, v_month, (v_month + interval '1 month')::date);
		v_count := v_count + 1;
	end loop;
	return v_count;
end $$;
-- +goose StatementEnd

-- drop_usage_months drops the records of whole months that ended before a day, and says how many months. Their sums stay.
-- +goose StatementBegin
create function drop_usage_months(p_before date) returns integer language plpgsql as $$
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
		update usage_kept set since = v_first where since < v_first;
	end if;
	return v_count;
end $$;
-- +goose StatementEnd

-- count_usage adds records to the sums of their quarter hours. The caller holds their accounts' rows.
-- +goose StatementBegin
create function count_usage(p_records usage_records[]) returns void language sql as $$
	insert into usage_slots as s
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

-- Until now each request had a ledger transaction of its own, whose reference was the request.
select make_usage_months(coalesce((select min(started_at at time zone 'utc')::date from usage_records_whole), now()::date),
	(now() at time zone 'utc' + interval '2 months')::date);

insert into usage_records
select r.request_id, (r.started_at at time zone 'utc')::date, r.account_id, r.key_id, '', r.model, r.provider, r.upstream_model,
	r.style, r.rate_card_id, r.end_user, r.finish_reason, r.error_code, r.outcome, r.outcome, r.streamed, r.estimated, r.attempts,
	r.input_tokens, r.cache_read_tokens, r.cache_write_tokens, r.output_tokens, r.reasoning_tokens, r.images, r.milliseconds,
	r.characters, r.requests, r.reserved_nanos, r.cost_nanos, r.overrun_nanos, r.started_at, r.first_byte_micros,
	r.duration_micros, r.settled_at, '', 0, coalesce(t.id, '')
from usage_records_whole r left join ledger_transactions t on t.kind = 'charge' and t.ref = r.request_id;

select count_usage(array(select r from usage_records r));

drop table usage_records_whole;
drop function settle_hold(text, text, bigint, text, timestamptz, jsonb, boolean);
drop function reverse_charge(text, text, text, timestamptz);
drop function take_hold(text, text, bigint, bigint, bigint);

-- Everything that moves the money of an account or a budget locks its row of credit_accounts first, several in the order
-- of their ids. That row guards the leases, grants, records and sums of the account, so these need no order of their own.

-- draw_due takes what is due of accounts from their grants, in the order of draw-down.
-- +goose StatementBegin
create function draw_due(p_accounts text[], p_amounts bigint[]) returns void language plpgsql as $$
declare
	v_drawn numeric;
	v_due   numeric;
begin
	with due as (
		select account, amount from unnest(p_accounts, p_amounts) d (account, amount) where amount > 0
	), drawn as (
		update grants g set remaining_nanos = g.remaining_nanos - d.take
		from (
			select id, least(remaining_nanos, amount - before) as take
			from (
				select g.id, g.remaining_nanos, d.amount, sum(g.remaining_nanos) over (
					partition by g.account_id order by g.priority, g.expires_at nulls last, g.kind = 'purchased', g.created_at, g.id
				) - g.remaining_nanos as before
				from due d join grants g on g.account_id = d.account and not g.spent
			) o where before < amount
		) d where d.id = g.id returning d.take
	)
	select (select sum(take) from drawn), (select sum(amount) from due) into v_drawn, v_due;
	if v_drawn is distinct from v_due then
		raise exception 'the grants of % accounts are % nano-dollars short of their balances', cardinality(p_accounts), v_due - coalesce(v_drawn, 0)
			using errcode = 'check_violation';
	end if;
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function draw_grants(p_account text, p_amount bigint) returns void language sql as $$
	select draw_due(array[p_account], array[p_amount])
$$;
-- +goose StatementEnd

-- register_replica begins a run. The leases of the runs before it stay, until their settlements are applied.
-- +goose StatementBegin
create function register_replica(p_id text, out epoch bigint, out applied bigint, out open bigint) language plpgsql as $$
begin
	insert into replicas as r (id, epoch) values (p_id, 1)
	on conflict (id) do update set epoch = r.epoch + 1, state = 'live', started_at = now(), heartbeat_at = now()
	returning r.epoch into register_replica.epoch;
	insert into journal_cursors (replica_id) values (p_id) on conflict do nothing;
	select c.applied_lsn, c.open_lsn into applied, open from journal_cursors c where c.replica_id = p_id for update;
end $$;
-- +goose StatementEnd

-- take_lease grants credit of a purse: what is wanted or half of what is free, whichever is less, and never below the
-- need. An exact purse, or one that would soon be empty, gives the need alone. When it has too little, the replicas that
-- hold some of it are asked to give it back. A replica that is lost meanwhile leaves its lease to the next reaping.
-- +goose StatementBegin
create function take_lease(
	p_replica text, p_epoch bigint, p_purse text, p_need bigint, p_want bigint,
	out result text, out granted bigint, out returned bigint, out spent bigint, out posted bigint, out held bigint, out exact boolean
) language plpgsql as $$
declare
	v_free  bigint;
	v_grant bigint;
begin
	perform from replicas r where r.id = p_replica and r.epoch = p_epoch and r.state = 'live';
	if not found then
		result := 'fenced';
		return;
	end if;
	select a.posted_nanos, a.held_nanos, a.exact into posted, held, exact
	from credit_accounts a where a.id = p_purse and a.kind <> 'internal' for no key update;
	if not found then
		result := 'unknown';
		return;
	end if;
	perform from accounts a where a.id = p_purse and a.frozen_at is not null;
	if found then
		result := 'frozen';
		return;
	end if;
	v_free := posted - held;
	if v_free < p_need then
		update leases l set recall_at = now()
		where l.purse_id = p_purse and l.state = 'open' and l.remaining_nanos > 0 and (l.replica_id, l.epoch) <> (p_replica, p_epoch);
		result := 'short';
		if found then
			result := 'elsewhere';
			perform pg_notify('lease_recall', p_purse);
		end if;
		return;
	end if;
	v_grant := greatest(p_need, least(p_want, v_free / 2));
	if exact or (v_free - v_grant) / 20 < p_need then
		exact := true;
		v_grant := p_need;
	end if;
	insert into leases as l (replica_id, epoch, purse_id, granted_nanos) values (p_replica, p_epoch, p_purse, v_grant)
	on conflict (replica_id, epoch, purse_id) do update set granted_nanos = l.granted_nanos + v_grant, touched_at = now()
	where l.state = 'open'
	returning l.granted_nanos, l.returned_nanos, l.spent_nanos into granted, returned, spent;
	if not found then
		result := 'fenced';
		return;
	end if;
	update credit_accounts a set held_nanos = a.held_nanos + v_grant where a.id = p_purse returning a.held_nanos into held;
	result := 'granted';
end $$;
-- +goose StatementEnd

-- return_lease gives back so much that the returned sum is at least a total. A lease that is closed has nothing left.
-- +goose StatementBegin
create function return_lease(
	p_replica text, p_epoch bigint, p_purse text, p_total bigint,
	out result text, out granted bigint, out returned bigint, out spent bigint, out posted bigint, out held bigint, out exact boolean
) language plpgsql as $$
declare
	v_back bigint;
begin
	select a.posted_nanos, a.held_nanos, a.exact into posted, held, exact
	from credit_accounts a where a.id = p_purse and a.kind <> 'internal' for no key update;
	select l.granted_nanos, l.returned_nanos, l.spent_nanos, least(greatest(p_total - l.returned_nanos, 0), l.remaining_nanos)
	into granted, returned, spent, v_back
	from leases l join replicas r on r.id = l.replica_id and r.epoch = l.epoch and r.state = 'live'
	where l.replica_id = p_replica and l.epoch = p_epoch and l.purse_id = p_purse and l.state = 'open';
	if not found then
		result := 'fenced';
		return;
	end if;
	result := 'returned';
	update leases l set returned_nanos = l.returned_nanos + v_back, recall_at = null, touched_at = now()
	where l.replica_id = p_replica and l.epoch = p_epoch and l.purse_id = p_purse and (v_back > 0 or l.recall_at is not null);
	if v_back > 0 then
		returned := returned + v_back;
		update credit_accounts a set held_nanos = a.held_nanos - v_back where a.id = p_purse returning a.held_nanos into held;
	end if;
end $$;
-- +goose StatementEnd

-- close_leases ends at most p_limit leases of a replica's runs up to an epoch, gives back what is left of them and says
-- how many there were.
-- +goose StatementBegin
create function close_leases(p_replica text, p_epoch bigint, p_state text, p_limit integer) returns integer language plpgsql as $$
declare
	v_purses text[] := array(
		select distinct purse_id from leases where replica_id = p_replica and epoch <= p_epoch and state = 'open' order by purse_id limit p_limit);
	v_count  integer;
begin
	perform from credit_accounts where id = any(v_purses) order by id for no key update;
	with closed as (
		update leases l set returned_nanos = l.granted_nanos - l.spent_nanos, state = p_state, recall_at = null, touched_at = now()
		from (
			select replica_id, epoch, purse_id, remaining_nanos as rest from leases
			where replica_id = p_replica and epoch <= p_epoch and state = 'open' and purse_id = any(v_purses)
		) o
		where l.replica_id = o.replica_id and l.epoch = o.epoch and l.purse_id = o.purse_id
		returning l.purse_id, o.rest
	), back as (
		update credit_accounts a set held_nanos = a.held_nanos - c.rest
		from (select purse_id, sum(rest)::bigint as rest from closed group by purse_id) c where a.id = c.purse_id
	)
	select count(*) from closed into v_count;
	return v_count;
end $$;
-- +goose StatementEnd

-- lose_replicas marks the runs that were silent for so long as lost and says how many. Silence is measured by this clock
-- alone, because those of the replicas may differ.
-- +goose StatementBegin
create function lose_replicas(p_silent interval) returns integer language plpgsql as $$
declare
	v_count integer;
begin
	with silent as (
		select id from replicas where state = 'live' and heartbeat_at < now() - p_silent order by id for update skip locked
	), lost as (
		update replicas r set state = 'lost' from silent s where r.id = s.id returning r.id
	)
	select count(*) from lost into v_count;
	return v_count;
end $$;
-- +goose StatementEnd

-- post_charges writes the one ledger transaction of charges that accounts have paid, at their sums after it.
-- +goose StatementBegin
create function post_charges(
	p_transaction text, p_ref text, p_at timestamptz, p_accounts text[], p_amounts bigint[], p_posted bigint[], p_overrun bigint
) returns void language plpgsql as $$
declare
	v_paid bigint := (select coalesce(sum(amount), 0) from unnest(p_amounts) amount);
begin
	if v_paid + p_overrun = 0 then
		return;
	end if;
	insert into ledger_transactions (id, kind, ref, at) values (p_transaction, 'charge', p_ref, p_at);
	insert into ledger_entries (transaction_id, account_id, amount_nanos, posted_after)
	select p_transaction, e.account, e.amount, e.posted
	from (
		select 1 as place, account, -amount as amount, posted from unnest(p_accounts, p_amounts, p_posted) c (account, amount, posted)
		union all select 2, 'internal:usage_revenue', v_paid + p_overrun, null
		union all select 3, 'internal:platform_loss', -p_overrun, null
	) e where e.amount <> 0 order by e.place, e.account;
end $$;
-- +goose StatementEnd

-- spend_budgets takes what records cost from the budgets of their keys: from the run's own lease, then from what is free.
-- A budget never keeps a charge from the books, so what it cannot pay is let go. The caller holds the budgets' rows.
-- +goose StatementBegin
create function spend_budgets(p_records usage_records[], p_at timestamptz) returns void language sql as $$
	with due as (
		select r.replica_id, r.epoch, r.budget_id, sum(r.cost_nanos)::bigint as cost
		from unnest(p_records) r where r.budget_id <> '' and r.cost_nanos > 0 group by 1, 2, 3
	), paid as (
		update leases l set spent_nanos = l.spent_nanos + least(d.cost, l.remaining_nanos), touched_at = p_at
		from due d, (select replica_id, epoch, purse_id, remaining_nanos from leases) o
		where l.replica_id = d.replica_id and l.epoch = d.epoch and l.purse_id = d.budget_id and l.state = 'open'
			and o.replica_id = d.replica_id and o.epoch = d.epoch and o.purse_id = d.budget_id
		returning l.replica_id, l.epoch, l.purse_id, least(d.cost, o.remaining_nanos) as cost
	), parts as (
		select d.budget_id, sum(coalesce(p.cost, 0))::bigint as leased, sum(d.cost)::bigint as cost
		from due d left join paid p on p.replica_id = d.replica_id and p.epoch = d.epoch and p.purse_id = d.budget_id group by 1
	), counted as (
		update key_budgets k set spent_nanos = k.spent_nanos + p.cost from parts p where k.key_id = p.budget_id
	)
	update credit_accounts a set held_nanos = a.held_nanos - p.leased,
		posted_nanos = a.posted_nanos - p.leased - least(p.cost - p.leased, a.posted_nanos - a.held_nanos)
	from parts p where a.id = p.budget_id and a.kind = 'budget'
$$;
-- +goose StatementEnd

-- forgive lowers what records of an account cost, the last first, by what the account could not pay. The platform bears it.
-- +goose StatementBegin
create function forgive(p_records usage_records[], p_account text, p_short bigint) returns usage_records[] language plpgsql as $$
declare
	v_left bigint := p_short;
	v_less bigint;
	r      usage_records;
begin
	for i in reverse cardinality(p_records)..1 loop
		exit when v_left = 0;
		r := p_records[i];
		continue when r.account_id <> p_account or r.cost_nanos = 0;
		v_less := least(v_left, r.cost_nanos);
		v_left := v_left - v_less;
		r.cost_nanos := r.cost_nanos - v_less;
		r.overrun_nanos := r.overrun_nanos + v_less;
		p_records[i] := r;
		update usage_records u set cost_nanos = r.cost_nanos, overrun_nanos = r.overrun_nanos
		where u.day = r.day and u.request_id = r.request_id;
	end loop;
	return p_records;
end $$;
-- +goose StatementEnd

-- keep_records inserts the records that are not there yet and returns them, in order.
-- +goose StatementBegin
create function keep_records(p_records usage_records[], p_transaction text, p_at timestamptz) returns usage_records[] language plpgsql as $$
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
			case when r.cost_nanos + r.overrun_nanos > 0 then p_transaction else '' end
		from unnest(p_records) r
		on conflict do nothing
		returning u
	)
	select array_agg(u) into v_new from kept;
	return coalesce(v_new, '{}');
end $$;
-- +goose StatementEnd

-- charge_accounts takes what new records cost from the leases that held it, and what these have not from what is free.
-- It says how many records had no lease and how many cost more than was paid. The caller holds all the rows.
-- +goose StatementBegin
create function charge_accounts(
	p_records usage_records[], p_ref text, p_transaction text, p_at timestamptz, out late bigint, out overruns bigint
) language plpgsql as $$
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
		from due d join leases o on o.replica_id = d.replica_id and o.epoch = d.epoch and o.purse_id = d.account_id and o.state = 'open'
		where l.replica_id = o.replica_id and l.epoch = o.epoch and l.purse_id = o.purse_id
		returning l.replica_id, l.epoch, l.purse_id, least(d.cost, o.remaining_nanos) as cost
	), parts as (
		select d.account_id, sum(coalesce(l.cost, 0))::bigint as leased, sum(d.cost)::bigint as cost,
			coalesce(sum(d.records) filter (where l.purse_id is null), 0)::bigint as late
		from due d left join leased l on l.replica_id = d.replica_id and l.epoch = d.epoch and l.purse_id = d.account_id group by 1
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

-- apply_settlements charges a batch of records, each once: those that are there already change nothing. With a journal
-- the batch moves its cursor, and changes nothing when the cursor is elsewhere. What a record costs is paid from the lease
-- that held it. Where that is gone, reclaimed from a run that was lost, it is paid from what is free, and the platform
-- bears the rest. Marks are kept for calls that still run, where there is no journal.
-- +goose StatementBegin
create function apply_settlements(
	p_replica text, p_epoch bigint, p_from bigint, p_to bigint, p_open bigint, p_records jsonb, p_marks jsonb,
	p_transaction text, p_at timestamptz,
	out result text, out applied bigint, out late bigint, out overruns bigint
) language plpgsql as $$
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
		insert into call_marks as m (request_id, replica_id, epoch, record)
		select r.request_id, r.replica_id, r.epoch, j.value
		from jsonb_array_elements(p_marks) j, jsonb_populate_record(null::usage_records, j.value) r
		where not exists (select from usage_records u where u.day = r.day and u.request_id = r.request_id)
		order by r.request_id
		on conflict (request_id) do update set record = excluded.record;
		delete from call_marks m using jsonb_array_elements(p_records) j where m.request_id = j.value ->> 'request_id';
	end if;
end $$;
-- +goose StatementEnd

-- The credit of a job that outlives its request is held of its account, and of the budget of the key that asked for it.
alter table holds add column budget_id text not null default '';

-- hold_job reserves all that a job can cost, or says in short whose credit is too small. It returns no row for an unknown
-- account, and passes over a budget that is gone.
-- +goose StatementBegin
create function hold_job(p_id text, p_account text, p_budget text, p_want bigint, p_expires timestamptz)
returns table (short text, posted bigint, held bigint) language plpgsql as $$
begin
	perform from credit_accounts a where a.id in (p_account, p_budget) order by a.id for no key update;
	select a.posted_nanos, a.held_nanos into posted, held from credit_accounts a where a.id = p_account and a.kind = 'customer';
	if not found then
		return;
	end if;
	if posted - held < p_want then
		short := 'account';
		return next;
		return;
	end if;
	perform from accounts a where a.id = p_account and a.frozen_at is not null;
	if found then
		short := 'frozen';
		return next;
		return;
	end if;
	update credit_accounts a set held_nanos = a.held_nanos + p_want
	where a.id = p_budget and a.kind = 'budget' and a.posted_nanos - a.held_nanos >= p_want
		and exists (select from key_budgets where key_id = p_budget);
	if not found then
		perform from key_budgets where key_id = p_budget;
		if found then
			select a.posted_nanos, a.held_nanos into posted, held from credit_accounts a where a.id = p_budget;
			short := 'budget';
			return next;
			return;
		end if;
		p_budget := '';
	end if;
	update credit_accounts a set held_nanos = a.held_nanos + p_want where a.id = p_account returning a.held_nanos into held;
	insert into holds (id, account_id, budget_id, amount_nanos, expires_at)
	values (p_id, p_account, p_budget, p_want, p_expires);
	short := '';
	return next;
end $$;
-- +goose StatementEnd

-- settle_hold closes the hold of a job at its cost: up to the hold from the account, the rest from the platform. A hold
-- that was settled before stays as it is and its outcome is returned. One that expired meanwhile has lost its
-- reservation, so it is charged from what is free now, never below zero.
-- +goose StatementBegin
create function settle_hold(
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
	v_records := keep_records(array[jsonb_populate_record(null::usage_records, p_record || jsonb_build_object(
		'request_id', p_hold, 'account_id', p_account, 'budget_id', h.budget_id,
		'reserved_nanos', h.amount_nanos, 'cost_nanos', charged, 'overrun_nanos', overrun))], p_transaction, p_at);
	perform count_usage(v_records);
	perform post_charges(p_transaction, p_hold, p_at, array[p_account], array[charged], array[v_posted], overrun);
end $$;
-- +goose StatementEnd

drop function release_expired_holds(integer);

-- release_expired_holds returns the credit of at most p_limit holds that nobody settled in time, and says how many.
-- Several replicas may run it at once.
-- +goose StatementBegin
create function release_expired_holds(p_limit integer, p_at timestamptz) returns bigint language plpgsql as $$
declare
	v_count bigint;
	v_ids   text[];
	v_sums  bigint[];
begin
	with due as (
		select id from holds where state = 'open' and expires_at <= p_at
		order by expires_at limit p_limit for update skip locked
	), closed as (
		update holds h set state = 'released', reason = 'expired', closed_at = p_at
		from due where h.id = due.id returning h.account_id, h.budget_id, h.amount_nanos
	), sums as (
		select id, sum(amount_nanos)::bigint as amount, sum(holds) as holds
		from (
			select account_id as id, amount_nanos, 1 as holds from closed
			union all select budget_id, amount_nanos, 0 from closed where budget_id <> ''
		) c group by id
	)
	select coalesce(sum(holds), 0), array_agg(id order by id), array_agg(amount order by id) into v_count, v_ids, v_sums from sums;
	perform from credit_accounts a where a.id = any(v_ids) order by a.id for no key update;
	update credit_accounts a set held_nanos = a.held_nanos - s.amount
	from unnest(v_ids, v_sums) s (id, amount) where a.id = s.id;
	return v_count;
end $$;
-- +goose StatementEnd

-- grant_credit adds prepaid money once per source and says whether it did. What is bought pays first what the account owes.
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
		exact = case when p_kind = 'trial' then exact or v_posted = p_amount else exact and p_amount = v_owed end
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

-- take_credit takes credit back, once per reference: what is free now, and where p_owing says so the rest is owed. It is
-- drawn from the grant it came from first, then from what was bought, the youngest first. It says whether it did, and
-- what it took and what is owed of it. Without p_owing it takes all or nothing.
-- +goose StatementBegin
create function take_credit(
	p_account text, p_amount bigint, p_kind text, p_ref text, p_grant text, p_to text, p_owing boolean,
	p_transaction text, p_at timestamptz, p_meta jsonb, out done boolean, out taken bigint, out owed bigint, out free bigint
) language plpgsql as $$
declare
	v_posted bigint;
	v_due    bigint;
	v_take   bigint;
	g        record;
begin
	insert into ledger_transactions (id, kind, ref, at, meta) values (p_transaction, p_kind, p_ref, p_at, p_meta)
	on conflict (kind, ref) do nothing;
	done := found;
	if not done then
		return;
	end if;
	select posted_nanos, posted_nanos - held_nanos into v_posted, free
	from credit_accounts where id = p_account and kind = 'customer' for no key update;
	if not found then
		raise exception 'account % is not a customer', p_account using errcode = 'no_data_found';
	end if;
	taken := least(p_amount, free);
	owed := p_amount - taken;
	if owed > 0 and not p_owing then
		raise exception 'account % has % nano-dollars free', p_account, free using errcode = 'UM001';
	end if;
	v_due := taken;
	for g in
		select id, remaining_nanos from grants where account_id = p_account and not spent
		order by source <> p_grant, kind <> 'purchased', created_at desc, id desc
	loop
		exit when v_due = 0;
		v_take := least(v_due, g.remaining_nanos);
		update grants set remaining_nanos = remaining_nanos - v_take where id = g.id;
		v_due := v_due - v_take;
	end loop;
	update credit_accounts set posted_nanos = posted_nanos - taken where id = p_account;
	if owed > 0 then
		insert into receivables as r (account_id, owed_nanos) values (p_account, owed)
		on conflict (account_id) do update set owed_nanos = r.owed_nanos + excluded.owed_nanos;
	end if;
	insert into ledger_entries (transaction_id, account_id, amount_nanos, posted_after)
	select p_transaction, e.account, e.amount, e.posted
	from (values (1, p_account, -taken, v_posted - taken), (2, 'internal:receivables', -owed, null), (3, p_to, p_amount, null))
		e (place, account, amount, posted)
	where e.amount <> 0 order by e.place;
end $$;
-- +goose StatementEnd

-- expire_grant takes back what is left of an expired grant, as far as no lease and no hold counts on it; the rest goes
-- when those have ended. It returns what it took.
-- +goose StatementBegin
create or replace function expire_grant(p_grant text, p_transaction text, p_at timestamptz) returns bigint language plpgsql as $$
declare
	v_account text;
	v_posted  bigint;
	v_take    bigint;
	v_left    bigint;
begin
	select a.id, a.posted_nanos, a.posted_nanos - a.held_nanos into v_account, v_posted, v_take
	from grants g join credit_accounts a on a.id = g.account_id where g.id = p_grant for no key update of a;
	select least(v_take, remaining_nanos), remaining_nanos into v_take, v_left
	from grants where id = p_grant and expires_at <= p_at;
	if not found or v_take = 0 then
		return 0;
	end if;
	update grants set remaining_nanos = remaining_nanos - v_take where id = p_grant;
	update credit_accounts set posted_nanos = posted_nanos - v_take where id = v_account;
	insert into ledger_transactions (id, kind, ref, at) values (p_transaction, 'expiry', p_grant || '/' || v_left, p_at);
	insert into ledger_entries (transaction_id, account_id, amount_nanos, posted_after)
	values (p_transaction, v_account, -v_take, v_posted - v_take), (p_transaction, 'internal:breakage', v_take, null);
	return v_take;
end $$;
-- +goose StatementEnd

-- leased_nanos is what replicas hold of a purse for calls.
-- +goose StatementBegin
create function leased_nanos(p_purse text) returns bigint stable language sql as $$
	select coalesce(sum(remaining_nanos), 0)::bigint from leases where purse_id = p_purse and state = 'open'
$$;
-- +goose StatementEnd

-- recall_leases asks every replica to give back what it does not need of an account.
-- +goose StatementBegin
create function recall_leases(p_purse text) returns void language plpgsql as $$
begin
	update leases set recall_at = now() where purse_id = p_purse and state = 'open';
	if found then
		perform pg_notify('lease_recall', p_purse);
	end if;
end $$;
-- +goose StatementEnd

-- set_budget opens the budget of a key or changes its limit. What was spent of the period stays spent, and what runs
-- stays held, so that a smaller limit leaves at least that.
-- +goose StatementBegin
create function set_budget(p_key text, p_account text, p_limit bigint, p_period text, p_start timestamptz) returns boolean language plpgsql as $$
declare
	b key_budgets%rowtype;
begin
	insert into credit_accounts (id, kind, posted_nanos, exact) values (p_key, 'budget', p_limit, false) on conflict (id) do nothing;
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

-- close_budget ends a key's budget. Its purse stays, for what still runs.
-- +goose StatementBegin
create function close_budget(p_key text, p_account text) returns void language plpgsql as $$
begin
	perform from credit_accounts where id = p_key and kind = 'budget' for no key update;
	delete from key_budgets where key_id = p_key and account_id = p_account;
	if found then
		update credit_accounts set posted_nanos = held_nanos where id = p_key;
		perform recall_leases(p_key);
	end if;
end $$;
-- +goose StatementEnd

-- refill_budgets fills at most p_limit budgets whose period is over, and says how many. What runs stays held.
-- +goose StatementBegin
create function refill_budgets(p_limit integer, p_at timestamptz) returns integer language plpgsql as $$
declare
	v_count integer := 0;
	b       record;
begin
	for b in
		select key_id, limit_nanos, start
		from (select k.*, date_trunc(nullif(k.period, 'total'), p_at, 'utc') as start from key_budgets k) k
		where period_start < start order by key_id limit p_limit
	loop
		perform from credit_accounts where id = b.key_id for no key update;
		update key_budgets set period_start = b.start, spent_nanos = 0 where key_id = b.key_id and period_start < b.start;
		continue when not found;
		update credit_accounts set posted_nanos = greatest(b.limit_nanos, held_nanos) where id = b.key_id;
		v_count := v_count + 1;
	end loop;
	return v_count;
end $$;
-- +goose StatementEnd
