package account

// erasureStep is one kind of thing of a closed account that is removed, or blanked where books or workers still need the row.
// The statement is about the account $1 and at most $2 rows, and touches none that it has done before; $3 is now.
type erasureStep struct {
	what      string
	statement string
}

// leftovers are everything personal that is kept about an account, in addition to what ends with it at once. Like the chapters of
// an export they know of the tables of all rooms, because what belongs to an account is exactly what names it. Videos and
// assets are only hidden here: their workers then stop what runs, remove what is stored and what upstreams keep.
var leftovers = []erasureStep{
	{"videos", `
		update video_jobs set deleted_at = $3, due_at = case when state = 'creating' then due_at else $3 end where id in (
			select id from video_jobs where account_id = $1 and deleted_at is null limit $2)`},
	{"prompts of videos", `
		update video_jobs set prompt = '', end_user = '', metadata = null where $3::timestamptz is not null and id in (
			select id from video_jobs where account_id = $1 and state in ('completed', 'failed')
				and (prompt <> '' or end_user <> '' or metadata is not null) limit $2)`},
	{"assets", `
		update assets set deleted_at = $3, due_at = $3, claimed_until = null, tries = 0 where id in (
			select id from assets where account_id = $1 and deleted_at is null limit $2)`},
	{"prompts with their versions and links", `
		delete from prompts where $3::timestamptz is not null and id in (select id from prompts where account_id = $1 limit $2)`},
	{"content of calls", `
		delete from content_logs where $3::timestamptz is not null and account_id = $1 and request_id in (
			select request_id from content_logs where account_id = $1 limit $2)`},
	{"runs of the playground", `
		delete from playground_runs where $3::timestamptz is not null and account_id = $1 and (run_id, pane) in (
			select run_id, pane from playground_runs where account_id = $1 limit $2)`},
	{"the choice to keep content", `
		delete from content_log_settings where $3::timestamptz is not null and $2 > 0 and account_id = $1
			and not exists (select from content_logs where account_id = $1)`},
	{"what was read of notices", `
		delete from notification_reads where $3::timestamptz is not null and account_id = $1 and user_id in (
			select user_id from notification_reads where account_id = $1 limit $2)`},
	{"choices about notices", `
		delete from notification_preferences where $3::timestamptz is not null and account_id = $1 and user_id in (
			select user_id from notification_preferences where account_id = $1 limit $2)`},
	{"marks of mails about events", `
		delete from notification_mails where $3::timestamptz is not null and account_id = $1 and (event, subject) in (
			select event, subject from notification_mails where account_id = $1 limit $2)`},
	{"saved views", `
		delete from saved_views where $3::timestamptz is not null and account_id = $1 and (user_id, page, name) in (
			select user_id, page, name from saved_views where account_id = $1 limit $2)`},
	{"networks of keys", `
		delete from key_networks where $3::timestamptz is not null and (key_id, network) in (
			select key_id, network from key_networks where account_id = $1 limit $2) and account_id = $1`},
	{"requests for limits", `
		delete from limit_requests where $3::timestamptz is not null and id in (
			select id from limit_requests where account_id = $1 limit $2)`},
	{"webhook endpoints", `
		update webhook_endpoints set deleted_at = coalesce(deleted_at, $3), updated_at = $3, name = 'deleted',
			url = 'https://deleted.invalid/', secret = '', previous_secret = null, previous_valid_until = null
		where id in (select id from webhook_endpoints where account_id = $1 and name <> 'deleted' limit $2)`},
	{"webhook events", `
		delete from webhook_events where $3::timestamptz is not null and id in (select id from webhook_events where account_id = $1 limit $2)`},
	{"answers that are kept for repetitions", `
		delete from idempotency_keys k where $3::timestamptz is not null and k.account_id = $1 and (k.key, k.operation) in (
			select key, operation from idempotency_keys where account_id = $1 limit $2)`},
	{"refused requests", `
		delete from refusals where $3::timestamptz is not null and account_id = $1 and request_id in (
			select request_id from refusals where account_id = $1 limit $2)`},
	{"end users of requests", `
		update usage_records u set end_user = '' from (
			select request_id, day from usage_records where account_id = $1 and end_user <> '' limit $2) d
		where $3::timestamptz is not null and u.account_id = $1 and u.request_id = d.request_id and u.day = d.day`},
	{"payment account", `
		update payment_accounts set customer_email = '', auto_enabled = false, payment_method = ''
		where $3::timestamptz is not null and $2 > 0 and account_id = $1 and (customer_email <> '' or auto_enabled or payment_method <> '')`},
	{"payers", `
		update topups set email = '' where $3::timestamptz is not null and id in (
			select id from topups where account_id = $1 and email <> '' limit $2)`},
	{"audit log", `
		update audit_entries set ip = '', agent = '', actor_name = '', object_name = '', changes = '[]'
		where $3::timestamptz is not null and id in (
			select id from audit_entries
			where account_id = $1 and (ip <> '' or agent <> '' or actor_name <> '' or object_name <> '' or changes <> '[]') limit $2)`},
}
