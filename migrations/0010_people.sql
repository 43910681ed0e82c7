-- +goose Up

-- Since when a user's e-mail address is known to be theirs.
alter table users add column verified_at timestamptz;

-- Links that prove an address. The mail holds 256 random bits, the row their hash. A link is for the address it was sent
-- to: when the user's address is another by then, it proves nothing.
create table email_links (
	token_hash bytea primary key check (octet_length(token_hash) = 32),
	user_id    text not null references users (id) on delete cascade,
	email      text not null,
	created_at timestamptz not null,
	expires_at timestamptz not null,
	used_at    timestamptz
);

create index email_links_user on email_links (user_id);
create index email_links_expiry on email_links (expires_at);

-- Who was given trial credit. The identity is the hash of an address without what its owner may vary at will, so that one
-- mailbox is one identity. Network and domain are only there to be counted for a day, and are forgotten afterwards.
create table trials (
	identity     bytea primary key check (octet_length(identity) = 32),
	user_id      text not null unique references users (id),
	account_id   text not null references accounts (id),
	network      text not null,
	domain       text not null,
	amount_nanos bigint not null check (amount_nanos > 0),
	granted_at   timestamptz not null
);

create index trials_granted on trials (granted_at desc);

-- Whoever has had trial credit before there were identities has had it.
insert into trials (identity, user_id, account_id, network, domain, amount_nanos, granted_at)
select sha256(convert_to(
		case when a.domain = 'gmail.com' then replace(a.name, '.', '') else a.name end || '@' || a.domain, 'UTF8')),
	a.user_id, a.account_id, '', '', a.amount_nanos, a.created_at
from (
	select u.id as user_id, g.account_id, g.amount_nanos, g.created_at,
		coalesce(nullif(split_part(split_part(u.email, '@', 1), '+', 1), ''), split_part(u.email, '@', 1)) as name,
		case split_part(u.email, '@', 2) when 'googlemail.com' then 'gmail.com' else split_part(u.email, '@', 2) end as domain
	from grants g join users u on g.source = 'trial:' || u.id
	where g.kind = 'trial'
) a
on conflict do nothing;

-- Replicas remember with each key whether its account is frozen and whether the key has a budget.
-- +goose StatementBegin
create function notify_keys_of_account() returns trigger language plpgsql as $$
begin
	perform pg_notify('keys', encode(secret_hash, 'hex')) from api_keys where account_id = new.id and deleted_at is null;
	return null;
end $$;
-- +goose StatementEnd

create trigger accounts_frozen_changed after update of frozen_at on accounts
	for each row when (old.frozen_at is distinct from new.frozen_at) execute function notify_keys_of_account();

-- +goose StatementBegin
create function notify_key_of_budget() returns trigger language plpgsql as $$
begin
	perform pg_notify('keys', encode(secret_hash, 'hex')) from api_keys
	where id = (case when tg_op = 'DELETE' then old else new end).key_id;
	return null;
end $$;
-- +goose StatementEnd

create trigger key_budgets_changed after insert or delete on key_budgets for each row execute function notify_key_of_budget();
