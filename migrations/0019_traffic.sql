-- +goose Up

-- What operators have paused: a model or a provider that takes no new calls. Neither references the catalog, as a pause
-- outlives a catalog that leaves its object out for a while.
create table traffic_pauses (
	kind       text not null check (kind in ('model', 'provider')),
	id         text not null check (length(id) between 1 and 200),
	reason     text not null check (length(reason) <= 200), -- for clients
	by_user    text not null check (by_user <> ''),         -- the operator's e-mail, which stays when the user goes
	created_at timestamptz not null,
	primary key (kind, id)
);

-- Who paused and resumed what, for good. These deeds concern no account, so the log of an account cannot hold them.
create table traffic_history (
	number  bigint generated always as identity primary key,
	deed    text not null check (deed in ('paused', 'resumed')),
	kind    text not null check (kind in ('model', 'provider')),
	id      text not null,
	reason  text not null,
	by_user text not null check (by_user <> ''),
	at      timestamptz not null
);

-- How the providers do, as each replica has seen in the last minute. A crash may lose it: replicas tell anew every few seconds.
create unlogged table replica_reports (
	replica text primary key check (length(replica) between 1 and 200),
	at      timestamptz not null,
	report  jsonb not null check (jsonb_typeof(report) = 'object')
);
