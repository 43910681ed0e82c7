-- +goose Up

-- An account that holds money: a customer, or one of the gateway's own that stand on the other side of each entry.
-- A customer's sums are a cache of the entries, kept in the same transaction and guarded by checks, so that a hold is
-- one conditional update. The gateway's own accounts keep no cached sum: every settlement adds to the revenue, and one
-- row that all of them update would let only one commit at a time. Their balance is the sum of their entries, and as
-- each transaction sums to zero it is also what the customers' sums imply.
create table credit_accounts (
	id           text primary key,
	kind         text not null check (kind in ('customer', 'internal')),
	posted_nanos bigint,
	held_nanos   bigint not null default 0 check (held_nanos >= 0),
	check ((kind = 'customer') = (posted_nanos is not null)),
	check ((kind = 'internal') = (id like 'internal:%')),
	check (kind <> 'customer' or posted_nanos - held_nanos >= 0),
	check (kind <> 'internal' or held_nanos = 0)
) with (fillfactor = 50);

insert into credit_accounts (id, kind) values
	('internal:usage_revenue', 'internal'),
	('internal:payment_clearing', 'internal'),
	('internal:promotions', 'internal'),
	('internal:breakage', 'internal'),
	('internal:platform_loss', 'internal');

create table ledger_transactions (
	id   text primary key,
	kind text not null check (kind in ('grant', 'charge', 'reversal', 'refund', 'expiry', 'adjustment')),
	ref  text not null,
	at   timestamptz not null,
	meta jsonb,
	unique (kind, ref)
);

-- The account has no foreign key, because checking one locks the account's row in share mode: thousands of settlements
-- a second would all lock the revenue account. The balance trigger below looks the account up instead, and accounts
-- can never be deleted. posted_after is the customer's sum after the entry, null on the gateway's own accounts.
create table ledger_entries (
	id             bigint generated always as identity primary key,
	transaction_id text not null references ledger_transactions (id),
	account_id     text not null,
	amount_nanos   bigint not null check (amount_nanos <> 0),
	posted_after   bigint
);

create index ledger_entries_transaction on ledger_entries (transaction_id);
create index ledger_entries_account on ledger_entries (account_id, id);

-- spent changes once in the life of a grant, so drawing from one touches no index.
create table grants (
	id              text primary key,
	account_id      text not null references credit_accounts (id),
	kind            text not null check (kind in ('trial', 'purchased', 'promotional', 'adjustment')),
	priority        smallint not null default 50,
	amount_nanos    bigint not null check (amount_nanos > 0),
	remaining_nanos bigint not null check (remaining_nanos between 0 and amount_nanos),
	spent           boolean not null generated always as (remaining_nanos = 0) stored,
	expires_at      timestamptz,
	source          text not null unique,
	created_at      timestamptz not null
) with (fillfactor = 50);

create index grants_account on grants (account_id) where not spent;
create index grants_expiry on grants (expires_at) where not spent;

-- reason says how a hold was closed. An expired or void hold may still be settled once, late, from what is then free.
-- A hold of nothing is what a call to a free model takes.
create table holds (
	id             text primary key,
	account_id     text not null references credit_accounts (id),
	amount_nanos   bigint not null check (amount_nanos >= 0),
	captured_nanos bigint not null default 0 check (captured_nanos between 0 and amount_nanos),
	state          text not null default 'open' check (state in ('open', 'captured', 'released')),
	reason         text check (reason in ('settled', 'late', 'expired', 'void')),
	created_at     timestamptz not null default now(),
	expires_at     timestamptz not null,
	closed_at      timestamptz,
	check ((state = 'open') = (reason is null)),
	check ((state = 'open') = (closed_at is null)),
	check ((state = 'captured') = (captured_nanos > 0))
) with (fillfactor = 80);

create index holds_expiry on holds (expires_at) where state = 'open';

-- One row a request. cost is what the account paid, overrun what the call cost beyond it and the platform bore.
create table usage_records (
	request_id         text primary key,
	account_id         text not null references credit_accounts (id),
	key_id             text not null,
	model              text not null,
	provider           text not null,
	upstream_model     text not null,
	style              text not null,
	rate_card_id       text not null,
	end_user           text not null,
	finish_reason      text not null,
	error_code         text not null,
	outcome            text not null,
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
	settled_at         timestamptz not null
);

