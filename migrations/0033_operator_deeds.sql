-- +goose Up

-- What operators did to accounts by hand. A name is made with the form or the command that does it, so that one that is sent twice
-- finds its row. Why it was done stands in the account's ledger and audit log; who did it stands here and in the ledger.
create table operator_deeds (
	once       text primary key,
	account_id text not null references accounts (id),
	deed       text not null check (deed in ('add', 'take', 'freeze', 'unfreeze')),
	operator   text not null,
	at         timestamptz not null
);

create index operator_deeds_account on operator_deeds (account_id, at desc);

-- Frozen accounts are few, and operators look for them among all.
create index accounts_frozen on accounts (id) where frozen_at is not null and closed_at is null;
