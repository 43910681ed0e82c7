-- +goose Up

-- A code that gives credit to whoever redeems it: once for each account, so many times in all, until it ends. What it gave may end as
-- well, so many days after.
create table promo_codes (
	code            text primary key check (code ~ '^[A-Z0-9]{6,40}$'),
	amount_nanos    bigint not null check (amount_nanos > 0),
	redemptions_max integer not null check (redemptions_max between 1 and 1000000),
	redeemed        integer not null default 0 check (redeemed between 0 and redemptions_max),
	credit_days     integer not null default 0 check (credit_days between 0 and 3650), -- 0 for credit that stays
	reason          text not null check (length(reason) <= 200),
	created_by      text not null,
	created_at      timestamptz not null,
	expires_at      timestamptz not null
);

create table promo_redemptions (
	code        text not null references promo_codes (code),
	account_id  text not null references accounts (id),
	user_id     text not null,
	redeemed_at timestamptz not null,
	primary key (code, account_id)
);

create index promo_redemptions_account on promo_redemptions (account_id);

-- Filters of a page that somebody has named, for themself in one account. The query is that of the page's address.
create table saved_views (
	user_id    text not null references users (id) on delete cascade,
	account_id text not null references accounts (id) on delete cascade,
	page       text not null check (page in ('usage', 'requests')),
	name       text not null check (length(name) between 1 and 60),
	query      text not null check (length(query) <= 2000),
	saved_at   timestamptz not null,
	primary key (user_id, account_id, page, name)
);

create index saved_views_account on saved_views (account_id);

-- Which accounts were told of a price that changes, by mail: once for each change, which is a model, a day and the prices from then on.
create table price_notices (
	account_id text not null references accounts (id) on delete cascade,
	model_id   text not null,
	change     text not null,
	told_at    timestamptz not null,
	primary key (account_id, model_id, change)
);