create index usage_records_account on usage_records (account_id, started_at desc, request_id desc);

-- +goose StatementBegin
create function refuse_change() returns trigger language plpgsql as $$
begin
	raise exception '% of % is refused: it is append-only, a correction is another entry', tg_op, tg_table_name
		using errcode = 'restrict_violation';
end $$;
-- +goose StatementEnd

create trigger ledger_entries_append_only before update or delete or truncate on ledger_entries
	for each statement execute function refuse_change();
create trigger ledger_transactions_append_only before update or delete or truncate on ledger_transactions
	for each statement execute function refuse_change();
create trigger credit_accounts_stay before delete or truncate on credit_accounts
	for each statement execute function refuse_change();

-- Double entry: what one account gives another gets, both exist, and it is said in one statement. Checking each
-- statement is stricter than checking at commit and reads nothing twice.
-- +goose StatementBegin
create function check_balanced() returns trigger language plpgsql as $$
declare
	v_transaction text;
	v_sum         numeric;
	v_foreign     bigint;
begin
	select e.transaction_id, sum(e.amount_nanos),
		count(*) filter (where a.id is null or (a.kind = 'customer') <> (e.posted_after is not null))
	into v_transaction, v_sum, v_foreign
	from inserted e left join credit_accounts a on a.id = e.account_id
	group by e.transaction_id order by sum(e.amount_nanos) <> 0 desc, 3 desc limit 1;
	if v_sum <> 0 then
		raise exception 'the entries of transaction % sum to % nano-dollars, not 0', v_transaction, v_sum
			using errcode = 'check_violation';
	end if;
	if v_foreign > 0 then
		raise exception 'transaction % has an entry of an account that does not exist or keeps its sum otherwise', v_transaction
			using errcode = 'foreign_key_violation';
	end if;
	return null;
end $$;
-- +goose StatementEnd

create trigger ledger_entries_balanced after insert on ledger_entries
	referencing new table as inserted for each statement execute function check_balanced();

-- The verbs below lock in one order: the hold, then the account, then its grants, which the account's row guards.
-- Each is one call, so a verb is one round trip and one transaction.

-- take_hold reserves what is free, at most p_want, when that is at least p_min. It returns no row for an unknown
-- account and a null amount when too little is free.
-- +goose StatementBegin
create function take_hold(p_id text, p_account text, p_want bigint, p_min bigint, p_age_seconds bigint)
returns table (amount bigint, posted bigint, held bigint) language plpgsql as $$
begin
	amount := p_want;
	update credit_accounts a set held_nanos = a.held_nanos + p_want
	where a.id = p_account and a.kind = 'customer' and a.posted_nanos - a.held_nanos >= p_want
	returning a.posted_nanos, a.held_nanos into posted, held;
	if not found then
		select a.posted_nanos, a.held_nanos into posted, held
		from credit_accounts a where a.id = p_account and a.kind = 'customer' for no key update;
		if not found then
			return;
		end if;
		if posted - held < p_min then
			amount := null;
			return next;
			return;
		end if;
		amount := least(p_want, posted - held);
		update credit_accounts a set held_nanos = a.held_nanos + amount where a.id = p_account returning a.held_nanos into held;
	end if;
	insert into holds (id, account_id, amount_nanos, expires_at)
	values (p_id, p_account, amount, now() + p_age_seconds * interval '1 second');
	return next;
end $$;
-- +goose StatementEnd

-- draw_grants takes an amount from an account's grants: what expires first goes first, given money before paid money.
-- The caller holds the account's row.
-- +goose StatementBegin
create function draw_grants(p_account text, p_amount bigint) returns void language plpgsql as $$
declare
	v_due  bigint := p_amount;
	v_take bigint;
	g      record;
begin
	for g in
		select id, remaining_nanos from grants where account_id = p_account and not spent
		order by priority, expires_at nulls last, kind = 'purchased', created_at, id
	loop
		exit when v_due = 0;
		v_take := least(v_due, g.remaining_nanos);
		update grants set remaining_nanos = remaining_nanos - v_take where id = g.id;
		v_due := v_due - v_take;
	end loop;
	if v_due > 0 then
		raise exception 'the grants of account % are % nano-dollars short of its balance', p_account, v_due
			using errcode = 'check_violation';
	end if;
