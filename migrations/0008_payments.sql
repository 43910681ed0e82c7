-- +goose Up

-- What an account has to do with the payment service: who it is there and the card that may be charged without it, when
-- it wants to be charged, and when it wants to hear that its credit is low. low_balance_nanos is null for the default.
create table payment_accounts (
	account_id        text primary key references accounts (id),
	customer_id       text unique,
	customer_email    text not null default '',
	customer_round    integer not null default 0,
	payment_method    text not null default '',
	purchased         boolean not null default false,
	auto_enabled      boolean not null default false,
	threshold_nanos   bigint not null default 0 check (threshold_nanos >= 0),
	auto_cents        bigint not null default 0 check (auto_cents = 0 or auto_cents between 500 and 1000000),
	cap_cents         bigint not null default 0 check (cap_cents >= 0),
	failures          integer not null default 0 check (failures >= 0),
	disabled_reason   text not null default '',
	auto_due_at       timestamptz,
	low_balance_nanos bigint check (low_balance_nanos >= 0),
	low_since         timestamptz
);

create index payment_accounts_auto on payment_accounts (auto_due_at) where auto_enabled;

-- A purchase of credit. Its state is derived from what the payment service says when asked, never from what an event
-- tells. credited_cents was added to the account once, under the session's or the intent's id; taken_cents of it went
-- back, by refunds and disputes. version counts the decisions: one that was made on older answers is not kept.
create table topups (
	id              text primary key,
	account_id      text not null references accounts (id),
	cents           bigint not null check (cents between 500 and 1000000),
	state           text not null check (state in ('CREATED', 'OPEN', 'PAID', 'PARTIALLY_REFUNDED', 'REFUNDED', 'EXPIRED', 'FAILED',
		'DISPUTED', 'WON', 'LOST')),
	auto            boolean not null,
	email           text not null,
	idempotency_key text not null,
	customer_id     text not null default '',
	payment_method  text not null default '',
	session_id      text unique,
	intent_id       text unique,
	url             text not null default '',
	receipt_url     text not null default '',
	failure         text not null default '',
	credited_cents  bigint not null default 0,
	refunded_cents  bigint not null default 0 check (refunded_cents >= 0),
	disputed_cents  bigint not null default 0 check (disputed_cents >= 0),
	taken_cents     bigint not null default 0,
	froze           boolean not null default false,
	version         bigint not null default 0,
	created_at      timestamptz not null,
	asked_at        timestamptz not null,
	paid_at         timestamptz,
	due_at          timestamptz,
	unique (account_id, idempotency_key),
	check (credited_cents in (0, cents)),
	check (taken_cents between 0 and credited_cents),
	check ((credited_cents = cents) = (state in ('PAID', 'PARTIALLY_REFUNDED', 'REFUNDED', 'DISPUTED', 'WON', 'LOST'))),
	check ((paid_at is null) = (credited_cents = 0))
);

create index topups_account on topups (account_id, created_at desc, id desc);
create index topups_due on topups (due_at) where due_at is not null;
create unique index topups_auto on topups (account_id) where auto and state in ('CREATED', 'OPEN');

-- What an operator gave back to a card. The id is what makes it happen once. One whose outcome is unknown has no refund_id
-- yet, and is finished before another begins.
create table payment_refunds (
	id         text primary key,
	topup_id   text not null references topups (id),
	cents      bigint not null check (cents > 0),
	operator   text not null,
	reason     text not null,
	refund_id  text unique,
	created_at timestamptz not null
);

create index payment_refunds_topup on payment_refunds (topup_id);
create unique index payment_refunds_open on payment_refunds (topup_id) where refund_id is null;

-- The events that were dealt with, so that one that comes again is not.
create table payment_events (
	id          text primary key,
	type        text not null,
	topup_id    text references topups (id),
	received_at timestamptz not null
);

create index payment_events_received on payment_events (received_at);

-- Up to when the payment service's own list of events was read, for those that never arrived.
create table payment_sweep (
	one        boolean primary key default true check (one),
	read_until timestamptz not null,
	due_at     timestamptz not null
);
