-- +goose Up

-- Requests of known accounts that were refused before any provider was called, so that no usage record exists. They cost nothing, and
-- the ledger does not know them. Of many refusals with one code in a minute some are samples, which stand for several.
create table refusals (
	request_id      text primary key,
	account_id      text not null,
	-- Empty when a member of the account called from the console.
	key_id          text not null,
	at              timestamptz not null,
	method          text not null,
	-- The pattern of the path; empty for a path that no route has.
	route           text not null,
	style           text not null,
	-- The public id of a model of the catalog; empty when the request names none.
	model           text not null,
	status          integer not null check (status between 400 and 599),
	code            text not null,
	-- The path of the field that was wrong; may be empty.
	param           text not null check (octet_length(param) <= 256),
	-- As the client got it, without the values that it repeats of the request.
	message         text not null check (octet_length(message) <= 1024),
	duration_micros bigint not null check (duration_micros >= 0),
	-- How many refusals the row stands for: this one, and those before it that have no row.
	represents      bigint not null check (represents >= 1),
	written_at      timestamptz not null default now()
);

create index refusals_account on refusals (account_id, at desc, request_id desc);
-- Old rows are deleted in the order of their time, and rows are written in about that order.
create index refusals_at on refusals using brin (at) with (autosummarize = on, pages_per_range = 32);
