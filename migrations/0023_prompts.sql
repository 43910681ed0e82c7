-- +goose Up

-- What people of an account have prepared to send to models. The newest version is the prompt; older ones stay as they were.
create table prompts (
	id         text primary key,
	account_id text not null references accounts (id),
	name       text not null check (char_length(name) between 1 and 80),
	latest     integer not null check (latest >= 1),
	created_at timestamptz not null,
	updated_at timestamptz not null
);

create index prompts_account on prompts (account_id, updated_at desc, id desc);

create table prompt_versions (
	prompt_id  text not null references prompts (id) on delete cascade,
	account_id text not null references accounts (id),
	number     integer not null check (number >= 1),
	-- A JSON document in the form that app/prompt writes; text, as it must come back letter by letter.
	content    text not null,
	bytes      integer not null check (bytes = octet_length(content) and bytes <= 1048576),
	model      text not null check (length(model) <= 300),
	variables  text[] not null,
	author     text not null, -- id of a user
	restored   integer check (restored >= 1), -- the version that this one is again
	created_at timestamptz not null,
	primary key (prompt_id, number)
);

create index prompt_versions_account on prompt_versions (account_id);

-- Links that show one version to whoever has them. Only a hash of the link's secret part is kept.
create table prompt_shares (
	id         text primary key,
	account_id text not null references accounts (id),
	prompt_id  text not null,
	number     integer not null,
	token_hash bytea not null unique check (octet_length(token_hash) = 32),
	author     text not null, -- id of a user
	created_at timestamptz not null,
	expires_at timestamptz not null check (expires_at > created_at),
	viewed_at  timestamptz,
	revoked_at timestamptz,
	foreign key (prompt_id, number) references prompt_versions (prompt_id, number) on delete cascade
);

create index prompt_shares_prompt on prompt_shares (prompt_id, id desc);
