-- +goose Up

-- What a person has read of the notices of an account. Notices are derived when they are read; each has an id that stays
-- while its reason does, and the ids of those that were read stand here.
create table notice_reads (
	user_id    text not null references users (id) on delete cascade,
	account_id text not null references accounts (id) on delete cascade,
	seen       text[] not null check (cardinality(seen) <= 200),
	read_at    timestamptz not null,
	primary key (user_id, account_id)
);

create index notice_reads_account on notice_reads (account_id);

-- What a person wants to hear of an account, and how. No row: by mail and in the console.
create table notice_choices (
	user_id    text not null references users (id) on delete cascade,
	account_id text not null references accounts (id) on delete cascade,
	event      text not null check (length(event) between 1 and 40),
	by_mail    boolean not null,
	in_console boolean not null,
	primary key (user_id, account_id, event)
);

create index notice_choices_account on notice_choices (account_id);
