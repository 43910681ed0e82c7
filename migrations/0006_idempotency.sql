-- +goose Up

-- What came of a request that bears an Idempotency-Key. result_id is the id of what the request makes, decided before it
-- is made: a repetition after a crash finds it instead of making another. An entry without an answer belongs to a request
-- that runs, until claimed_until.
create table idempotency_keys (
	account_id    text not null references accounts (id),
	key           text not null check (length(key) between 1 and 255),
	operation     text not null,
	body_hash     bytea not null check (octet_length(body_hash) = 32),
	result_id     text not null,
	status        integer,
	answer        bytea,
	created_at    timestamptz not null,
	claimed_until timestamptz not null,
	primary key (account_id, key, operation),
	check ((status is null) = (answer is null))
);

create index idempotency_keys_age on idempotency_keys (created_at);
