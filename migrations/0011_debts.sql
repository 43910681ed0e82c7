-- +goose Up

-- Whether it is the debt that keeps the account frozen, and nobody else: then paying it lets the account spend again.
alter table receivables add column froze boolean not null default false;

-- settle_debt pays what an account owes from what is free of its credit now, and lets it spend again when that was all
-- that froze it. Credit that was out on leases when it was to be taken back is not free then, but a moment later. It is
-- drawn from what was bought first, the youngest first, as when credit is taken back.
-- +goose StatementBegin
create function settle_debt(
	p_account text, p_transaction text, p_at timestamptz, out taken bigint, out owed bigint, out freed boolean
) language plpgsql as $$
declare
	v_posted bigint;
	v_free   bigint;
	v_due    bigint;
	v_take   bigint;
	g        record;
begin
	taken := 0;
	owed := 0;
	freed := false;
	select posted_nanos, posted_nanos - held_nanos into v_posted, v_free
	from credit_accounts where id = p_account and kind = 'customer' for no key update;
	select owed_nanos into v_due from receivables where account_id = p_account;
	if v_due is null then
		return;
	end if;
	taken := least(v_free, v_due);
	owed := v_due - taken;
	if taken > 0 then
		insert into ledger_transactions (id, kind, ref, at, meta)
		values (p_transaction, 'refund', 'debt:' || p_account || '/' || p_transaction, p_at,
			'{"kind": "refund", "reason": "Paid what was owed", "operator": ""}');
		v_due := taken;
		for g in
			select id, remaining_nanos from grants where account_id = p_account and not spent
			order by kind <> 'purchased', created_at desc, id desc
		loop
			exit when v_due = 0;
			v_take := least(v_due, g.remaining_nanos);
			update grants set remaining_nanos = remaining_nanos - v_take where id = g.id;
			v_due := v_due - v_take;
		end loop;
		update credit_accounts set posted_nanos = posted_nanos - taken where id = p_account;
		update receivables set owed_nanos = owed_nanos - taken where account_id = p_account;
		insert into ledger_entries (transaction_id, account_id, amount_nanos, posted_after)
		values (p_transaction, p_account, -taken, v_posted - taken), (p_transaction, 'internal:receivables', taken, null);
	end if;
	if owed = 0 then
		update receivables set froze = false where account_id = p_account and froze;
		if found then
			update accounts set frozen_at = null, frozen_reason = '' where id = p_account and frozen_at is not null;
			freed := found;
		end if;
	end if;
end $$;
-- +goose StatementEnd
