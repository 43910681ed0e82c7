-- +goose Up

-- A limit that is lowered below what leases and jobs hold leaves that to them. What they give back is above the limit
-- then, and must not be spent by anybody else.
-- +goose StatementBegin
create function cap_budget() returns trigger language plpgsql as $$
declare
	v_left bigint := (select limit_nanos - spent_nanos from key_budgets where key_id = new.id);
begin
	new.posted_nanos := least(new.posted_nanos, greatest(new.held_nanos, v_left));
	return new;
end $$;
-- +goose StatementEnd

create trigger credit_accounts_budget_capped before update of held_nanos on credit_accounts
	for each row when (new.kind = 'budget' and new.held_nanos < old.held_nanos) execute function cap_budget();
