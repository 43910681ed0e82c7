package account

import (
	"context"
	"time"

	"umg/app/postgres"
)

// These limits bound the report about erasures.
const (
	erasureCountMax = 100_000
	erasureShownMax = 10
	erasureLate     = 10 * time.Minute // A round that is overdue for longer is reported.
)

// Erasures reports closed accounts that may still have data to erase. Operators read it.
type Erasures struct {
	Waiting  int64      `db:"waiting"`
	Oldest   *time.Time `db:"oldest"`    // Oldest is when the first of them was closed.
	DueSince *time.Time `db:"due_since"` // DueSince is the due time of the round that is overdue longest.
	Trouble  []Erasure  `db:"-"`         // Trouble has the ten that are overdue longest.
}

// Erasure is an account that waits to be erased.
type Erasure struct {
	AccountID string    `db:"id"`
	ClosedAt  time.Time `db:"closed_at"`
	DueAt     time.Time `db:"erase_due_at"`
}

// Erasures reads how erasing stands. It reads only accounts that are being erased.
func (s *Service) Erasures(ctx context.Context) (e Erasures, err error) {
	now := s.o.Now().UTC()
	if e, err = postgres.Get[Erasures](ctx, s.db, `
		select count(*) as waiting, min(closed_at) as oldest, min(erase_due_at) filter (where erase_due_at <= $1) as due_since
		from (select closed_at, erase_due_at from accounts where erase_due_at is not null and closed_at is not null limit $2) a`,
		now, erasureCountMax); err != nil {
		return e, postgres.StoreError("account: count erasures", err)
	}
	e.Trouble, err = postgres.Select[Erasure](ctx, s.db, `
		select id, closed_at, erase_due_at from accounts where erase_due_at < $1 and closed_at is not null
		order by erase_due_at, id limit $2`, now.Add(-erasureLate), erasureShownMax)
	return e, postgres.StoreError("account: list erasures", err)
}
