package video

import (
	"context"
	"errors"
	"time"

	"github.com/lib/pq"

	"umg/app/postgres"
)

// claim says what a worker wants to work on.
type claim struct {
	due    time.Time // everything that was due then
	now    time.Time
	until  time.Time // when the claim ends by itself
	copies bool      // content to copy, or everything else
	busy   []string  // providers that get no more calls for now
	away   []string  // providers that cannot be called from here
	limit  int
}

// othersMax is how long after its deadline a job is left to replicas that can call its provider. Then any replica ends it.
const othersMax = 5 * time.Minute

const claimQuery = `
	with due as (
		select id as due_id from video_jobs
		where due_at <= $1 and (claimed_until is null or claimed_until <= $2)
			and (state = 'storing' and deleted_at is null) = $3 and provider <> all($4)
			and (provider <> all($7) or state = 'completed' or deadline_at <= $8)
		order by due_at limit $5 for update skip locked)
	update video_jobs set claimed_until = $6 from due where id = due_id returning ` + columns

// claimDue claims jobs that no worker works on. It skips rows that another worker has locked, and does not wait for
// them.
func claimDue(ctx context.Context, q postgres.Queryer, c claim) (rows []jobRow, err error) {
	err = q.SelectContext(ctx, &rows, claimQuery, c.due, c.now, c.copies, pq.Array(c.busy), c.limit, c.until,
		pq.Array(c.away), c.now.Add(-othersMax))
	return rows, postgres.StoreError("video: claim", err)
}

// postponed is a claimed job that has nothing new, and when to look at it again.
type postponed struct {
	row   *jobRow
	due   time.Time
	tries int
}

// postpone returns claimed jobs, all in one statement. A job that was woken since it was claimed stays due as it was
// woken. A job that another worker has claimed since is not changed. claimed_until becomes the time of the return.
func postpone(ctx context.Context, q postgres.Queryer, now time.Time, list []postponed) error {
	n := len(list)
	ids, tries := make([]string, n), make([]int64, n)
	was, claimed, due := make([]string, n), make([]string, n), make([]string, n)
	for i, p := range list {
		ids[i], tries[i] = p.row.ID, int64(p.tries)
		was[i], claimed[i], due[i] = stamp(*p.row.DueAt), stamp(*p.row.ClaimedUntil), stamp(p.due)
	}
	_, err := q.ExecContext(ctx, `
		update video_jobs j set tries = p.tries, claimed_until = $6,
			due_at = case when j.due_at = p.was then p.due else least(j.due_at, p.due) end
		from unnest($1::text[], $2::timestamptz[], $3::timestamptz[], $4::timestamptz[], $5::integer[]) p (id, was, claimed, due, tries)
		where j.id = p.id and j.claimed_until = p.claimed`,
		pq.Array(ids), pq.Array(was), pq.Array(claimed), pq.Array(due), pq.Array(tries), now)
	return postgres.StoreError("video: postpone", err)
}

// stamp is a moment as the store keeps it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.999999Z07:00") }

// renewClaim extends a claim. It reports false when another worker has the job.
func renewClaim(ctx context.Context, q postgres.Queryer, id string, was, until time.Time) (bool, error) {
	done, err := q.ExecContext(ctx, `update video_jobs set claimed_until = $3 where id = $1 and claimed_until = $2`, id, was, until)
	if err != nil {
		return false, postgres.StoreError("video: renew a claim", err)
	}
	n, err := done.RowsAffected()
	return n == 1, err
}

// setProgress keeps what a running job has come to, without a change of its state.
func setProgress(ctx context.Context, q postgres.Queryer, r *jobRow, progress int, now, due time.Time) error {
	_, err := q.ExecContext(ctx, `
		update video_jobs set progress = greatest(progress, $3), tries = 0, claimed_until = $4,
			due_at = case when due_at = $5 then $6 else least(due_at, $6) end
		where id = $1 and state = $2 and claimed_until = $7`,
		r.ID, string(r.State), progress, now, r.DueAt, due, r.ClaimedUntil)
	return postgres.StoreError("video: set progress", err)
}

// setUpstream keeps what is known of a job at its provider, and gives the job back.
func setUpstream(ctx context.Context, q postgres.Queryer, r *jobRow, upstream string, now, due time.Time) error {
	_, err := q.ExecContext(ctx, `
		update video_jobs set upstream = $2, claimed_until = $3, due_at = $4, tries = tries + 1
		where id = $1 and claimed_until = $5`,
		r.ID, upstream, now, due, r.ClaimedUntil)
	return postgres.StoreError("video: set upstream", err)
}

// setCancelled notes that the provider was told to stop.
func setCancelled(ctx context.Context, q postgres.Queryer, r *jobRow, now, due time.Time) error {
	_, err := q.ExecContext(ctx, `
		update video_jobs set cancelled_at = $2, tries = 0, claimed_until = $2, due_at = $3 where id = $1 and cancelled_at is null`,
		r.ID, now, due)
	return postgres.StoreError("video: set cancelled", err)
}

// setPurged notes that the content of an ended job is gone.
func setPurged(ctx context.Context, q postgres.Queryer, id string, now time.Time) error {
	_, err := q.ExecContext(ctx, `
		update video_jobs set purged_at = $2, due_at = null, claimed_until = null, tries = 0
		where id = $1 and state in ('completed', 'failed')`, id, now)
	return postgres.StoreError("video: set purged", err)
}

// setRest leaves an ended job alone until its content goes, if it has any.
func setRest(ctx context.Context, q postgres.Queryer, id string) error {
	_, err := q.ExecContext(ctx, `
		update video_jobs set due_at = case when purged_at is null then expires_at end, claimed_until = null, tries = 0
		where id = $1 and state in ('completed', 'failed') and deleted_at is null`, id)
	return postgres.StoreError("video: set rest", err)
}

// setDue makes a job due, as part of the transaction that has just changed it.
func setDue(ctx context.Context, q postgres.Queryer, id string, due time.Time) error {
	_, err := q.ExecContext(ctx, `update video_jobs set due_at = $2 where id = $1`, id, due)
	return postgres.StoreError("video: set due", err)
}

// wakeJob makes the job of a token due, though not sooner after the last look than the gap, and says whether there is
// such a job. A failed job whose render may still turn up is looked at once more.
func wakeJob(ctx context.Context, q postgres.Queryer, token string, now time.Time, gap time.Duration) (known bool, err error) {
	err = q.GetContext(ctx, &known, `
		with known as (
			select id as known_id, case
				when claimed_until > $2 then $3::timestamptz
				else greatest($2, coalesce(claimed_until, created_at) + $4 * interval '1 microsecond') end as wake_at
			from video_jobs where callback_token = $1
		), woken as (
			update video_jobs set due_at = wake_at from known
			where id = known_id and purged_at is null and case
				when state = 'completed' then false
				when state = 'failed' then due_at is null and upstream_id is not null and error_code = any($5)
				when state in ('creating', 'storing') then false -- the one is being asked for, the other has its verdict
				else due_at > wake_at or claimed_until > $2 and due_at <= $2 end
		)
		select exists (select from known)`,
		token, now, now.Add(gap), gap.Microseconds(), pq.Array(lateCodes))
	return known, postgres.StoreError("video: wake", err)
}

// uniqueViolation is the condition of a value that another row has.
const uniqueViolation = "23505"

// isDuplicate reports whether a change failed because another job has that render.
func isDuplicate(err error) bool {
	coded, ok := errors.AsType[*pq.Error](err)
	return ok && coded.Code == uniqueViolation
}
