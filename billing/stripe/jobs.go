package stripe

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/postgres"
	"umg/app/workqueue"
)

// Jobs is the queue of top-ups whose payment is looked up again, for operators.
func (s *Service) Jobs() workqueue.Queue {
	return workqueue.Queue{
		DB: s.db, Now: s.now, Rows: `
			select id, account_id, case when auto then 'automatic top-up' else 'top-up' end as kind, lower(state) as step, 0 as tries,
				'' as last_error, due_at, null::timestamptz as claimed_until, created_at
			from topups where due_at is not null`,
		Retry: func(ctx context.Context, tx *sqlx.Tx, job workqueue.Job, now time.Time) (bool, error) {
			return postgres.Changed(tx.ExecContext(ctx, `update topups set due_at = $2 where id = $1 and due_at is not null`, job.ID, now))
		},
	}
}
