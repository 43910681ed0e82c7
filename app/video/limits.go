package video

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/catalog"
	"umg/app/postgres"
	"umg/app/ratelimit"
)

const (
	attemptsMax        = 6
	createStandard     = 30 * time.Second
	abandonedAfter     = time.Minute    // a job whose creation has not ended by then was left by a process that died
	holdFor            = 72 * time.Hour // longer than any verdict is waited for
	storeMax           = 5 * time.Second
	openMax            = 10 * time.Second // for a hold and its job, tries included
	opensMax           = 4
	silentMax          = 2700 * time.Millisecond // for a store that does not answer at all, before the call is answered 503
	silentFindMax      = 200 * time.Millisecond  // for one more look at such a store
	recallsMax         = 2                       // recalls of credit in leases before a job is refused for lack of credit
	recallWait         = 120 * time.Millisecond
	runningRetryAfter  = 15 * time.Second
	retryAfterMax      = time.Minute
	day                = 24 * time.Hour
	quotesPerMinuteMax = 120
)

// lasting is a context for the store that a caller who leaves does not end.
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), storeMax)
}

// enter counts a call in its limits. Quotes have a limit of their own, so that reading prices does not use up the limit of
// videos.
func (s *Service) enter(c *Call, m *catalog.Model, quote bool) (*ratelimit.Slot, error) {
	factor := max(c.LimitFactor, 1)
	ask := ratelimit.Request{
		AccountID: c.Principal.AccountID, Model: m.ID, Concurrency: ratelimit.ConcurrencyStandard * factor,
		ModelConcurrency: int(m.Limits.Concurrency) * factor, RequestsPerMinute: m.Limits.RequestsPerMinute * int64(factor),
		RequestsPerDay: m.Limits.RequestsPerDay * int64(factor), Key: c.Key,
		Account: s.o.Limits.Account(factor),
	}
	if quote {
		ask.Key, ask.Account = ratelimit.Key{}, ratelimit.Account{}
		ask.Model, ask.RequestsPerMinute, ask.RequestsPerDay = "quotes of "+m.ID, quotesPerMinuteMax*int64(factor), 0
	}
	if c.Place != nil && !quote {
		return c.Place, c.Place.Join(ask)
	}
	return s.o.Limits.Take(ask)
}

// checkJobs refuses a job beyond what an account may run at once or start in a day. The caller holds the row of the
// account's credit, so that calls of one account count one after the other.
func checkJobs(ctx context.Context, tx *sqlx.Tx, c *Call, m *catalog.Model, now time.Time) error {
	factor := int64(max(c.LimitFactor, 1))
	if most := m.Limits.JobsRunning * factor; most > 0 {
		var jobs int64 // those that have not ended, the hidden ones too
		err := tx.GetContext(ctx, &jobs, `select count(*) from video_jobs where account_id = $1 and model = $2 and `+running,
			c.Principal.AccountID, m.ID)
		if err != nil {
			return postgres.StoreError("video: running jobs", err)
		}
		if jobs >= most {
			return app.Errorf(app.Exhausted, "rate_limit_exceeded",
				"This account may render %s of %s at a time, and does. Wait for one to finish, or delete one.", videoCount(most), m.ID).
				After(runningRetryAfter)
		}
	}
	if most := m.Limits.JobsPerDay * factor; most > 0 {
		made, oldest, err := jobsSince(ctx, tx, c.Principal.AccountID, m.ID, now.Add(-day))
		if err != nil {
			return err
		}
		if made >= most {
			wait := oldest.Add(day).Sub(now)
			return app.Errorf(app.Exhausted, "rate_limit_exceeded",
				"This account may make %s of %s in 24 hours, and has. The next is possible in %s.", videoCount(most), m.ID, waitText(wait)).
				After(min(max(wait, time.Second), retryAfterMax))
		}
	}
	return nil
}

// jobsSince counts the jobs of an account and a model that were made since a moment, and when the first of them was. What
// no provider has taken does not count.
func jobsSince(ctx context.Context, q postgres.Queryer, accountID, model string, since time.Time) (n int64, first time.Time, err error) {
	err = q.QueryRowxContext(ctx, `
		select count(*), coalesce(min(created_at), $3) from video_jobs
		where account_id = $1 and model = $2 and created_at > $3 and (state <> 'failed' or upstream_id is not null)`,
		accountID, model, since).Scan(&n, &first)
	return n, first, postgres.StoreError("video: jobs of a day", err)
}

// Use is how many jobs of a model count towards the limits of an account.
type Use struct {
	Running int64 `db:"running"`
	Today   int64 `db:"today"` // made in the last 24 hours
}

// Uses are those of an account by model, for models that have any.
func (s *Service) Uses(ctx context.Context, accountID string) (map[string]Use, error) {
	var rows []struct {
		Model string `db:"model"`
		Use
	}
	err := s.db.SelectContext(ctx, &rows, `
		select model, count(*) filter (where state not in ('completed', 'failed')) as running,
			count(*) filter (where created_at > $2 and (state <> 'failed' or upstream_id is not null)) as today
		from video_jobs where account_id = $1 and (created_at > $2 or state not in ('completed', 'failed')) group by model`,
		accountID, s.o.Now().Add(-day))
	uses := make(map[string]Use, len(rows))
	for _, r := range rows {
		uses[r.Model] = r.Use
	}
	return uses, postgres.StoreError("video: uses", err)
}

// waitText is a wait as people say it.
func waitText(wait time.Duration) string {
	if minutes := int64(math.Ceil(wait.Minutes())); minutes < 120 {
		return fmt.Sprintf("%d min", max(minutes, 1))
	}
	return fmt.Sprintf("%d h", int64(math.Ceil(wait.Hours())))
}

// videoCount is a number of videos.
func videoCount(n int64) string {
	if n == 1 {
		return "1 video"
	}
	return strconv.FormatInt(n, 10) + " videos"
}
