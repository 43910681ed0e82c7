-- +goose Up

create table users (
	id            text primary key,
	email         text not null unique check (email = lower(email) and email = btrim(email) and length(email) between 3 and 254),
	password_hash text not null,
	operator      boolean not null default false,
	created_at    timestamptz not null
);

-- limit_factor multiplies the usual limits: calls at once, and the requests and tokens per minute of each model.
create table accounts (
	id           text primary key,
	limit_factor integer not null default 1 check (limit_factor between 1 and 1000000),
	created_at   timestamptz not null
);

create table memberships (
	account_id text not null references accounts (id),
	user_id    text not null references users (id),
	role       text not null check (role in ('owner', 'admin', 'developer', 'billing')),
	created_at timestamptz not null,
	primary key (account_id, user_id)
);

create index memberships_user on memberships (user_id, created_at);

-- A browser's session. The cookie holds 256 random bits, the row their hash, so that a copy of the table opens no
-- session. data is sealed. A session without a user only carries what a page tells the next one.
create table sessions (
	id         text primary key,
	token_hash bytea not null unique check (octet_length(token_hash) = 32),
	user_id    text references users (id) on delete cascade,
	data       bytea not null,
	ip         text not null,
	user_agent text not null,
	created_at timestamptz not null,
	seen_at    timestamptz not null
);

create index sessions_user on sessions (user_id, seen_at desc);
create index sessions_seen on sessions (seen_at);

-- How often something was tried by somebody: a sign-in per address, per e-mail and per both, a sign-up per address.
-- The subject is a hash, since people type the e-mail addresses of others, and passwords into the wrong field.
create table throttles (
	scope         text not null,
	subject       bytea not null check (octet_length(subject) = 32),
	tries         integer not null check (tries >= 0),
	since         timestamptz not null,
	blocked_until timestamptz,
	trusted_at    timestamptz,
	primary key (scope, subject)
);

create index throttles_since on throttles (since);

create table api_keys (
	id           text primary key,
	account_id   text not null references accounts (id),
	secret_hash  bytea not null unique check (octet_length(secret_hash) = 32),
	name         text not null check (length(name) between 1 and 80),
	prefix       text not null,
	last_four    text not null check (length(last_four) = 4),
	env          text not null,
	error_mode   text not null check (error_mode in ('documented', 'standard')),
	models       text[] not null,
	concurrency  integer not null check (concurrency >= 0),
	created_by   text references users (id) on delete set null,
	created_at   timestamptz not null,
	expires_at   timestamptz,
	disabled_at  timestamptz,
	deleted_at   timestamptz,
	last_used_at timestamptz
);

create index api_keys_account on api_keys (account_id, created_at desc) where deleted_at is null;

-- Every replica keeps keys in memory and forgets one as soon as it changes. That a key was used changes nothing.
-- +goose StatementBegin
create function notify_key() returns trigger language plpgsql as $$
begin
	perform pg_notify('keys', encode((case when tg_op = 'DELETE' then old else new end).secret_hash, 'hex'));
	return null;
end $$;
-- +goose StatementEnd

create trigger api_keys_changed
	after insert or delete or update of secret_hash, account_id, name, env, error_mode, models, concurrency, expires_at, disabled_at, deleted_at
	on api_keys for each row execute function notify_key();

-- What an account may do is part of what replicas remember of its keys. An empty payload means: forget all.
-- +goose StatementBegin
create function notify_keys() returns trigger language plpgsql as $$
begin
	perform pg_notify('keys', '');
	return null;
end $$;
-- +goose StatementEnd

create trigger accounts_limits_changed after update of limit_factor on accounts for each row execute function notify_keys();
