package lease

import (
	"context"
	"sync/atomic"
	"time"

	"umg/app"
)

type counters struct {
	applied, direct, kept, undelivered, quarantined, orphans, marksMissed, takes, fenced   atomic.Int64
	refusedUnfunded, refusedBudget, refusedLimit, refusedFrozen, refusedAway, refusedPaper atomic.Int64
}

// Stats are the lease manager's counters since it was made, and its present state.
type Stats struct {
	Running          int64      // These calls hold credit.
	Leases           int        // This counts leases with and without credit.
	Granted          app.Amount // This is the credit in leases, reserved or free.
	Reserved         app.Amount
	Epoch            int64
	Unapplied        int64 // These journal records are not in the ledger yet.
	Kept             int   // These settlements are in neither the journal nor the ledger yet.
	Applied          int64 // These settlements are in the ledger.
	Orphans          int64 // These calls were cut by a crash and settled at their last mark.
	Direct           int64 // These settlements were written to the ledger without the journal.
	Undelivered      int64 // These answers were withheld because they could not be recorded.
	Quarantined      int64 // The ledger rejected these settlements.
	MarksMissed      int64
	Takes            int64 // These takes asked the database for credit.
	Fenced           int64 // These epochs ended before their process did.
	RefusedUnfunded  int64
	RefusedBudget    int64
	RefusedLimit     int64
	RefusedFrozen    int64
	RefusedAway      int64
	RefusedUnwritten int64 // These calls were refused because the journal had no space.
}

// Stats reads the counters. It visits every lease.
func (t *Manager) Stats() Stats {
	c := &t.counters
	s := Stats{
		Running: t.calls.running.Load(), Kept: t.later.count(), Applied: c.applied.Load(), Orphans: c.orphans.Load(),
		Direct: c.direct.Load(), Undelivered: c.undelivered.Load(), Quarantined: c.quarantined.Load(), MarksMissed: c.marksMissed.Load(),
		Takes: c.takes.Load(), Fenced: c.fenced.Load(), RefusedUnfunded: c.refusedUnfunded.Load(), RefusedBudget: c.refusedBudget.Load(),
		RefusedLimit:  c.refusedLimit.Load(),
		RefusedFrozen: c.refusedFrozen.Load(), RefusedAway: c.refusedAway.Load(), RefusedUnwritten: c.refusedPaper.Load(),
	}
	if t.o.Journal != nil {
		s.Unapplied = int64(t.o.Journal.Last() - min(t.appliedTo(), t.o.Journal.Last()))
	} else {
		s.Unapplied = int64(t.applier.committer.pending())
	}
	if b := t.book.Load(); b != nil {
		s.Epoch = b.replica.Epoch
		b.each(func(l *lease) {
			l.mu.Lock()
			s.Leases++
			s.Granted += l.granted - l.returned - l.spent
			s.Reserved += l.reserved
			l.mu.Unlock()
		})
	}
	return s
}

// bookedEvery is how often Booked checks the position.
const bookedEvery = 2 * time.Millisecond

// Booked waits until everything settled here so far is in the ledger, for a caller who reads it there next. It fails when ctx
// ends first.
func (t *Manager) Booked(ctx context.Context) error {
	if t.o.Journal == nil {
		return nil // Without a journal a durable settlement is already in the ledger.
	}
	for last := t.o.Journal.Last(); t.appliedTo() < last; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(bookedEvery):
		}
	}
	return nil
}
