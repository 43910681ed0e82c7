package video

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/postgres"
	"umg/app/workqueue"
)

const (
	jobsFrom = `
		select id, account_id, 'render at ' || provider as kind, state as step, tries, '' as last_error, due_at, claimed_until, created_at
		from video_jobs `
	picturesDue = `state = 'completed' and due_at < expires_at and deleted_at is null`
)

// Jobs is the queue of jobs that have not ended, for operators. Their prompts are not part of it. A job that is being handed over is not
// retried: its provider may have it.
func (s *Service) Jobs() workqueue.Queue {
	return workqueue.Queue{DB: s.db, Now: s.now, Rows: jobsFrom + `where ` + running, Retry: retryWhere(running + ` and state <> 'creating'`)}
}

// PictureJobs is the queue of completed videos whose pictures are made late.
func (s *Service) PictureJobs() workqueue.Queue {
	return workqueue.Queue{DB: s.db, Now: s.now, Rows: `
		select id, account_id, 'thumbnail and spritesheet' as kind, state as step, tries, '' as last_error, due_at, claimed_until,
			completed_at as created_at
		from video_jobs where ` + picturesDue, Retry: retryWhere(picturesDue)}
}

// retryWhere makes a job due and wakes the workers, if it is in that state and no worker has claimed it.
func retryWhere(condition string) func(context.Context, *sqlx.Tx, workqueue.Job, time.Time) (bool, error) {
	return func(ctx context.Context, tx *sqlx.Tx, job workqueue.Job, now time.Time) (bool, error) {
		return postgres.Changed(tx.ExecContext(ctx, `
			with due as (
				update video_jobs set due_at = $2, tries = 0 where id = $1 and not coalesce(claimed_until > $2, false) and `+condition+`
				returning id)
			select pg_notify('`+workChannel+`', '') from due`, job.ID, now))
	}
}
