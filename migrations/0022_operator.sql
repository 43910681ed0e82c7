-- +goose Up

-- Who put which catalog in force. A version that was in force before this was kept has no time. Of old versions the file goes,
-- which only comparisons need; the row stays.
create table catalog_history (
	version    bigint primary key,
	applied_at timestamptz,
	applied_by text not null,
	note       text not null,
	-- What it changed, one line a change; null when what it replaced could not be read.
	changes    jsonb check (changes is null or jsonb_typeof(changes) = 'array'),
	file       text
);

-- What each replica answered, minute by minute. Rows go after a few hours.
create table traffic_minutes (
	minute        timestamptz not null,
	replica       text not null,
	calls         bigint not null check (calls >= 0),
	errors        bigint not null check (errors between 0 and calls),
	-- Refused before any model was called: by limits, for want of credit, by overload.
	limited       bigint not null check (limited >= 0),
	unfunded      bigint not null check (unfunded >= 0),
	overloaded    bigint not null check (overloaded >= 0),
	in_flight     integer not null check (in_flight >= 0),
	in_flight_max integer not null check (in_flight_max >= in_flight),
	-- How many calls took how long, in classes that app/pulse knows.
	first_byte    bigint[] not null,
	overhead      bigint[] not null,
	seen_at       timestamptz not null,
	primary key (minute, replica)
);
