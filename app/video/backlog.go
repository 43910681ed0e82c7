package video

import (
	"context"
	"time"
)

// Limits of what is told of the queue.
const (
	backlogCountMax = 100_000 // of each kind; more is told as so many
	backlogShownMax = 10      // jobs
	backlogSpan     = time.Hour
	backlogLate     = time.Minute // that a look may be overdue before it is told
	backlogVain     = 5           // looks without an answer before they are told: the provider is silent for a minute by then
)

// Backlog is how the jobs of all accounts stand, for whoever runs the gateway.
type Backlog struct {
	Providers         []ProviderBacklog
	Removals          int64      // ended jobs with content to remove, or renders to ask for a last time, which are due
	RemovalsSince     *time.Time // when the first of them was due
	Completed, Failed int64      // in the last hour
	Trouble           []Stalled  // the ten that were made first
}

// ProviderBacklog are the jobs at one provider that have not ended.
type ProviderBacklog struct {
	Provider string     `db:"provider"`
	Queued   int64      `db:"queued"` // with those of which nobody knows yet whether the provider has them
	Running  int64      `db:"running"`
	Storing  int64      `db:"storing"` // their content is copied
	Vain     int64      `db:"vain"`    // their provider was asked again and again in vain
	Oldest   time.Time  `db:"oldest"`  // when the first of them was made
	DueSince *time.Time `db:"due_since"`
}

// Stalled is a job that nobody looks at in time, or that its provider tells nothing of.
type Stalled struct {
	ID        string    `db:"id"`
	AccountID string    `db:"account_id"`
	Provider  string    `db:"provider"`
	State     State     `db:"state"`
	Tries     int       `db:"tries"`
	DueAt     time.Time `db:"due_at"`
	CreatedAt time.Time `db:"created_at"`
}

// Vain reports whether its provider was asked in vain, and not only late.
func (j Stalled) Vain() bool { return j.Tries >= backlogVain }

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
