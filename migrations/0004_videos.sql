-- +goose Up

alter table routes drop constraint routes_style_check;
alter table routes add constraint routes_style_check
	check (style in ('', 'chat', 'messages', 'responses', 'native', 'videos', 'operations', 'tasks'));

-- A render from the moment its credit is held. Rows are never deleted: usage names them. Ids sort by time, so they are
-- the cursor of lists. The id of a job is also the id of its hold.
create table video_jobs (
	id             text primary key,
	account_id     text not null references accounts (id),
	key_id         text not null,          -- empty for the console
	user_id        text not null,          -- empty for the API
	model          text not null,
	prompt         text not null,
	size           text not null check (size ~ '^[0-9]+x[0-9]+$'),
	seconds        integer not null check (seconds > 0),
	end_user       text not null default '',
	remixed_from   text references video_jobs (id),
	image_type     text not null default '', -- media type of the first frame that came with it

	provider       text not null,
	style          text not null,          -- how the provider is spoken to
	upstream_model text not null,
	upstream_id    text,                   -- unknown until the provider has answered
	upstream       jsonb,                  -- what the provider said last of the files
	metadata       jsonb,                  -- what it says beside the result

	state          text not null check (state in ('creating', 'uncertain', 'queued', 'in_progress', 'storing', 'completed', 'failed')),
	progress       smallint not null default 0 check (progress between 0 and 100),
	error_code     text not null default '',
	error_message  text not null default '',
	content        jsonb not null default '{}', -- by variant: {"type", "bytes", "etag"}

	rate_card_id   text not null,
	hold_nanos     bigint not null check (hold_nanos >= 0),
	cost_nanos     bigint check (cost_nanos >= 0), -- null until the job has ended

	due_at         timestamptz,            -- when a worker should look at it next; null for never
	claimed_until  timestamptz,
	tries          integer not null default 0 check (tries >= 0), -- of the present step that brought nothing new
	deadline_at    timestamptz not null,   -- without a verdict until then it has failed
	callback_token text unique,            -- what the provider may call us back with

	created_at     timestamptz not null,
	started_at     timestamptz,
	completed_at   timestamptz,            -- when it ended, either way
	expires_at     timestamptz,            -- when its content goes
	deleted_at     timestamptz,            -- hidden from then on
	cancelled_at   timestamptz,            -- when the provider was told to stop
	purged_at      timestamptz,            -- when its content went

	check ((state in ('completed', 'failed')) = (completed_at is not null)),
	check ((state in ('completed', 'failed')) = (cost_nanos is not null)),
	check (cost_nanos <= hold_nanos),
	check (state <> 'completed' or progress = 100),
	check (state <> 'failed' or error_code <> '')
);

create unique index video_jobs_upstream on video_jobs (provider, upstream_id) where upstream_id is not null;
create index video_jobs_list on video_jobs (account_id, id desc) where deleted_at is null;
create index video_jobs_due on video_jobs (due_at) where due_at is not null;
create index video_jobs_running on video_jobs (account_id, model) where state not in ('completed', 'failed');
create index video_jobs_day on video_jobs (account_id, model, created_at);

-- What has ended stays as it ended, whatever a slow worker or a late upstream says.
-- +goose StatementBegin
create function video_jobs_end_once() returns trigger language plpgsql as $$
begin
	if old.state in ('completed', 'failed') and new.state <> old.state then
		raise exception 'video job % has ended as %', old.id, old.state using errcode = 'restrict_violation';
	end if;
	return new;
end $$;
-- +goose StatementEnd
create trigger video_jobs_final before update of state on video_jobs for each row execute function video_jobs_end_once();

-- Whoever watches a job hears of each change that a client can see. Workers hear of new states and deletes only, after
-- which something may be due at once.
-- +goose StatementBegin
create function notify_video() returns trigger language plpgsql as $$
begin
	perform pg_notify('videos', new.id);
	if tg_op = 'UPDATE' and (new.state <> old.state or new.deleted_at is distinct from old.deleted_at) then
		perform pg_notify('video_work', '');
	end if;
	return null;
end $$;
-- +goose StatementEnd
create trigger video_jobs_changed after insert or update of state, progress, deleted_at on video_jobs
	for each row execute function notify_video();
