-- +goose Up

-- How the console shows times to a user, and which columns of the request log they hide. An empty time zone is that of the browser. An
-- empty clock counts 24 hours. Columns are words with commas between them.
alter table users
	add column time_zone text not null default '' check (length(time_zone) <= 64),
	add column clock text not null default '' check (clock in ('', '12')),
	add column log_hidden text not null default '' check (length(log_hidden) <= 200);
