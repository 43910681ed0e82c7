-- +goose Up

-- What a key may do, from where, how much of it a minute, and whether what is said through it may be kept. Keys of before
-- may do what keys did before, and so may those that a replica of the version before makes while the new one starts.
alter table api_keys
	add column scopes text[] not null default '{inference:text,inference:video,videos,assets,models:read,usage:read,webhooks}',
	add column addresses cidr[] not null default '{}', -- it is taken from these networks only; empty for all
	add column requests_per_minute bigint not null default 0 check (requests_per_minute >= 0), -- zero: the models' limits
	add column tokens_per_minute bigint not null default 0 check (tokens_per_minute >= 0),
	add column log_content boolean not null default false,
	add column created_by_key text not null default '', -- the management key that made it
	-- The secret of before the last rotation, good until a time.
	add column rotated_at timestamptz,
	add column previous_hash bytea unique check (octet_length(previous_hash) = 32),
	add column previous_last_four text,
	add column previous_until timestamptz,
	add column previous_used_at timestamptz,
	add column last_used_ip text not null default '',
	add column leaked_at timestamptz, -- a secret of it was found in public; it stays off until it has another
	add constraint api_keys_scopes_known check (scopes <@ array['inference:text', 'inference:video', 'videos', 'assets',
		'models:read', 'usage:read', 'webhooks', 'management'] and cardinality(scopes) > 0),
	-- Whoever steals a key that makes keys must not also spend with it, and the other way round.
	add constraint api_keys_management_apart check (
		not (scopes @> array['management'] and scopes && array['inference:text', 'inference:video', 'videos', 'assets'])),
	add constraint api_keys_previous check ((previous_hash is null) = (previous_until is null) and (previous_hash is null) = (previous_last_four is null));

-- Replicas forget a key under both of its secrets.
-- +goose StatementBegin
create or replace function notify_key() returns trigger language plpgsql as $$
begin
	if tg_op <> 'INSERT' then
		perform pg_notify('keys', encode(old.secret_hash, 'hex'));
		if old.previous_hash is not null then
			perform pg_notify('keys', encode(old.previous_hash, 'hex'));
		end if;
	end if;
	if tg_op <> 'DELETE' then
		perform pg_notify('keys', encode(new.secret_hash, 'hex'));
		if new.previous_hash is not null then
			perform pg_notify('keys', encode(new.previous_hash, 'hex'));
		end if;
	end if;
	return null;
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function notify_keys_of_account() returns trigger language plpgsql as $$
begin
	perform pg_notify('keys', encode(h, 'hex')) from api_keys k, unnest(array[k.secret_hash, k.previous_hash]) h
	where k.account_id = new.id and k.deleted_at is null and h is not null;
	return null;
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create or replace function notify_key_of_budget() returns trigger language plpgsql as $$
begin
	perform pg_notify('keys', encode(h, 'hex')) from api_keys k, unnest(array[k.secret_hash, k.previous_hash]) h
	where k.id = (case when tg_op = 'DELETE' then old else new end).key_id and h is not null;
	return null;
end $$;
-- +goose StatementEnd

drop trigger api_keys_changed on api_keys;
create trigger api_keys_changed
	after insert or delete or update of secret_hash, previous_hash, previous_until, account_id, name, env, error_mode, models, scopes,
		addresses, requests_per_minute, tokens_per_minute, log_content, concurrency, expires_at, disabled_at, deleted_at
	on api_keys for each row execute function notify_key();

-- Who changed what, and from where. Rows are only added. Names are those of that time, since people and keys go.
create table audit_entries (
	id          text primary key,
	account_id  text not null references accounts (id),
	at          timestamptz not null,
	actor       text not null check (actor in ('user', 'key', 'operator', 'system')),
	actor_id    text not null,
	actor_name  text not null,
	action      text not null check (action ~ '^[a-z_]+\.[a-z_]+$'),
	object_id   text not null,
	object_name text not null,
	changes     jsonb not null check (jsonb_typeof(changes) = 'array'),
	ip          text not null,
	agent       text not null,
	request_id  text not null
);

create index audit_entries_account on audit_entries (account_id, id desc);
create index audit_entries_object on audit_entries (account_id, object_id, id desc);
