-- +goose Up

-- The mails about events of an account that were queued, so that each is sent once. The subject names the object and what happened to
-- it. Rows are deleted when the event is too old to be found again.
create table notification_mails (
	account_id text not null references accounts (id) on delete cascade,
	event      text not null,
	subject    text not null,
	sent_at    timestamptz not null,
	primary key (account_id, event, subject)
);

create index notification_mails_age on notification_mails (sent_at);
