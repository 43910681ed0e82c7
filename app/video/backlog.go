package video

import (
	"context"
	"time"

	"umg/app/postgres"
)

// These are the limits of what a backlog reports.
const (
	backlogCountMax = 100_000 // More jobs of one kind are reported as this many.
	backlogShownMax = 10      // The backlog lists at most this many stalled jobs.
	backlogSpan     = time.Hour
	backlogLate     = time.Minute // A job is reported as late when its next poll is overdue for longer.
	unansweredMin   = 5           // After so many failed polls in a row, about a minute, a job is reported as unanswered.
)

// Backlog is the state of the jobs of all accounts, for the operator.
type Backlog struct {
	Providers []ProviderBacklog
	// Removals counts ended jobs that are due for a removal of content or for a last look at the provider.
	Removals          int64
	RemovalsSince     *time.Time // RemovalsSince is when the first of them was due.
	Completed, Failed int64      // Completed and Failed count jobs that ended in the last hour.
	Trouble           []Stalled  // Trouble lists the stalled jobs that were created first.
}

// ProviderBacklog are the jobs at one provider that have not ended.
type ProviderBacklog struct {
	Provider   string     `db:"provider"`
	Queued     int64      `db:"queued"` // Queued includes jobs whose submission to the provider is uncertain.
	Running    int64      `db:"running"`
	Storing    int64      `db:"storing"`    // Storing counts jobs whose content is being copied.
	Unanswered int64      `db:"unanswered"` // Unanswered counts jobs whose provider has failed many polls in a row.
	Oldest     time.Time  `db:"oldest"`     // Oldest is when the first of these jobs was created.
	DueSince   *time.Time `db:"due_since"`
}

// Stalled is a job whose next poll is overdue, or whose provider does not answer.
type Stalled struct {
	ID        string    `db:"id"`
	AccountID string    `db:"account_id"`
	Provider  string    `db:"provider"`
	State     State     `db:"state"`
	Tries     int       `db:"tries"`
	DueAt     time.Time `db:"due_at"`
	CreatedAt time.Time `db:"created_at"`
}

// Unanswered reports whether the provider has failed many polls, and not only that a poll is late.
func (j Stalled) Unanswered() bool { return j.Tries >= unansweredMin }

// Backlog reads how jobs stand. It reads only what has not ended, and what ended in the last hour.
func (s *Service) Backlog(ctx context.Context) (b Backlog, err error) {
	now := s.now()
	if b.Providers, err = selectProviders(ctx, s.db, now); err != nil {
		return b, err
	}
	if b.Removals, b.RemovalsSince, err = selectRemovals(ctx, s.db, now); err != nil {
		return b, err
	}
	if b.Completed, b.Failed, err = countEnded(ctx, s.db, now.Add(-backlogSpan)); err != nil {
		return b, err
	}
	b.Trouble, err = selectStalled(ctx, s.db, now)
	return b, err
}

// running is the condition of the index of jobs that have not ended.
const running = `state not in ('completed', 'failed')`

// free is the condition of a job that no worker has at the time $1.
const free = `(claimed_until is null or claimed_until <= $1)`

func selectProviders(ctx context.Context, q postgres.Queryer, now time.Time) (list []ProviderBacklog, err error) {
	err = q.SelectContext(ctx, &list, `
		select provider, count(*) filter (where state in ('creating', 'uncertain', 'queued')) as queued,
			count(*) filter (where state = 'in_progress') as running, count(*) filter (where state = 'storing') as storing,
			count(*) filter (where tries >= $2) as unanswered, min(created_at) as oldest,
			min(due_at) filter (where due_at <= $1 and `+free+`) as due_since
		from (select * from video_jobs where `+running+` limit $3) j group by provider order by provider`, now, unansweredMin, backlogCountMax)
	return list, postgres.StoreError("video: count jobs by provider", err)
}

// selectRemovals counts ended jobs that are due, which all have something to be removed or asked for a last time.
func selectRemovals(ctx context.Context, q postgres.Queryer, now time.Time) (int64, *time.Time, error) {
	var count int64
	var since *time.Time
	err := q.QueryRowxContext(ctx, `
		select count(*), min(due_at) from (
			select due_at from video_jobs where due_at <= $1 and `+free+` and state in ('completed', 'failed') order by due_at limit $2) j`,
		now, backlogCountMax).Scan(&count, &since)
	return count, since, postgres.StoreError("video: count removals", err)
}

func countEnded(ctx context.Context, q postgres.Queryer, since time.Time) (completed, failed int64, err error) {
	err = q.QueryRowxContext(ctx, `
		select count(*) filter (where state = 'completed'), count(*) filter (where state = 'failed')
		from (select state from video_jobs where completed_at > $1 limit $2) j`, since, backlogCountMax).Scan(&completed, &failed)
	return completed, failed, postgres.StoreError("video: count ended jobs", err)
}

func selectStalled(ctx context.Context, q postgres.Queryer, now time.Time) (list []Stalled, err error) {
	err = q.SelectContext(ctx, &list, `
		select id, account_id, provider, state, tries, coalesce(due_at, created_at) as due_at, created_at from video_jobs
		where `+running+` and (tries >= $2 or due_at < $3 and `+free+`)
		order by created_at, id limit $4`, now, unansweredMin, now.Add(-backlogLate), backlogShownMax)
	return list, postgres.StoreError("video: list stalled jobs", err)
}
