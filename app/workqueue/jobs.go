package workqueue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

// These limits apply to what operators read of a queue.
const (
	JobsPage    = 50      // A page has this many jobs.
	JobCountMax = 100_000 // Queues with more jobs are counted to this many.
	jobTextMax  = 200     // A search text has at most this many bytes.
	// GivenUpSpan is how long jobs that were given up are listed.
	GivenUpSpan = 24 * time.Hour
)

// JobState is how far a job is.
type JobState string

// These are the states of jobs.
const (
	JobWaiting JobState = "waiting" // No attempt has failed, and the job is due or will be.
	JobFailing JobState = "failing" // The last attempt failed, and another follows.
	JobWorking JobState = "working" // A worker has claimed the job.
	JobGivenUp JobState = "given_up"
)

// Job is one row of a queue as operators see it. It holds neither secrets nor content of customers.
type Job struct {
	ID string `db:"id"`
	// AccountID is empty for a job of no account.
	AccountID string `db:"account_id"`
	// Kind names what the job does, such as the kind of a mail.
	Kind string `db:"kind"`
	// Step is the state that the owner of the table gives the job.
	Step string `db:"step"`
	// Tries counts the failed attempts.
	Tries     int    `db:"tries"`
	LastError string `db:"last_error"`
	// DueAt is the time of the next attempt. It is nil when none follows.
	DueAt        *time.Time `db:"due_at"`
	ClaimedUntil *time.Time `db:"claimed_until"`
	CreatedAt    time.Time  `db:"created_at"`
	State        JobState   `db:"state"`
}

// JobQuery narrows a list of jobs.
type JobQuery struct {
	// State is empty for jobs of all states.
	State JobState
	// Text is a part of the id, of the kind or of the account's id.
	Text string
	// After is the id of the last job of the page before.
	After string
}

// JobCounts are the jobs of a queue.
type JobCounts struct {
	// Waiting does not count the jobs that are worked on.
	Waiting int64 `db:"waiting"`
	Working int64 `db:"working"`
	// Failing counts the waiting jobs whose last attempt failed.
	Failing int64      `db:"failing"`
	Oldest  *time.Time `db:"oldest"`
	// DueSince is when the first job became due that no worker has claimed. It is nil when there is none.
	DueSince *time.Time `db:"due_since"`
}

// Queue lets operators read the jobs of one table and make one due. The package that owns the table fills it in.
type Queue struct {
	DB  *sqlx.DB
	Now app.Clock
	// Rows selects the columns of Job, without State, of the jobs that wait. It may use $1, the time. Ended does so for the jobs that
	// were given up since $2; it may be empty.
	Rows, Ended string
	// Retry makes a job due and ends its backoff. It returns false for a job that cannot be retried any more. It changes nothing of an
	// attempt that is under way.
	Retry func(ctx context.Context, tx *sqlx.Tx, job Job, now time.Time) (bool, error)
}

// from is the table of all jobs with their states.
func (q Queue) from() string {
	const columns = `id, account_id, kind, step, tries, last_error, due_at, claimed_until, created_at`
	text := `(select ` + columns + `, case when claimed_until > $1::timestamptz then 'working' when tries > 0 then 'failing' else 'waiting' end
		as state from (` + q.Rows + `) waiting where $2::timestamptz is not null`
	if q.Ended != "" {
		text += ` union all select ` + columns + `, 'given_up' as state from (` + q.Ended + `) ended`
	}
	return text + `) jobs`
}

// times are the values of $1 and $2.
func (q Queue) times() []any {
	now := q.Now().UTC()
	return []any{now, now.Add(-GivenUpSpan)}
}

// Count counts the jobs that wait, to 100,000.
func (q Queue) Count(ctx context.Context) (JobCounts, error) {
	counts, err := postgres.Get[JobCounts](ctx, q.DB, `
		select count(*) filter (where not coalesce(claimed_until > $1, false)) as waiting,
			count(*) filter (where claimed_until > $1) as working,
			count(*) filter (where tries > 0 and not coalesce(claimed_until > $1, false)) as failing,
			min(created_at) as oldest, min(due_at) filter (where due_at <= $1 and not coalesce(claimed_until > $1, false)) as due_since
		from (select * from (`+q.Rows+`) waiting limit $2) jobs`, q.Now().UTC(), JobCountMax)
	return counts, postgres.StoreError("workqueue: count jobs", err)
}

// List returns a page of jobs, oldest first, and whether more follow.
func (q Queue) List(ctx context.Context, by JobQuery) (list []Job, more bool, err error) {
	text := strings.ToLower(strings.TrimSpace(by.Text))
	if len(text) > jobTextMax || !app.Storable(text) || !app.Storable(by.After) {
		return nil, false, nil // No job has such a text.
	}
	where, args := []string{"true"}, q.times()
	narrow := func(condition string, value any) {
		args = append(args, value)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	if by.State != "" {
		narrow("state = $%d", string(by.State))
	}
	if text != "" {
		narrow("(position($%[1]d in lower(id)) > 0 or position($%[1]d in lower(kind)) > 0 or account_id = $%[1]d)", text)
	}
	if by.After != "" {
		narrow("(created_at, id) > (select created_at, id from "+q.from()+" where id = $%d)", by.After)
	}
	args = append(args, JobsPage+1)
	list, err = postgres.Select[Job](ctx, q.DB, `select * from `+q.from()+` where `+strings.Join(where, " and ")+
		fmt.Sprintf(` order by created_at, id limit $%d`, len(args)), args...)
	return list[:min(len(list), JobsPage)], len(list) > JobsPage, postgres.StoreError("workqueue: list jobs", err)
}

// Find reads one job. A job that is done, or was given up long ago, is not found.
func (q Queue) Find(ctx context.Context, id string) (Job, error) {
	return q.find(ctx, q.DB, id)
}

func (q Queue) find(ctx context.Context, db postgres.Queryer, id string) (Job, error) {
	if !app.Storable(id) {
		return Job{}, errNoJob()
	}
	job, err := postgres.Get[Job](ctx, db, `select * from `+q.from()+` where id = $3`, append(q.times(), id)...)
	if errors.Is(err, sql.ErrNoRows) {
		return Job{}, errNoJob()
	}
	return job, postgres.StoreError("workqueue: read a job", err)
}

// RetryNow makes a job due in the caller's transaction, and returns it as it was before.
func (q Queue) RetryNow(ctx context.Context, tx *sqlx.Tx, id string) (Job, error) {
	job, err := q.find(ctx, tx, id)
	if err != nil {
		return Job{}, err
	}
	if job.State == JobWorking {
		return Job{}, app.Errorf(app.Conflict, "job_running", "A worker is at this job now. Wait for the end of its attempt.")
	}
	done, err := q.Retry(ctx, tx, job, q.Now().UTC())
	if err == nil && !done {
		err = app.Errorf(app.Conflict, "job_not_retryable", "This job cannot be retried in its present state.")
	}
	return job, err
}

func errNoJob() error {
	return app.Errorf(app.NotFound, "job_not_found", "There is no such job. It may be done.")
}