end $$;
-- +goose StatementEnd

-- reverse_charge undoes the charge of a settled hold whose answer nobody got: the entries are reversed, the grants get
-- back what was drawn last, and the usage record is removed, for its request is recorded anew. The caller holds the
-- hold's row and closes it.
-- +goose StatementBegin
create function reverse_charge(p_hold text, p_account text, p_transaction text, p_at timestamptz) returns void language plpgsql as $$
declare
	v_cost    bigint;
	v_overrun bigint;
	v_posted  bigint;
	v_due     bigint;
	v_take    bigint;
	g         record;
begin
	delete from usage_records where request_id = p_hold returning cost_nanos, overrun_nanos into v_cost, v_overrun;
	if v_cost + v_overrun = 0 then
		return;
	end if;
	update credit_accounts set posted_nanos = posted_nanos + v_cost where id = p_account returning posted_nanos into v_posted;
	v_due := v_cost;
	for g in
		select id, amount_nanos - remaining_nanos as room from grants where account_id = p_account and remaining_nanos < amount_nanos
		order by priority desc, expires_at desc nulls first, kind <> 'purchased', created_at desc, id desc
	loop
		exit when v_due = 0;
		v_take := least(v_due, g.room);
		update grants set remaining_nanos = remaining_nanos + v_take where id = g.id;
		v_due := v_due - v_take;
	end loop;
	insert into ledger_transactions (id, kind, ref, at) values (p_transaction, 'reversal', p_hold, p_at);
	insert into ledger_entries (transaction_id, account_id, amount_nanos, posted_after)
	select p_transaction, e.account_id, e.amount, e.posted
	from (values (1, p_account, v_cost, v_posted), (2, 'internal:usage_revenue', -v_cost - v_overrun, null),
		(3, 'internal:platform_loss', v_overrun, null)) e (place, account_id, amount, posted)
	where e.amount <> 0 order by e.place;
end $$;
-- +goose StatementEnd

-- settle_hold closes a hold at the cost of its call: up to the hold from the account, the rest from the platform. A
-- hold that was settled before stays as it is and its outcome is returned. A hold that expired meanwhile has lost its
-- reservation, so it is charged from what is free now, never below zero. Without a record it is a hold taken back. With
-- p_undelivered, an earlier settlement at a cost, whose outcome the caller did not learn, is undone and replaced by this
-- one, which must cost nothing.
-- +goose StatementBegin
create function settle_hold(
	p_hold text, p_account text, p_cost bigint, p_transaction text, p_at timestamptz, p_record jsonb, p_undelivered boolean default false,
	out charged bigint, out overrun bigint, out outcome text
) language plpgsql as $$
declare
	h        holds%rowtype;
	v_posted bigint;
begin
	outcome := case when p_record is null then 'void' else 'settled' end;
	update holds set captured_nanos = least(p_cost, amount_nanos), reason = outcome, closed_at = p_at,
		state = case when least(p_cost, amount_nanos) > 0 then 'captured' else 'released' end
	where id = p_hold and account_id = p_account and state = 'open'
	returning * into h;
	if found then
		charged := h.captured_nanos;
		update credit_accounts set posted_nanos = posted_nanos - charged, held_nanos = held_nanos - h.amount_nanos
		where id = p_account returning posted_nanos into v_posted;
	else
		select * into h from holds where id = p_hold and account_id = p_account for update;
		if not found then
			outcome := 'unknown';
			return;
		end if;
		if p_undelivered and h.captured_nanos > 0 then
			outcome := 'reversed';
			charged := 0;
			perform reverse_charge(p_hold, p_account, p_transaction, p_at);
			update holds set captured_nanos = 0, state = 'released' where id = p_hold;
		elsif h.reason in ('settled', 'late') or p_record is null then
			charged := h.captured_nanos;
			outcome := 'repeated';
			return;
		else
			outcome := 'late';
			select least(p_cost, h.amount_nanos, posted_nanos - held_nanos), posted_nanos into charged, v_posted
			from credit_accounts where id = p_account for no key update;
			v_posted := v_posted - charged;
			update credit_accounts set posted_nanos = v_posted where id = p_account;
			update holds set captured_nanos = charged, reason = outcome, closed_at = p_at,
				state = case when charged > 0 then 'captured' else 'released' end
			where id = p_hold;
		end if;
	end if;
	overrun := p_cost - charged;
	if p_cost > 0 then
		perform draw_grants(p_account, charged);
		insert into ledger_transactions (id, kind, ref, at) values (p_transaction, 'charge', p_hold, p_at);
		insert into ledger_entries (transaction_id, account_id, amount_nanos, posted_after)
		select p_transaction, e.account_id, e.amount, e.posted
		from (values (1, p_account, -charged, v_posted), (2, 'internal:usage_revenue', p_cost, null),
			(3, 'internal:platform_loss', -overrun, null)) e (place, account_id, amount, posted)
		where e.amount <> 0 order by e.place;
	end if;
	if p_record is not null then
		insert into usage_records select r.* from jsonb_populate_record(null::usage_records, p_record || jsonb_build_object(
			'request_id', p_hold, 'account_id', p_account, 'settled_at', p_at,
			'reserved_nanos', h.amount_nanos, 'cost_nanos', charged, 'overrun_nanos', overrun)) r;
	end if;
