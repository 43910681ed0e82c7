-- +goose Up

-- How much an account may spend in a period, beside the budgets of its keys. It narrows the account's own purse, so that leases,
-- which are taken of that purse anyway, keep to it without a step of their own. What was spent belongs to the period that began
-- at period_start; the row is turned to the next one by whatever comes first after that has begun. It is guarded by the account's
-- row of credit_accounts, as leases and grants are.
create table spend_limits (
	account_id   text primary key references credit_accounts (id),
	limit_nanos  bigint not null check (limit_nanos > 0),
	period       text not null check (period in ('day', 'week', 'month')),
	period_start timestamptz not null,
	spent_nanos  bigint not null default 0 check (spent_nanos >= 0)
) with (fillfactor = 50);

-- under_limit is an account's sum as far as its spend limit leaves it, and the limit where that is what leaves less. What leases
-- and jobs hold is theirs, also where a limit was lowered below it.
-- +goose StatementBegin
create function under_limit(
	p_account text, p_posted bigint, p_held bigint, p_at timestamptz,
	out posted bigint, out cap_nanos bigint, out cap_period text, out cap_start timestamptz
) stable language plpgsql as $$
declare
	v_spent bigint;
	v_since timestamptz;
begin
	posted := p_posted;
	select s.limit_nanos, s.period, s.spent_nanos, s.period_start into cap_nanos, cap_period, v_spent, v_since
	from spend_limits s where s.account_id = p_account;
	if not found then
		return;
	end if;
	cap_start := greatest(v_since, date_trunc(cap_period, p_at, 'utc'));
	if cap_start > v_since then
		v_spent := 0;
	end if;
	posted := least(p_posted, greatest(p_held, cap_nanos - v_spent));
	if posted = p_posted then
		cap_nanos := null;
	end if;
end $$;
-- +goose StatementEnd

-- set_spend_limit gives an account a limit or changes it. What was spent of the period stays spent; a period that is new to the
-- limit begins with what the usage of that time has cost already.
-- +goose StatementBegin
create function set_spend_limit(p_account text, p_limit bigint, p_period text, p_start timestamptz) returns boolean language plpgsql as $$
begin
	perform from credit_accounts where id = p_account and kind = 'customer' for no key update;
	if not found then
		return false;
	end if;
	insert into spend_limits as s (account_id, limit_nanos, period, period_start, spent_nanos)
	values (p_account, p_limit, p_period, p_start, (
		select coalesce(sum(u.cost_nanos), 0)::bigint from usage_slots u where u.account_id = p_account and u.slot >= p_start
	))
	on conflict (account_id) do update set limit_nanos = excluded.limit_nanos, period = excluded.period,
		period_start = excluded.period_start,
		spent_nanos = case when s.period = excluded.period and s.period_start = excluded.period_start then s.spent_nanos
			else excluded.spent_nanos end;
	perform recall_leases(p_account);
	return true;
end $$;
-- +goose StatementEnd

drop function take_lease(text, bigint, text, bigint, bigint);

-- take_lease grants credit of a purse: what is wanted or half of what is free, whichever is less, and never below the
-- need. An exact purse, or one that would soon be empty, gives the need alone. When it has too little, the replicas that
-- hold some of it are asked to give it back. A replica that is lost meanwhile leaves its lease to the next reaping. What an
-- account's spend limit does not leave is not there; cap_nanos says that it is the limit that leaves less.
-- +goose StatementBegin
create function take_lease(
	p_replica text, p_epoch bigint, p_purse text, p_need bigint, p_want bigint,
	out result text, out granted bigint, out returned bigint, out spent bigint, out posted bigint, out held bigint, out exact boolean,
	out cap_nanos bigint, out cap_period text, out cap_start timestamptz
) language plpgsql as $$
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
	select a.posted_nanos, a.held_nanos, a.exact, a.kind into posted, held, exact, v_kind
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
	if v_kind = 'customer' then
		select u.posted, u.cap_nanos, u.cap_period, u.cap_start into posted, cap_nanos, cap_period, cap_start
		from under_limit(p_purse, posted, held, clock_timestamp()) u;
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

drop function hold_job(text, text, text, bigint, timestamptz);

-- hold_job reserves all that a job can cost, or says in short whose credit is too small: the account's, what its spend limit
-- leaves, or the budget's. It returns no row for an unknown account, and passes over a budget that is gone.
-- +goose StatementBegin
create function hold_job(p_id text, p_account text, p_budget text, p_want bigint, p_expires timestamptz)
returns table (short text, posted bigint, held bigint, cap_nanos bigint, cap_period text, cap_start timestamptz) language plpgsql as $$
begin
	perform from credit_accounts a where a.id in (p_account, p_budget) order by a.id for no key update;
	select a.posted_nanos, a.held_nanos into posted, held from credit_accounts a where a.id = p_account and a.kind = 'customer';
	if not found then
		return;
	end if;
	select u.posted, u.cap_nanos, u.cap_period, u.cap_start into posted, cap_nanos, cap_period, cap_start
	from under_limit(p_account, posted, held, clock_timestamp()) u;
	if posted - held < p_want then
		short := case when cap_nanos is null then 'account' else 'limit' end;
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

-- post_charges writes the one ledger transaction of charges that accounts have paid, at their sums after it, and counts them
-- towards the accounts' spend limits. A limit never keeps a charge from the books. The caller holds the accounts' rows.
-- +goose StatementBegin
create or replace function post_charges(
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
	update spend_limits s set
		spent_nanos = c.amount + case when s.period_start < date_trunc(s.period, p_at, 'utc') then 0 else s.spent_nanos end,
		period_start = greatest(s.period_start, date_trunc(s.period, p_at, 'utc'))
	from unnest(p_accounts, p_amounts) c (account, amount) where s.account_id = c.account and c.amount > 0;
end $$;
-- +goose StatementEnd
