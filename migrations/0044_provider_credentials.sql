-- +goose Up

-- Credentials of providers, which only the servers' secret key can open. The catalog names them.
create table provider_credentials (
	name       text primary key check (name <> ''),
	-- The sealed value. It begins with the id of the key that sealed it, which key_id has in hexadecimal digits.
	sealed     bytea not null,
	key_id     text not null,
	-- The end of the value, by which operators recognise it. Empty for a short value.
	last_four  text not null default '',
	changed_by text not null,
	changed_at timestamptz not null
);

-- Who set and deleted credentials.
create table provider_credential_events (
	number    bigint generated always as identity primary key,
	action    text not null check (action in ('set', 'deleted')),
	name      text not null,
	last_four text not null default '',
	by_user   text not null,
	at        timestamptz not null
);

-- It counts the changes of provider_credentials, beside the version of the catalog, so that servers read them again.
alter table catalog_settings add column sealed_version bigint not null default 0;

-- The credential of a provider is a reference of one of three forms, and never a value. One of several parts, such as an access key and
-- its secret, may name a variable for each.
alter table providers
	drop constraint if exists providers_credential_check,
	add constraint providers_credential_check check (
		credential = '' or credential ~ '^(\$\{[A-Z][A-Z0-9_]*\}(:\$\{[A-Z][A-Z0-9_]*\}){0,2}|sealed:[A-Za-z0-9][A-Za-z0-9._-]*|file:/.*)$');
