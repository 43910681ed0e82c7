package account

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/postgres"
	"umg/app/workqueue"
)

// ErasureJobs is the queue of closed accounts that are erased, for operators.
func (s *Service) ErasureJobs() workqueue.Queue {
	return workqueue.Queue{
		DB: s.db, Now: s.o.Now, Rows: `
			select id, id as account_id, 'erase account' as kind, 'closed' as step, 0 as tries, '' as last_error, erase_due_at as due_at,
				null::timestamptz as claimed_until, closed_at as created_at
			from accounts where erase_due_at is not null and closed_at is not null`,
		Retry: func(ctx context.Context, tx *sqlx.Tx, job workqueue.Job, now time.Time) (bool, error) {
			return postgres.Changed(tx.ExecContext(ctx, `
				update accounts set erase_due_at = $2 where id = $1 and erase_due_at is not null and closed_at is not null`, job.ID, now))
		},
	}
}
