package asset

import (
	"context"
	"time"
)

// Limits of what is told of the queue.
const (
	backlogCountMax = 100_000 // of each kind; more is told as so many
	backlogShownMax = 10      // assets
	backlogSpan     = time.Hour
	backlogSlow     = time.Hour       // that an asset may take before it is told
	backlogLate     = 2 * time.Minute // that a look may be overdue before it is told
)

// Backlog is how the assets of all accounts stand that are not done with, for whoever runs the gateway.
type Backlog struct {
	Following int64      `db:"following"` // their provider is not ready with them
	Removing  int64      `db:"removing"`  // deleted, or left by a create that was cut; their provider may still have them
	Working   int64      `db:"working"`   // are looked at now
	Oldest    *time.Time `db:"oldest"`    // since when the first of them waits
	DueSince  *time.Time `db:"due_since"` // when the first look was due that nobody has taken yet
	Settled   int64      `db:"-"`         // became ready or failed in the last hour
	Trouble   []Stalled  `db:"-"`         // the ten that wait longest, of those that wait for long
}

// Stalled is an asset that takes long.
type Stalled struct {
	ID        string    `db:"id"`
	AccountID string    `db:"account_id"`
	Provider  string    `db:"provider"`
	State     State     `db:"state"`
	Removing  bool      `db:"removing"`
	Tries     int       `db:"tries"`
	DueAt     time.Time `db:"due_at"`
	Since     time.Time `db:"since"`
}

// Backlog reads how assets stand. It reads only what is not done with, and what was done in the last hour.
func (s *Service) Backlog(ctx context.Context) (b Backlog, err error) {
	now := s.now()
	if b, err = selectUnsettled(ctx, s.db, now); err != nil {
		return b, wrap("count assets", err)
	}
	if b.Settled, err = countSettled(ctx, s.db, now.Add(-backlogSpan)); err != nil {
		return b, wrap("count settled assets", err)
	}
	b.Trouble, err = selectStalled(ctx, s.db, now)
	return b, wrap("list assets that wait", err)
}
