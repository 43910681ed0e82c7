-- +goose Up

-- What an account has decided about keeping the content of its calls. No row: nothing is kept. The row is locked by everything that
-- adds to what is kept or takes from it, so that the sum of the bytes holds and nothing slips in behind a deletion.
create table content_settings (
	account_id text primary key references accounts (id),
	keep       text not null check (keep in ('never', 'asked', 'all')),
	days       integer not null check (days between 1 and 90),
	cleared_at timestamptz, -- what began until then was deleted by hand
	kept_bytes bigint not null default 0 check (kept_bytes >= 0),
	changed_at timestamptz not null
);

-- What was asked and answered in calls whose account wants that kept, with secrets taken out. Rows are deleted when their days are over.
create table call_contents (
	account_id    text not null,
	request_id    text not null,
	key_id        text not null, -- empty for the playground
	style         text not null,
	at            timestamptz not null, -- when the call began
	request       text not null,
	request_bytes bigint not null, -- as it was sent
	request_cut   boolean not null,
	answer        text not null,
	answer_bytes  bigint not null,
	answer_cut    boolean not null,
	streamed      boolean not null,
	redacted      integer not null, -- secrets that were taken out
	deleted_at    timestamptz, -- by hand; nothing but the fact is kept then
	deleted_by    text not null default '',
	primary key (account_id, request_id)
);
create index call_contents_at on call_contents (account_id, at);

-- Replicas remember with each key whether the content of its calls is kept.
-- +goose StatementBegin
create function notify_keys_of_content() returns trigger language plpgsql as $$
begin
	perform pg_notify('keys', encode(h, 'hex')) from (
		select secret_hash as h from api_keys where account_id = new.account_id and deleted_at is null
		union all
		select previous_hash from api_keys where account_id = new.account_id and deleted_at is null and previous_hash is not null) k;
	return null;
end $$;
-- +goose StatementEnd

create trigger content_settings_changed after insert or update of keep on content_settings
	for each row execute function notify_keys_of_content();
