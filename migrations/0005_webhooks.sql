-- +goose Up

-- A frozen account keeps what it has, and nothing is sent in its name until it is no longer frozen.
alter table accounts add column frozen_at timestamptz;

-- Where a customer wants to hear of events. Secrets are sealed, and gone as soon as an endpoint is deleted. A deleted
-- row stays as long as deliveries name it.
create table webhook_endpoints (
	id                   text primary key,
	account_id           text not null references accounts (id),
	name                 text not null check (length(name) between 1 and 80),
	url                  text not null check (length(url) between 1 and 2048),
	event_types          text[] not null check (cardinality(event_types) > 0),
	secret               bytea not null,
	secret_hint          text not null,
	previous_secret      bytea,                -- also signed with until then
	previous_valid_until timestamptz,
	status               text not null default 'enabled' check (status in ('enabled', 'disabled')),
	disabled_reason      text not null default '' check (disabled_reason in ('', 'user', 'gone', 'failing')),
	disabled_at          timestamptz,
	failing_since        timestamptz,          -- the first failure after which nothing went well
	warned_days          smallint not null default 0, -- the last notice about it that was given
	paused_until         timestamptz,          -- it asked for a pause
	created_at           timestamptz not null,
	updated_at           timestamptz not null,
	deleted_at           timestamptz,
	check ((status = 'disabled') = (disabled_at is not null)),
	check ((status = 'disabled') = (disabled_reason <> '')),
	check ((previous_secret is null) = (previous_valid_until is null))
);

create index webhook_endpoints_account on webhook_endpoints (account_id, id desc) where deleted_at is null;
create index webhook_endpoints_deleted on webhook_endpoints (deleted_at) where deleted_at is not null;

-- What happened, with the very bytes that are signed. An object has at most one event of a type, however many
-- witnesses report it.
create table webhook_events (
	id         text primary key,
	account_id text not null references accounts (id),
	type       text not null check (type in ('video.completed', 'video.failed')),
	object_id  text not null,
	body       bytea not null,
	created_at timestamptz not null,
	unique (type, object_id)
);

create index webhook_events_account on webhook_events (account_id, created_at);
create index webhook_events_created on webhook_events (created_at);

-- One event on its way to one endpoint.
create table webhook_deliveries (
	id            text primary key,
	account_id    text not null references accounts (id),
	event_id      text not null references webhook_events (id) on delete cascade,
	endpoint_id   text not null references webhook_endpoints (id),
	state         text not null default 'pending' check (state in ('pending', 'delivered', 'failed', 'cancelled')),
	attempts      integer not null default 0 check (attempts >= 0), -- made so far
	tries         integer not null default 0 check (tries >= 0),    -- of them, since it was last put into the queue
	due_at        timestamptz,          -- of the next attempt; null when there is none
	claimed_until timestamptz,
	last_status   integer,              -- what the last attempt was answered; null for no answer
	last_error    text not null default '',
	created_at    timestamptz not null,
	updated_at    timestamptz not null,
	unique (event_id, endpoint_id),
	check ((state = 'pending') = (due_at is not null)),
	check (state = 'pending' or claimed_until is null)
);

create index webhook_deliveries_due on webhook_deliveries (endpoint_id, due_at, id) where state = 'pending';
create index webhook_deliveries_claimed on webhook_deliveries (endpoint_id) where claimed_until is not null;
create index webhook_deliveries_account on webhook_deliveries (account_id, id desc);
create index webhook_deliveries_endpoint on webhook_deliveries (endpoint_id, id desc);

-- What was sent and what came back. The body that was sent is the event's.
create table webhook_attempts (
	delivery_id      text not null references webhook_deliveries (id) on delete cascade,
	number           integer not null check (number > 0),
	account_id       text not null,
	endpoint_id      text not null,
	started_at       timestamptz not null,
	duration_ms      bigint not null check (duration_ms >= 0),
	succeeded        boolean not null,
	url              text not null,
	request_headers  jsonb not null,
	status           integer,
	response_headers jsonb not null,
	response_body    bytea not null check (octet_length(response_body) <= 4096),
	error            text not null default '',
	primary key (delivery_id, number)
);

create index webhook_attempts_account on webhook_attempts (account_id, started_at);
