package lease

import (
	"context"
	"sync/atomic"
	"time"

	"umg/app"
)

type counters struct {
	applied, direct, retried, undelivered, quarantined, orphans, marksMissed, takes, fenced    atomic.Int64
	refusedUnfunded, refusedBudget, refusedLimit, refusedFrozen, refusedAway, refusedUnwritten atomic.Int64
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

// Applied counts the settlements that are in the ledger.
func (m *Manager) Applied() int64 { return m.counters.applied.Load() }

// Stats reads the counters. It visits every lease.
func (m *Manager) Stats() Stats {
	c := &m.counters
	s := Stats{
		Running: m.calls.running.Load(), Kept: m.retries.count(), Applied: c.applied.Load(), Orphans: c.orphans.Load(),
		Direct: c.direct.Load(), Undelivered: c.undelivered.Load(), Quarantined: c.quarantined.Load(), MarksMissed: c.marksMissed.Load(),
		Takes: c.takes.Load(), Fenced: c.fenced.Load(), RefusedUnfunded: c.refusedUnfunded.Load(), RefusedBudget: c.refusedBudget.Load(),
		RefusedLimit:  c.refusedLimit.Load(),
		RefusedFrozen: c.refusedFrozen.Load(), RefusedAway: c.refusedAway.Load(), RefusedUnwritten: c.refusedUnwritten.Load(),
	}
	if m.o.Journal != nil {
		s.Unapplied = int64(m.o.Journal.Last() - min(m.appliedTo(), m.o.Journal.Last()))
	} else {
		s.Unapplied = int64(m.applier.database.pending())
	}
	if b := m.table.Load(); b != nil {
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

// appliedPollEvery is how often Booked checks the position.
const appliedPollEvery = 2 * time.Millisecond

// Booked waits until everything settled here so far is in the ledger, for a caller who reads it there next. It fails when ctx ends first.
func (m *Manager) Booked(ctx context.Context) error {
	if m.o.Journal == nil {
		return nil // Without a journal a durable settlement is already in the ledger.
	}
	for last := m.o.Journal.Last(); m.appliedTo() < last; {
		offer(m.applier.hurry, struct{}{})
		if err := app.Sleep(ctx, appliedPollEvery); err != nil {
			return err
		}
	}
	return nil
}
