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

-- key_budgets says which key has a budget and when it is refilled. Its credit account has the key's id.
create table key_budgets (
	key_id       text primary key references credit_accounts (id),
	account_id   text not null references credit_accounts (id),
	limit_nanos  bigint not null check (limit_nanos > 0),
	period       text not null check (period in ('total', 'day', 'week', 'month')),
	period_start timestamptz not null
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
	primary key (account_id, slot, key_id, model, style, reason)
) with (fillfactor = 70);
