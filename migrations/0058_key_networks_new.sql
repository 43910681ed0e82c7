-- +goose NO TRANSACTION
-- +goose Up

-- Mails about keys look for networks that are new.
create index concurrently if not exists key_networks_since on key_networks (since) where is_new;
