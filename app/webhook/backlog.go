package webhook

import (
	"context"
	"time"

	"umg/app/postgres"
)

// These are the limits of what a backlog reports.
const (
	backlogCountMax   = 100_000 // More deliveries of one kind are reported as this many.
	backlogShownMax   = 10      // deliveries, one of each endpoint
	backlogSpan       = time.Hour
	backlogFailedSpan = 24 * time.Hour
	backlogLate       = time.Minute // A delivery is reported as late when it is overdue for longer.
)

// Backlog is the state of the deliveries of all accounts, for the operator.
type Backlog struct {
	Pending   int64      `db:"pending"`
	Due       int64      `db:"due"`      // could be sent now
	Sending   int64      `db:"sending"`  // are under way
	Retrying  int64      `db:"retrying"` // failed, and wait for their next attempt
	Held      int64      `db:"held"`     // their endpoint is paused or disabled, or their account frozen
	Oldest    *time.Time `db:"oldest"`   // when the first of the pending was made
	DueSince  *time.Time `db:"-"`        // the time since which a delivery could be sent; nil when none can
	Delivered int64      `db:"-"`        // in the last hour
	Failed    int64      `db:"-"`        // given up in the last 24 hours
	Trouble   []Stalled  `db:"-"`        // the ten that wait longest to be sent, one of each endpoint
}

// Stalled is a delivery that is due and that no worker has sent.
type Stalled struct {
	ID        string    `db:"id"`
	AccountID string    `db:"account_id"`
	Endpoint  string    `db:"endpoint_id"`
	Attempts  int       `db:"attempts"`
	DueAt     time.Time `db:"due_at"`
	CreatedAt time.Time `db:"created_at"`
}

// Backlog reads how deliveries stand. It reads only what is pending, and what ended lately.
func (s *Service) Backlog(ctx context.Context) (b Backlog, err error) {
	now := s.now()
	if b, err = selectPending(ctx, s.db, now); err != nil {
		return b, postgres.StoreError("webhook: count deliveries", err)
	}
	if b.Delivered, err = countEnded(ctx, s.db, Delivered, now.Add(-backlogSpan)); err != nil {
		return b, postgres.StoreError("webhook: count what was delivered", err)
	}
	if b.Failed, err = countEnded(ctx, s.db, Failed, now.Add(-backlogFailedSpan)); err != nil {
		return b, postgres.StoreError("webhook: count what failed", err)
	}
	waiting, err := selectWaiting(ctx, s.db, now)
	if err != nil {
		return b, postgres.StoreError("webhook: list what is overdue", err)
	}
	for i, d := range waiting {
		if i == 0 {
			b.DueSince = &d.DueAt
		}
		if now.Sub(d.DueAt) >= backlogLate {
			b.Trouble = append(b.Trouble, d)
		}
	}
	return b, nil
}
