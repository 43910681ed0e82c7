-- +goose Up

-- How many assets an account has that are not deleted. The check holds the limit, whoever races for the last place.
create table asset_counts (
	account_id text primary key references accounts (id),
	live       integer not null constraint asset_counts_limit check (live between 0 and 10000)
);

-- A source that an upstream keeps for an account. A row exists before the upstream is asked, and longer than the
-- upstream's copy: what is due says what is left to do, so that nothing is forgotten on either side.
create table assets (
	id             text primary key,
	account_id     text not null references accounts (id),
	kind           text not null check (kind in ('image', 'video', 'audio')),
	name           text not null check (length(name) <= 200),
	url            text not null check (length(url) between 1 and 2048),
	state          text not null default 'created' check (length(state) between 1 and 64),
	reason         text not null default '',     -- why it failed
	media_type     text not null,                -- what the source was when it was checked
	bytes          bigint not null check (bytes >= 0),
	width          integer not null check (width >= 0),
	height         integer not null check (height >= 0),

	provider       text not null,
	resource_group text not null,
	upstream_id    text not null default '',
	extra          text not null default '{}' check (length(extra) <= 16384), -- a JSON object: what else the upstream says

	pending_at     timestamptz,          -- nobody knows yet whether the upstream has it; hidden meanwhile
	due_at         timestamptz,          -- when a worker should look at it next; null for never
	claimed_until  timestamptz,
	tries          integer not null default 0 check (tries >= 0),
	created_at     timestamptz not null,
	updated_at     timestamptz not null,
	deleted_at     timestamptz,          -- hidden for good, and removed upstream next
	check (pending_at is not null or upstream_id <> ''),
	check (due_at is not null or (pending_at is null and deleted_at is null))
);

create index assets_account on assets (account_id, id desc) where deleted_at is null and pending_at is null;
create index assets_due on assets (due_at) where due_at is not null;

-- Whatever statement makes, hides or removes assets, the count follows in the same transaction. Once a statement, as
-- whole accounts are emptied in one.
-- +goose StatementBegin
create function count_new_assets() returns trigger language plpgsql as $$
begin
	insert into asset_counts as c (account_id, live)
	select account_id, count(*) from added where deleted_at is null group by account_id order by account_id
	on conflict (account_id) do update set live = c.live + excluded.live;
	return null;
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create function count_changed_assets() returns trigger language plpgsql as $$
begin
	update asset_counts c set live = c.live + d.more
	from (select b.account_id, count(*) filter (where a.deleted_at is null) - count(*) filter (where b.deleted_at is null) as more
		from before b join after a on a.id = b.id group by b.account_id) d
	where c.account_id = d.account_id and d.more <> 0;
	return null;
end $$;
-- +goose StatementEnd

-- +goose StatementBegin
create function count_removed_assets() returns trigger language plpgsql as $$
begin
	update asset_counts c set live = c.live - d.fewer
	from (select account_id, count(*) as fewer from removed where deleted_at is null group by account_id) d
	where c.account_id = d.account_id;
	return null;
end $$;
-- +goose StatementEnd

create trigger assets_added after insert on assets
	referencing new table as added for each statement execute function count_new_assets();
create trigger assets_changed after update on assets
	referencing old table as before new table as after for each statement execute function count_changed_assets();
create trigger assets_removed after delete on assets
	referencing old table as removed for each statement execute function count_removed_assets();
