package lease

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"umg/billing"
	"umg/billing/failpoint"
	"umg/billing/journal"
)

// These limits apply to a recovery.
const (
	registersMax = 1_000            // A restored database may be this many epochs behind the replica.
	renewEvery   = 10 * time.Second // This is the interval of the heartbeat.
)

// Recover begins an epoch: it registers the replica, settles the calls that a crash left open at their last mark, applies the
// journal to the ledger, returns the leases of earlier epochs, and then takes calls. The process may be killed at any step
// and Recover repeated. Without the database, or with a broken journal, it fails and the manager takes no calls.
//
// A running process calls it again when its epoch has ended. The calls that still run are then left alone.
func (m *Manager) Recover(ctx context.Context) error {
	registered := m.mono()
	start, err := m.o.Registry.Register(ctx, m.o.ReplicaID)
	if err != nil {
		return fmt.Errorf("lease: recover: %w", err)
	}
	a := &m.applier
	if b := m.table.Load(); b != nil {
		a.highest = max(a.highest, b.replica.Epoch)
	}
	var open map[string][]byte
	if m.o.Journal != nil {
		if open, err = m.readJournal(start); err != nil {
			return fmt.Errorf("lease: recover: %w", err)
		}
		a.applied.Store(uint64(start.Applied))
		a.tried = nil
	}
	for range registersMax {
		if start.Replica.Epoch > a.highest {
			break
		}
		if start, err = m.o.Registry.Register(ctx, m.o.ReplicaID); err != nil {
			return fmt.Errorf("lease: recover: %w", err)
		}
	}
	a.highest = max(a.highest, start.Replica.Epoch)
	if err := m.finishCalls(ctx, start.Replica, open, registered); err != nil {
		return fmt.Errorf("lease: recover: %w", err)
	}
	if err := m.o.Registry.Retire(ctx, start.Replica); err != nil {
		return fmt.Errorf("lease: recover: %w", err)
	}
	failpoint.At(failpoint.C12)
	renewed := m.mono()
	if err := m.o.Bank.Renew(ctx, start.Replica); err != nil {
		return fmt.Errorf("lease: recover: %w", err)
	}
	m.table.Store(newLeaseTable(start.Replica, renewed+leaseTrust))
	select {
	case <-m.fenced: // A pending signal concerned the epoch before.
	default:
	}
	m.o.Log.Info("lease manager ready", "replica", start.Replica.ID, "epoch", start.Replica.Epoch, "crashed_calls", len(open))
	return nil
}

// readJournal returns the last marks of the calls that never ended as settlements, by call id.
func (m *Manager) readJournal(start Start) (map[string][]byte, error) {
	log := m.o.Journal
	if err := log.StartAfter(start.Applied, start.Open); err != nil {
		return nil, err
	}
	if first := log.First(); first > start.Applied+1 && log.Last() >= first {
		return nil, fmt.Errorf("the books applied the journal up to record %d, and it begins with record %d: records in between are gone. "+
			"Put the missing files back, or move the journal's folder away to begin a new one", start.Applied, first)
	}
	from := start.Applied + 1
	if start.Open > 0 {
		from = min(from, start.Open)
	}
	open := newOpenCalls()
	for at := max(from, log.First()) - 1; ; {
		to := at
		for r, err := range log.Read(at, batchRecordsMax, batchBytesMax) {
			if err != nil {
				return nil, err
			}
			if err := m.readRecord(open, r); err != nil {
				return nil, fmt.Errorf("record %d of the journal: %w", r.LSN, err)
			}
			to = r.LSN
		}
		if to == at {
			return open.settlements()
		}
		at = to
	}
}

// readRecord notes which call a record begins, continues or ends. Calls that this process still runs are left out.
func (m *Manager) readRecord(open *openCalls, r journal.Record) error {
	switch r.Kind {
	case kindChange:
		return open.change(r.Data)
	case kindSettlement, kindMark:
	default:
		return fmt.Errorf("its kind %q is of a later release: start that release again", string(rune(r.Kind)))
	}
	recorded, err := billing.DecodeSettlement(r.Data)
	if err != nil {
		if r.Kind == kindSettlement {
			return nil // The applier applies or quarantines it with all others.
		}
		return err
	}
	m.applier.highest = max(m.applier.highest, recorded.Hold.Epoch)
	if r.Kind == kindSettlement {
		open.end(recorded.Hold.ID)
	} else if !m.calls.has(recorded.Hold.ID) {
		open.mark(recorded.Hold.ID, r.LSN, r.Data)
	}
	return nil
}

// finishCalls settles the calls that a crash left open, and applies the whole journal.
func (m *Manager) finishCalls(ctx context.Context, r Replica, open map[string][]byte, renewed time.Duration) error {
	if m.o.Journal == nil {
		return m.settleMarks(ctx, r)
	}
	var last journal.LSN
	for _, id := range slices.Sorted(maps.Keys(open)) {
		at, err := m.o.Journal.Append(kindSettlement, open[id])
		if err != nil {
			return err
		}
		last = at
	}
	if last > 0 {
		if err := m.o.Journal.Wait(ctx, last); err != nil {
			return err
		}
	}
	m.counters.orphans.Add(int64(len(open)))
	failpoint.At(failpoint.C12)
	for more := true; more; {
		if m.mono()-renewed >= renewEvery {
			renewed = m.mono()
			if err := m.o.Bank.Renew(ctx, r); err != nil {
				return err
			}
		}
		var err error
		if more, err = m.apply(ctx, r); err != nil {
			if errors.Is(err, errMoved) {
				return fmt.Errorf("%w: does another process use the replica id %s?", err, r.ID)
			}
			return err
		}
	}
	return nil
}
