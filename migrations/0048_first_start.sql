-- +goose Up

-- Calls of an uncharged account are recorded with what they cost the operator. They need no credit, and nothing is debited.
alter table accounts add column uncharged boolean not null default false;

-- Replicas remember with each key whether its account is uncharged.
create trigger accounts_uncharged_changed after update of uncharged on accounts
	for each row when (old.uncharged is distinct from new.uncharged) execute function notify_keys_of_account();

-- A job keeps the rule of the time at which it began.
alter table holds add column uncharged boolean not null default false;

-- settle_hold is as before, and ends the hold of an uncharged job at no cost.
-- +goose StatementBegin
create or replace function settle_hold(
	p_hold text, p_account text, p_cost bigint, p_transaction text, p_at timestamptz, p_record jsonb,
	out charged bigint, out overrun bigint, out outcome text
) language plpgsql as $$
declare
	h         holds%rowtype;
	v_posted  bigint;
	v_held    bigint;
	v_records usage_records[];
begin
	select * into h from holds where id = p_hold and account_id = p_account for update;
	if not found then
		outcome := 'unknown';
		return;
	end if;
	charged := h.captured_nanos;
	if h.reason in ('settled', 'late') then
		outcome := 'repeated';
		return;
	end if;
	if h.uncharged then
		p_cost := 0;
		p_record := p_record || jsonb_build_object('flags', trim('uncharged ' || coalesce(p_record ->> 'flags', '')));
	end if;
	perform from credit_accounts a where a.id in (p_account, h.budget_id) order by a.id for no key update;
	select a.posted_nanos, a.held_nanos into v_posted, v_held from credit_accounts a where a.id = p_account;
	outcome := case when h.state = 'open' then 'settled' else 'late' end;
	charged := least(p_cost, h.amount_nanos);
	if h.state = 'open' then
		v_held := v_held - h.amount_nanos;
		update credit_accounts a set held_nanos = a.held_nanos - h.amount_nanos, posted_nanos = a.posted_nanos - charged
		where a.id = h.budget_id and a.kind = 'budget';
	else
		charged := least(charged, v_posted - v_held);
		update credit_accounts a set posted_nanos = a.posted_nanos - least(charged, a.posted_nanos - a.held_nanos)
		where a.id = h.budget_id and a.kind = 'budget';
	end if;
	update key_budgets set spent_nanos = spent_nanos + charged where key_id = h.budget_id;
	overrun := p_cost - charged;
	v_posted := v_posted - charged;
	update credit_accounts a set posted_nanos = v_posted, held_nanos = v_held where a.id = p_account;
	update holds set captured_nanos = charged, reason = outcome, closed_at = p_at,
		state = case when charged > 0 then 'captured' else 'released' end
	where id = p_hold;
	perform draw_due(array[p_account], array[charged]);
	v_records := keep_records(read_records(jsonb_build_array(p_record || jsonb_build_object(
		'request_id', p_hold, 'account_id', p_account, 'budget_id', h.budget_id,
		'reserved_nanos', h.amount_nanos, 'cost_nanos', charged, 'overrun_nanos', overrun))), p_transaction, p_at);
	perform count_usage(v_records);
	perform post_charges(p_transaction, p_hold, p_at, array[p_account], array[charged], array[v_posted], overrun);
end $$;
-- +goose StatementEnd

-- The one-time codes of running servers with which the first operator claims a gateway that has none. Only hashes are stored. A server
-- renews its code while it runs, so the code expires with its process.
create table setup_codes (
	hash       bytea primary key check (octet_length(hash) = 32),
	created_at timestamptz not null,
	expires_at timestamptz not null
);
