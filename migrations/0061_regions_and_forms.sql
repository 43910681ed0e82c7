-- +goose Up

-- How the console writes numbers and dates to a user, such as de-DE. An empty region is that of the browser.
alter table users
	add column region text not null default '' check (length(region) <= 16);

-- The name of a model that the caller sent and the catalog does not have, of at most 128 bytes. The column model stays empty then. A
-- check would read the whole table under its lock.
alter table refusals
	add column unknown_model text not null default '';

-- Forms of operators that were sent. A form that is sent twice finds its row. Object is the path of the form.
alter table operator_actions
	drop constraint operator_actions_action_check,
	add constraint operator_actions_action_check check (action in ('add', 'take', 'freeze', 'unfreeze', 'retry', 'form'));
