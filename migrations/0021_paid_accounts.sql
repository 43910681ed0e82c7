-- +goose Up

-- Since when an account has had credit besides the trial's: bought, or given by an operator. Where there is too much to do,
-- its calls come before those of accounts that never had any.
alter table accounts add column paid_at timestamptz;

update accounts a set paid_at = g.since
from (select account_id, min(created_at) as since from grants where kind <> 'trial' group by account_id) g
where g.account_id = a.id;

-- +goose StatementBegin
create function note_first_credit() returns trigger language plpgsql as $$
begin
	update accounts set paid_at = new.created_at where id = new.account_id and paid_at is null;
	return null;
end $$;
-- +goose StatementEnd

create trigger grants_first_credit after insert on grants
	for each row when (new.kind <> 'trial') execute function note_first_credit();

-- Replicas that have a key of the account in memory read it again.
create trigger accounts_paid_changed after update of paid_at on accounts
	for each row when (old.paid_at is distinct from new.paid_at) execute function notify_keys_of_account();
