package operator

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
	"umg/app/workqueue"
)

const retriesShown = 10

// JobRetry is who retried a job, and when.
type JobRetry struct {
	Operator string    `db:"operator"`
	At       time.Time `db:"at"`
}

// Retry makes a job of a queue due now, and ends its backoff.
type Retry struct {
	Queue     workqueue.Queue
	QueueName string // QueueName is the queue in the audit log, such as webhooks.
	JobID     string
	Operator  string
	From      app.Origin
	Once      string // Once is from Service.Once; a retry sent twice with it is made once.
}

// RetryJob makes a job due now. It returns false for a retry that was made before. The audit log of the job's account tells of it; a job
// of no account, such as a mail, is only in the list of Retries.
func (d *Service) RetryJob(ctx context.Context, r Retry) (done bool, err error) {
	if r.Operator == "" || r.Once == "" || len(r.Once) > onceBytesMax {
		return false, app.Errorf(app.Invalid, "invalid_once", "The form is incomplete. Open the page again.")
	}
	err = postgres.InTx(ctx, d.db, func(tx *sqlx.Tx) error {
		made, err := postgres.Get[bool](ctx, tx, `select exists (select from operator_actions where idempotency_key = $1)`, r.Once)
		if err != nil || made {
			return err
		}
		job, err := r.Queue.RetryNow(ctx, tx, r.JobID)
		if err != nil {
			return err
		}
		done, err = postgres.Changed(tx.ExecContext(ctx, `
			insert into operator_actions (idempotency_key, account_id, action, operator, at, object) values ($1, nullif($2, ''), 'retry', $3, $4, $5)
			on conflict (idempotency_key) do nothing`, r.Once, job.AccountID, r.Operator, d.o.Now().UTC(), job.ID))
		if err != nil || !done || job.AccountID == "" {
			return err
		}
		return d.history.Write(ctx, tx, app.Principal{AccountID: job.AccountID, From: r.From}, audit.Event{
			Action: "job.retried", Object: job.ID, Operator: true, Changes: []audit.Change{{Field: "queue", To: r.QueueName}},
		})
	})
	return done && err == nil, postgres.StoreError("operator: retry a job", err)
}

// JobRetries are the latest retries of a job, the newest first.
func (d *Service) JobRetries(ctx context.Context, jobID string) ([]JobRetry, error) {
	list, err := postgres.Select[JobRetry](ctx, d.db, `
		select operator, at from operator_actions where object = $1 and action = 'retry' order by at desc limit $2`, jobID, retriesShown)
	return list, postgres.StoreError("operator: list retries of a job", err)
}
