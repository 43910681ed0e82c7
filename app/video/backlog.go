package video

import (
	"context"
	"time"
)

// These are the limits of what a backlog reports.
const (
	backlogCountMax = 100_000 // More jobs of one kind are reported as this many.
	backlogShownMax = 10      // jobs
	backlogSpan     = time.Hour
	backlogLate     = time.Minute // A job is reported as late when its next poll is overdue for longer.
	unansweredMin   = 5           // looks without an answer before they are told: the provider is silent for a minute by then
)

// Backlog is the state of the jobs of all accounts, for the operator.
type Backlog struct {
	Providers         []ProviderBacklog
	Removals          int64      // ended jobs with content to remove, or renders to ask for a last time, which are due
	RemovalsSince     *time.Time // when the first of them was due
	Completed, Failed int64      // in the last hour
	Trouble           []Stalled  // the ten that were made first
}

// ProviderBacklog are the jobs at one provider that have not ended.
type ProviderBacklog struct {
	Provider   string     `db:"provider"`
	Queued     int64      `db:"queued"` // Queued includes jobs whose submission to the provider is uncertain.
	Running    int64      `db:"running"`
	Storing    int64      `db:"storing"`    // Storing counts jobs whose content is being copied.
	Unanswered int64      `db:"unanswered"` // Unanswered counts jobs whose provider has failed many polls in a row.
	Oldest     time.Time  `db:"oldest"`     // when the first of them was made
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
