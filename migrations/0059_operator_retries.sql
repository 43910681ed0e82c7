-- +goose Up

-- Operators also retry jobs of queues by hand. A job such as a mail may belong to no account. Object is the id of the job.
alter table operator_actions
	alter column account_id drop not null,
	add column object text not null default '' check (length(object) <= 200),
	drop constraint operator_actions_action_check,
	add constraint operator_actions_action_check check (action in ('add', 'take', 'freeze', 'unfreeze', 'retry'));
