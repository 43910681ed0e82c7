package mail

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/postgres"
	"umg/app/workqueue"
)

// jobColumns are those of a job, without the addresses that errors of mail servers name.
const jobColumns = `id, '' as account_id, kind, state as step, attempts as tries,
	regexp_replace(last_error, '[^[:space:]<>]+@[^[:space:]<>]+', '…', 'g') as last_error, due_at, claimed_until, created_at`

// Jobs is the queue of mails for operators. A mail that was given up has lost its body and cannot be sent again.
func (s *Service) Jobs() workqueue.Queue {
	return workqueue.Queue{
		DB: s.db, Now: s.now,
		Rows:  `select ` + jobColumns + ` from mails where state = 'queued'`,
		Ended: `select ` + jobColumns + ` from mails where state = 'failed' and ended_at > $2`,
		Retry: func(ctx context.Context, tx *sqlx.Tx, job workqueue.Job, now time.Time) (bool, error) {
			return postgres.Changed(tx.ExecContext(ctx, `
				update mails set due_at = $2 where id = $1 and state = 'queued' and not coalesce(claimed_until > $2, false)`, job.ID, now))
		},
	}
}
