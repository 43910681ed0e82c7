package mail

import (
	"context"
	"time"

	"umg/app/postgres"
)

// These limits bound the report about the queue.
const (
	backlogCountMax   = 100_000 // More mails are counted as this many.
	backlogShownMax   = 10      // The report lists this many mails.
	backlogSpan       = time.Hour
	backlogFailedSpan = 24 * time.Hour
	backlogLate       = 10 * time.Minute // The report lists mails that wait for longer.
)

// Backlog is the state of the mail queue. Operators read it, and it contains no addresses.
type Backlog struct {
	Delivers bool       // Delivers means that a mail server is configured. Without one, mails are only stored.
	Due      int64      `db:"due"`      // Due counts mails that could be sent now.
	Sending  int64      `db:"sending"`  // Sending counts mails with a running attempt.
	Retrying int64      `db:"retrying"` // Retrying counts mails that failed and wait for their next attempt.
	Oldest   *time.Time `db:"oldest"`   // Oldest is when the oldest waiting mail was written.
	Sent     int64      `db:"-"`        // Sent counts mails of the last hour.
	Failed   int64      `db:"-"`        // Failed counts mails given up in the last 24 hours.
	Trouble  []Stalled  `db:"-"`        // Trouble has the ten oldest mails that have waited too long.
}

// Stalled is a mail that could not be sent for a while.
type Stalled struct {
	ID        string    `db:"id"`
	Kind      string    `db:"kind"`
	Attempts  int       `db:"attempts"`
	DueAt     time.Time `db:"due_at"`
	CreatedAt time.Time `db:"created_at"`
}

// Backlog reads how mails stand. It reads only what waits, and what ended lately.
func (s *Service) Backlog(ctx context.Context) (b Backlog, err error) {
	now := s.now()
	if b, err = postgres.Get[Backlog](ctx, s.db, `
		select count(*) filter (where claimed_until > $1) as sending,
			count(*) filter (where due_at <= $1 and not coalesce(claimed_until > $1, false)) as due,
			count(*) filter (where due_at > $1 and not coalesce(claimed_until > $1, false)) as retrying,
			min(created_at) as oldest
		from (select due_at, claimed_until, created_at from mails where state = 'queued' limit $2) m`, now, backlogCountMax); err != nil {
		return b, postgres.StoreError("mail: count mails", err)
	}
	b.Delivers = s.o.SMTP != nil
	if b.Sent, err = countEnded(ctx, s.db, Sent, now.Add(-backlogSpan)); err != nil {
		return b, postgres.StoreError("mail: count sent mails", err)
	}
	if b.Failed, err = countEnded(ctx, s.db, Failed, now.Add(-backlogFailedSpan)); err != nil {
		return b, postgres.StoreError("mail: count failed mails", err)
	}
	b.Trouble, err = postgres.Select[Stalled](ctx, s.db, `
		select id, kind, attempts, due_at, created_at from mails where state = 'queued' and created_at < $1 order by created_at, id limit $2`,
		now.Add(-backlogLate), backlogShownMax)
	return b, postgres.StoreError("mail: list mails that wait", err)
}

func countEnded(ctx context.Context, q postgres.Queryer, state State, since time.Time) (int64, error) {
	return postgres.Get[int64](ctx, q, `
		select count(*) from (select from mails where ended_at > $2 and state = $1 limit $3) m`, state, since, backlogCountMax)
}
