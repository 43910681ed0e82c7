-- +goose Up

-- Models of providers that operators have selected but not published yet, and the list that each provider gave last.
create table provider_selections (
	provider     text primary key,
	-- A list of {"id", "context"}.
	listed       jsonb not null,
	-- Null until the list was read.
	listed_at    timestamptz,
	list_problem text not null,
	-- As an operator has written it, such as 10%.
	markup       text not null,
	-- By the id of the model: {"markup", "input", "output"}, as an operator has written them.
	picks        jsonb not null,
	changed_by   text not null,
	changed_at   timestamptz not null
);
