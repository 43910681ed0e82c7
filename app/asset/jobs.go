package asset

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/postgres"
	"umg/app/workqueue"
)

// Jobs is the queue of assets that are not ready or are to be removed, for operators. Neither the name of an asset nor its address is
// part of it.
func (s *Service) Jobs() workqueue.Queue {
	return workqueue.Queue{
		DB: s.db, Now: s.now, Rows: `
			select id, account_id, case when ` + leaving + ` then 'remove at ' else 'follow at ' end || provider as kind, state as step, tries,
				'' as last_error, due_at, claimed_until, ` + waitsSince + ` as created_at
			from assets where due_at is not null`,
		Retry: func(ctx context.Context, tx *sqlx.Tx, job workqueue.Job, now time.Time) (bool, error) {
			return postgres.Changed(tx.ExecContext(ctx, `
				update assets set due_at = $2, tries = 0
				where id = $1 and due_at is not null and not coalesce(claimed_until > $2, false)`, job.ID, now))
		},
	}
}
