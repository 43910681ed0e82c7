-- +goose NO TRANSACTION
-- +goose Up

-- Mails about keys look for those that expire soon.
create index concurrently if not exists api_keys_expiring on api_keys (expires_at)
	where expires_at is not null and deleted_at is null;
