package asset

import (
	"context"
	"time"

	"umg/app/postgres"
)

// These are the limits of what a backlog reports.
const (
	backlogCountMax = 100_000 // More assets of one kind are reported as this many.
	backlogShownMax = 10      // The report lists this many assets.
	backlogSpan     = time.Hour
	backlogSlow     = time.Hour       // An asset that takes longer is reported as slow.
	backlogLate     = 2 * time.Minute // An asset is reported as late when its next look is overdue for longer.
)

// Backlog is the state of the unfinished assets of all accounts, for the operator.
type Backlog struct {
	Following int64      `db:"following"` // Following counts assets that their provider still processes.
	Removing  int64      `db:"removing"`  // Removing counts assets of deletes and of cut creates that their provider may still have.
	Working   int64      `db:"working"`   // Working counts assets that are looked at now.
	Oldest    *time.Time `db:"oldest"`    // Oldest is the time since which the first of them waits.
	DueSince  *time.Time `db:"due_since"` // DueSince is when the oldest unclaimed look was due.
	Settled   int64      `db:"-"`         // Settled counts assets that became ready or failed in the last hour.
	Trouble   []Stalled  `db:"-"`         // Trouble has the ten late or slow assets that wait longest.
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
	if b, err = postgres.Get[Backlog](ctx, s.db, `
		select count(*) filter (where `+leaving+`) as removing, count(*) filter (where not `+leaving+`) as following,
			count(*) filter (where claimed_until > $1) as working, min(`+waitsSince+`) as oldest,
			min(due_at) filter (where due_at <= $1 and not coalesce(claimed_until > $1, false)) as due_since
		from (select * from assets where due_at is not null limit $2) a`, now, backlogCountMax); err != nil {
		return b, postgres.StoreError("asset: count assets", err)
	}
	if b.Settled, err = postgres.Get[int64](ctx, s.db, `
		select count(*) from (select from assets where due_at is null and updated_at > $1 limit $2) a`,
		now.Add(-backlogSpan), backlogCountMax); err != nil {
		return b, postgres.StoreError("asset: count settled assets", err)
	}
	b.Trouble, err = postgres.Select[Stalled](ctx, s.db, `
		select id, account_id, provider, state, `+leaving+` as removing, tries, due_at, `+waitsSince+` as since from assets
		where due_at is not null and (`+waitsSince+` < $2 or due_at < $3 and (claimed_until is null or claimed_until <= $1))
		order by 8, id limit $4`, now, now.Add(-backlogSlow), now.Add(-backlogLate), backlogShownMax)
	return b, postgres.StoreError("asset: list assets that wait", err)
}

// leaving is the condition of a row to remove, and waitsSince is when a row began to wait.
const (
	leaving    = `(deleted_at is not null or pending_at is not null)`
	waitsSince = `coalesce(deleted_at, pending_at, created_at)`
)
