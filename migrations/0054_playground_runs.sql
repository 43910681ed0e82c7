-- +goose Up

-- Answers of the playground that accounts keep with the content of their calls: one row for each model of a run. A run is one message
-- that was sent to one or more models. Rows live as long as content does, and are deleted with it.
create table playground_runs (
	account_id text not null,
	run_id     text not null,
	pane       smallint not null check (pane between 0 and 3),
	request_id text not null,
	user_id    text not null,
	at         timestamptz not null, -- when the call began
	model      text not null,
	title      text not null check (length(title) <= 200),
	content    text not null check (octet_length(content) <= 262144), -- JSON: the form with the answer, and its times and cost
	primary key (account_id, run_id, pane)
);
create index playground_runs_at on playground_runs (account_id, at);
