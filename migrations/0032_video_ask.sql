-- +goose Up

-- Above which price the console asks a user before it makes videos, in nano-dollars; zero asks each time.
alter table users add column video_ask_above bigint not null default 5000000000
	check (video_ask_above between 0 and 1000000000000000);
