package video

import (
	"context"
	"time"

	"umg/app/postgres"
)

// running is the condition of the index of jobs that have not ended.
const running = `state not in ('completed', 'failed')`

// free is the condition of a job that no worker has at the time $1.
const free = `(claimed_until is null or claimed_until <= $1)`

func selectProviders(ctx context.Context, q postgres.Queryer, now time.Time) (list []ProviderBacklog, err error) {
	err = q.SelectContext(ctx, &list, `
		select provider, count(*) filter (where state in ('creating', 'uncertain', 'queued')) as queued,
			count(*) filter (where state = 'in_progress') as running, count(*) filter (where state = 'storing') as storing,
			count(*) filter (where tries >= $2) as unanswered, min(created_at) as oldest, min(due_at) filter (where due_at <= $1 and `+free+`) as due_since
		from (select * from video_jobs where `+running+` limit $3) j group by provider order by provider`, now, unansweredMin, backlogCountMax)
	return list, postgres.StoreError("video: count jobs by provider", err)
}

// selectRemovals counts ended jobs that are due, which all have something to be removed or asked for a last time.
func selectRemovals(ctx context.Context, q postgres.Queryer, now time.Time) (int64, *time.Time, error) {
	var r struct {
		Count int64      `db:"count"`
		Since *time.Time `db:"since"`
	}
	err := q.GetContext(ctx, &r, `
		select count(*) as count, min(due_at) as since from (
			select due_at from video_jobs where due_at <= $1 and `+free+` and state in ('completed', 'failed') order by due_at limit $2) j`,
		now, backlogCountMax)
	return r.Count, r.Since, postgres.StoreError("video: count removals", err)
}

func countEnded(ctx context.Context, q postgres.Queryer, since time.Time) (completed, failed int64, err error) {
	var r struct {
		Completed int64 `db:"completed"`
		Failed    int64 `db:"failed"`
	}
	err = q.GetContext(ctx, &r, `
		select count(*) filter (where state = 'completed') as completed, count(*) filter (where state = 'failed') as failed
		from (select state from video_jobs where completed_at > $1 limit $2) j`, since, backlogCountMax)
	return r.Completed, r.Failed, postgres.StoreError("video: count ended jobs", err)
}

func selectStalled(ctx context.Context, q postgres.Queryer, now time.Time) (list []Stalled, err error) {
	err = q.SelectContext(ctx, &list, `
		select id, account_id, provider, state, tries, coalesce(due_at, created_at) as due_at, created_at from video_jobs
		where `+running+` and (tries >= $2 or due_at < $3 and `+free+`)
		order by created_at, id limit $4`, now, unansweredMin, now.Add(-backlogLate), backlogShownMax)
	return list, postgres.StoreError("video: list stalled jobs", err)
}
