-- +goose Up

-- Mail on its way. A row is written in the transaction that makes it true, so nothing is told that did not happen, and
-- nothing that happened goes untold. Bodies hold links that sign people in, so rows go a week after they ended.
create table mails (
	id            text primary key,
	kind          text not null check (length(kind) between 1 and 40),
	recipient     text not null check (length(recipient) between 3 and 254),
	subject       text not null check (length(subject) between 1 and 200),
	body_text     text not null check (body_text <> ''),
	body_html     text not null default '',
	state         text not null check (state in ('queued', 'sent', 'failed', 'kept')), -- kept: no mail server, shown only
	attempts      integer not null default 0 check (attempts >= 0), -- begun so far
	due_at        timestamptz,             -- of the next attempt; null when there is none
	claimed_until timestamptz,             -- one replica is at it
	last_error    text not null default '',
	created_at    timestamptz not null,
	ended_at      timestamptz,             -- sent, given up or kept
	check ((state = 'queued') = (due_at is not null)),
	check ((state = 'queued') = (ended_at is null)),
	check (state = 'queued' or claimed_until is null)
);

create index mails_due on mails (due_at, id) where state = 'queued';
create index mails_newest on mails (created_at desc, id desc);
create index mails_ended on mails (ended_at) where ended_at is not null;
