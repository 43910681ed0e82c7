package webhook

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/postgres"
	"umg/app/workqueue"
)

const jobsFrom = `
	select d.id, d.account_id, v.type as kind, d.state as step, d.tries,
		case when d.last_status is not null then 'HTTP ' || d.last_status || ' ' else '' end || d.last_error as last_error,
		d.due_at, d.claimed_until, d.created_at
	from webhook_deliveries d join webhook_events v on v.id = d.event_id `

// Jobs is the queue of deliveries for operators. Neither the address of an endpoint nor a body is part of it.
func (s *Service) Jobs() workqueue.Queue {
	return workqueue.Queue{
		DB: s.db, Now: s.now, Rows: jobsFrom + `where d.state = 'pending'`,
		Ended: jobsFrom + `where d.state = 'failed' and d.updated_at > $2`, Retry: s.retryJob,
	}
}

// retryJob does what Resend does. A delivery of an endpoint that gets no more events, or that was sent as often as it may be, is not
// retried.
func (s *Service) retryJob(ctx context.Context, tx *sqlx.Tx, job workqueue.Job, now time.Time) (bool, error) {
	row, err := postgres.Get[struct {
		Endpoint string `db:"endpoint_id"`
		Open     bool   `db:"open"`
	}](ctx, tx, `
		select d.endpoint_id, e.status <> 'disabled' and e.deleted_at is null and d.attempts < $2 as open
		from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id where d.id = $1 for update of e`, job.ID, attemptsMax)
	if err != nil || !row.Open {
		return false, err
	}
	if err := endPause(ctx, tx, job.AccountID, row.Endpoint); err != nil {
		return false, err
	}
	return true, requeue(ctx, tx, job.AccountID, job.ID, now)
}
