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

// Stats are what a till has done since it was made, and how it stands now.
type Stats struct {
	Running          int64      // calls that hold credit
	Leases           int        // with or without credit
	Granted          app.Amount // credit that leases hold, reserved or free
	Reserved         app.Amount
	Epoch            int64
	Unapplied        int64 // records that the books do not have yet
	Kept             int   // settlements that neither journal nor books took yet
	Applied          int64 // settlements
	Orphans          int64 // calls that a crash cut, settled at their last mark
	Direct           int64 // settlements written to the books without the journal
	Undelivered      int64 // answers that were kept back because they could not be recorded
	Quarantined      int64 // settlements that the books refused
	MarksMissed      int64
	Takes            int64 // of credit from the books
	Fenced           int64 // epochs that were over before their run
	RefusedUnfunded  int64
	RefusedBudget    int64
	RefusedLimit     int64
	RefusedFrozen    int64
	RefusedAway      int64
	RefusedUnwritten int64 // because the journal had no room
}

// Stats reads the counters. It looks at every lease.
func (t *Till) Stats() Stats {
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

// bookedEvery is how often Booked looks.
const bookedEvery = 2 * time.Millisecond

// Booked waits until everything that was settled here so far is in the books, for readers who want to see it there. It
// fails when ctx ends first.
func (t *Till) Booked(ctx context.Context) error {
	if t.o.Journal == nil {
		return nil // a settlement is in the books when it is durable
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
