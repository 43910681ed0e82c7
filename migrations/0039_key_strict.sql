-- +goose Up
-- A strict key is refused for hints that a model does not take; for other keys they are left out and listed.
alter table api_keys add column strict boolean not null default false;

create or replace trigger api_keys_changed
	after insert or delete or update of secret_hash, previous_hash, previous_until, account_id, name, env, error_mode, models, scopes,
		addresses, requests_per_minute, tokens_per_minute, log_content, strict, concurrency, expires_at, disabled_at, deleted_at
	on api_keys for each row execute function notify_key();
