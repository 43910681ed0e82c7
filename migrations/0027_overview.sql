-- +goose Up

-- The few calls that failed are found without a look at the many that did not.
create index usage_records_failed on usage_records (account_id, started_at desc, request_id desc)
	where outcome not in ('succeeded', 'client_left', 'canceled');

-- The latest call of each account that has no usage record: one that was refused at the door, or one that only looked. Whoever sets a
-- program up is told of it. The subject is an account, or an address where nobody has the key. Rows go after some minutes, and
-- nothing is lost with them.
create unlogged table arrivals (
	subject    text not null,
	refused    boolean not null,
	at         timestamptz not null,
	request_id text not null,
	key_id     text not null,
	method     text not null,
	route      text not null,
	style      text not null,
	model      text not null,
	status     integer not null,
	code       text not null,
	primary key (subject, refused)
);

-- What accounts ask of the operators about their limits. An account has one open request at most.
create table limit_requests (
	id          text primary key,
	account_id  text not null references accounts (id),
	user_id     text not null,
	email       text not null, -- of the user then
	model       text not null, -- empty for all
	factor_then integer not null check (factor_then >= 1),
	factor      integer not null check (factor >= 1), -- that is asked for
	reason      text not null,
	state       text not null check (state in ('open', 'done', 'declined')),
	answer      text not null default '',
	answered_by text not null default '',
	created_at  timestamptz not null,
	answered_at timestamptz
);
create unique index limit_requests_open on limit_requests (account_id) where state = 'open';
create index limit_requests_account on limit_requests (account_id, created_at desc);
create index limit_requests_recent on limit_requests (created_at desc);
