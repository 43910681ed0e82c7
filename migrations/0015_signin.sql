-- +goose Up

-- What people call themselves, and since when they have their password.
alter table users
	add column name text not null default '' check (length(name) <= 80),
	add column password_changed_at timestamptz;

-- Links that change how somebody signs in: a new password, or another e-mail address. The mail holds 256 random bits, the
-- row their hash. A link is for the user as they were when it was made: when their address is another by then, it is void.
create table change_links (
	token_hash bytea primary key check (octet_length(token_hash) = 32),
	user_id    text not null references users (id) on delete cascade,
	email      text not null, -- of the user when the link was made
	new_email  text,          -- what it makes of it; null for a link that sets a password
	created_at timestamptz not null,
	expires_at timestamptz not null,
	used_at    timestamptz
);

create index change_links_user on change_links (user_id);
create index change_links_expiry on change_links (expires_at);

-- Second steps of signing in. The seed is sealed; until a code has proved that it arrived it is only being set up. No code
-- of a step that is not after the last one is taken, so none is taken twice.
create table totps (
	user_id    text primary key references users (id) on delete cascade,
	seed       bytea not null,
	created_at timestamptz not null,
	enabled_at timestamptz,
	last_step  bigint not null default 0
);

-- Codes that stand in for a lost device, each once. The row holds a keyed hash, so that a copy of the table opens nothing.
create table recovery_codes (
	user_id   text not null references users (id) on delete cascade,
	code_hash bytea not null check (octet_length(code_hash) = 32),
	used_at   timestamptz,
	primary key (user_id, code_hash)
);
