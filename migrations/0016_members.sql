-- +goose Up

-- What people call an account, since when it is closed, and since when nothing personal is left of it. A closed account
-- keeps its rows, because the books name it.
alter table accounts
	add column name text not null default 'Account' check (length(name) between 1 and 80),
	add column closed_at timestamptz,
	add column erase_due_at timestamptz, -- when a worker should look for what is left of it
	add column erased_at timestamptz,
	add constraint accounts_erased_when_closed check (erased_at is null or closed_at is not null);

update accounts a set name = left(split_part(u.email, '@', 1), 60) || '''s account'
from (select distinct on (m.account_id) m.account_id, u.email from memberships m join users u on u.id = m.user_id
	order by m.account_id, m.role <> 'owner', m.created_at, m.user_id) u
where u.account_id = a.id;

create index accounts_erasing on accounts (erase_due_at) where erase_due_at is not null;

-- Nothing begins in a closed account, also when the request was let in before it closed: closing locks the row that this
-- reads, so one of the two waits for the other.
-- +goose StatementBegin
create function refuse_closed() returns trigger language plpgsql as $$
begin
	perform from accounts where id = new.account_id and closed_at is null for key share;
	if not found then
		raise exception 'account % is closed', new.account_id using errcode = 'restrict_violation';
	end if;
	return new;
end $$;
-- +goose StatementEnd

create trigger api_keys_open before insert on api_keys for each row execute function refuse_closed();
create trigger memberships_open before insert on memberships for each row execute function refuse_closed();
create trigger webhook_endpoints_open before insert on webhook_endpoints for each row execute function refuse_closed();
create trigger video_jobs_open before insert on video_jobs for each row execute function refuse_closed();
create trigger assets_open before insert on assets for each row execute function refuse_closed();

-- Who was asked to join an account. The link holds 256 random bits, the row their hash. Of an address at most one is open
-- in an account; the others say how they ended until they are swept.
create table invitations (
	id         text primary key,
	account_id text not null references accounts (id),
	email      text not null check (email = lower(email) and email = btrim(email) and length(email) between 3 and 254),
	role       text not null check (role in ('owner', 'admin', 'developer', 'billing')),
	token_hash bytea not null unique check (octet_length(token_hash) = 32),
	invited_by text references users (id) on delete set null, -- null: a key did
	created_at timestamptz not null,
	sent_at    timestamptz not null, -- the link, last
	expires_at timestamptz not null,
	ended      text check (ended in ('accepted', 'declined', 'revoked', 'replaced')),
	ended_at   timestamptz,
	check ((ended is null) = (ended_at is null))
);

create unique index invitations_open on invitations (account_id, email) where ended is null;
create index invitations_account on invitations (account_id, id desc);
create index invitations_sweep on invitations (expires_at);
