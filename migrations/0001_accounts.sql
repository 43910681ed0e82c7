-- +goose Up

create table users (
	id            text primary key,
	email         text not null unique check (email = lower(email) and email = btrim(email) and length(email) between 3 and 254),
	password_hash text not null,
	operator      boolean not null default false,
	created_at    timestamptz not null
);

create table accounts (
	id         text primary key,
	created_at timestamptz not null
);

create table memberships (
	account_id text not null references accounts (id),
	user_id    text not null references users (id),
	role       text not null check (role in ('owner', 'admin', 'developer', 'billing')),
	created_at timestamptz not null,
	primary key (account_id, user_id)
);

create index memberships_user on memberships (user_id, created_at);
