package video

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"umg/app/catalog"
	"umg/app/postgres"
	"umg/app/ratelimit"
)

const (
	attemptsMax        = 6
	createStandard     = 30 * time.Second
	abandonedAfter     = time.Minute    // The worker takes over a job whose creation has not ended after this time.
	holdFor            = 72 * time.Hour // A hold lasts longer than any job waits for a verdict.
	storeMax           = 5 * time.Second
	openMax            = 10 * time.Second // This is the timeout of all tries to open a job.
	opensMax           = 4
	silentMax          = 2700 * time.Millisecond // A try to open a job fails if the database does not answer within this time.
	silentFindMax      = 200 * time.Millisecond  // One more look at a database that did not answer has this timeout.
	recallsMax         = 2                       // Leases are recalled this often before a job is refused for lack of credit.
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

// enter counts a call in its limits. Quotes have a limit of their own, so that reading prices does not use up the limit of videos.
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

// Use is how many jobs of a model count towards the limits of an account.
type Use struct {
	Running int64 `db:"running"`
	Today   int64 `db:"today"` // Today counts jobs that were created in the last 24 hours.
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