end $$;
-- +goose StatementEnd

-- grant_credit adds prepaid money once per source and says whether it did.
-- +goose StatementBegin
create function grant_credit(
	p_id text, p_account text, p_kind text, p_priority integer, p_amount bigint, p_expires timestamptz, p_source text,
	p_from text, p_transaction text, p_at timestamptz, p_meta jsonb
) returns boolean language plpgsql as $$
declare
	v_posted bigint;
begin
	insert into grants (id, account_id, kind, priority, amount_nanos, remaining_nanos, expires_at, source, created_at)
	values (p_id, p_account, p_kind, p_priority, p_amount, p_amount, p_expires, p_source, p_at)
	on conflict (source) do nothing;
	if not found then
		return false;
	end if;
	update credit_accounts set posted_nanos = posted_nanos + p_amount
	where id = p_account and kind = 'customer' returning posted_nanos into v_posted;
	if not found then
		raise exception 'account % is not a customer', p_account using errcode = 'no_data_found';
	end if;
	insert into ledger_transactions (id, kind, ref, at, meta) values (p_transaction, 'grant', p_source, p_at, p_meta);
	insert into ledger_entries (transaction_id, account_id, amount_nanos, posted_after)
	values (p_transaction, p_account, p_amount, v_posted), (p_transaction, p_from, -p_amount, null);
	return true;
end $$;
-- +goose StatementEnd

-- expire_grant takes back what is left of an expired grant, as far as no open hold counts on it; the rest goes when
-- those holds have closed. It returns what it took.
-- +goose StatementBegin
create function expire_grant(p_grant text, p_transaction text, p_at timestamptz) returns bigint language plpgsql as $$
declare
	v_account text;
	v_posted  bigint;
	v_take    bigint;
	v_left    bigint;
begin
	select a.id, a.posted_nanos, a.posted_nanos - a.held_nanos into v_account, v_posted, v_take
	from grants g join credit_accounts a on a.id = g.account_id where g.id = p_grant for no key update of a;
	select least(v_take, remaining_nanos), remaining_nanos into v_take, v_left
	from grants where id = p_grant and expires_at <= now();
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

-- release_expired_holds returns the credit of at most p_limit holds that nobody settled in time, and says how many.
-- Several replicas may run it at once.
-- +goose StatementBegin
create function release_expired_holds(p_limit integer) returns bigint language plpgsql as $$
declare
	v_count bigint := 0;
	r       record;
begin
	for r in
		with due as (
			select id from holds where state = 'open' and expires_at <= now()
			order by expires_at limit p_limit for update skip locked
		), closed as (
			update holds h set state = 'released', reason = 'expired', closed_at = now()
			from due where h.id = due.id returning h.account_id, h.amount_nanos
		)
		select account_id, sum(amount_nanos)::bigint as amount, count(*) as holds from closed group by account_id order by account_id
	loop
		update credit_accounts set held_nanos = held_nanos - r.amount where id = r.account_id;
		v_count := v_count + r.holds;
	end loop;
	return v_count;
end $$;
-- +goose StatementEnd
