package lease

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"umg/billing"
	"umg/billing/failpoint"
	"umg/billing/journal"
)

// cursorEvery is how often the ledger's cursor moves over journal records that charge nothing.
const cursorEvery = time.Second

// A batch that takes the database longer than slowBatch, or that exceeds the statement timeout, is halved, down to one
// record. Later batches double again when one takes less than quickBatch.
const (
	slowBatch  = time.Second
	quickBatch = 250 * time.Millisecond
)

// errMoved means that the ledger's cursor is not where this epoch left it: the database was restored, or another process moved the cursor.
var errMoved = errors.New("lease: the books are not where this run left them")

// errBehind means that the ledger already has part of a batch, from a step of this epoch whose answer was lost.
var errBehind = errors.New("lease: the books are further than this run knew")

// applier is the state of the goroutine that applies settlements to the ledger. Recover and Run use it one after the other.
type applier struct {
	applied atomic.Uint64 // The journal is applied up to this position.
	hurry   chan struct{} // Hurry ends the wait for more settlements, because a caller waits for those that are there.
	highest int64         // This is the highest epoch that this replica ever had.
	moved   time.Duration // The cursor moved last at this time.
	read    readAhead
	// Steps with an unknown outcome may have moved the cursor here. There is at most one position per record of a batch.
	tried    []journal.LSN
	marked   time.Duration // Marks were last written at this time, without a journal.
	entries  []entry       // These are the settlements of the last batch, and data is what they contain.
	data     []byte
	size     batchSize
	database *databaseLog // The database log is nil when there is a journal.
}

// readAhead is a range of the journal that was read and has no settlement. While streams only make marks, each pass continues
// where the one before it ended.
type readAhead struct{ from, to journal.LSN }

// next is where to read on when the journal is applied up to a position.
func (r readAhead) next(applied journal.LSN) journal.LSN {
	if r.from == applied {
		return max(applied, r.to)
	}
	return applied
}

// entry is one journal record to apply.
type entry struct {
	at   journal.LSN
	data []byte
}

// wake signals that settlements wait for a transaction. It is nil with a journal, because then no caller waits for the ledger.
func (a *applier) wake() <-chan struct{} {
	if a.database == nil {
		return nil
	}
	return a.database.wake
}

// batchSize is the largest number of records in a batch. It adapts to the speed of the database.
type batchSize struct{ halvings atomic.Int32 }

func (s *batchSize) max() int { return max(1, batchRecordsMax>>s.halvings.Load()) }

// took records how long a batch took, or that it exceeded the statement timeout. It reports whether a smaller batch remains to be tried.
func (s *batchSize) took(d time.Duration, err error) (smaller bool) {
	switch slow := errors.Is(err, ErrSlow); {
	case (slow || err == nil && d > slowBatch) && s.max() > 1:
		s.halvings.Add(1)
		return slow
	case err == nil && d < quickBatch && s.halvings.Load() > 0:
		s.halvings.Add(-1)
	}
	return false
}

func (m *Manager) appliedTo() journal.LSN { return journal.LSN(m.applier.applied.Load()) }

// apply writes a batch of durable settlements to the ledger and reports whether there are more.
func (m *Manager) apply(ctx context.Context, r Replica) (more bool, err error) {
	if m.applier.database != nil {
		return m.commit(ctx, r)
	}
	from := m.appliedTo()
	entries, to, more, err := m.collect(from)
	if err != nil || to == from {
		return false, err
	}
	if len(entries) == 0 {
		m.applier.read = readAhead{from, to}
	}
	if len(entries) == 0 && !more && m.mono()-m.applier.moved < cursorEvery {
		return false, nil
	}
	open := min(m.calls.firstMark(m.o.Journal.Last()+1), to+1)
	began := m.mono()
	err = m.applyEntries(ctx, r, Batch{From: from, To: to, Open: open}, entries)
	if m.resize(m.mono()-began, err) || errors.Is(err, errBehind) {
		return true, nil
	}
	return more && err == nil, err
}

// resize adapts the size of the next batch to how long this one took. It reports whether the caller must retry with a smaller batch.
func (m *Manager) resize(took time.Duration, err error) (smaller bool) {
	smaller = m.applier.size.took(took, err)
	if smaller {
		m.o.Log.Warn("settlement batch too slow, halving", "records_max", m.applier.size.max(), "took", took.String())
	}
	return smaller
}

// collect reads the next settlements from the journal and returns the position it read up to. They are valid until the next call, which
// uses their memory again.
func (m *Manager) collect(from journal.LSN) (entries []entry, to journal.LSN, more bool, err error) {
	records, size, most := 0, 0, m.applier.size.max()
	to, entries = m.applier.read.next(from), m.applier.entries[:0]
	data := m.applier.data[:0]
	for r, err := range m.o.Journal.Read(to, most, batchBytesMax) {
		if err != nil {
			return nil, to, false, err
		}
		to = r.LSN
		records++
		size += len(r.Data)
		if r.Kind == kindSettlement {
			data = append(data, r.Data...)
			entries = append(entries, entry{r.LSN, data[len(data)-len(r.Data):]})
		}
	}
	m.applier.entries, m.applier.data = entries, data
	return entries, to, records == most || size >= batchBytesMax, nil
}

// applyEntries applies a batch. When the ledger rejects the batch for its content, applyEntries halves it until the record at
// fault is alone, and quarantines that record. All other records are applied.
func (m *Manager) applyEntries(ctx context.Context, r Replica, b Batch, entries []entry) error {
	b.Records = make([][]byte, len(entries))
	for i, e := range entries {
		b.Records[i] = e.data
	}
	if failpoint.On(failpoint.CursorFirst) && len(entries) > 0 {
		if _, err := m.o.Bank.Apply(ctx, r, Batch{From: b.From, To: b.To, Open: b.Open}); err != nil {
			return err
		}
		b.From = b.To
	}
	at, err := m.o.Bank.Apply(ctx, r, b)
	if len(entries) > 0 {
		failpoint.At(failpoint.C10)
	}
	switch {
	case err == nil && at != b.To && (at <= b.From || !slices.Contains(m.applier.tried, at)):
		return errMoved
	case err == nil:
		m.applier.applied.Store(uint64(at))
		m.applier.moved, m.applier.tried = m.mono(), nil
		m.o.Journal.Applied(at, min(b.Open, at+1))
		known, _ := slices.BinarySearchFunc(entries, at+1, func(e entry, to journal.LSN) int { return cmp.Compare(e.at, to) })
		m.counters.applied.Add(int64(known))
		if at != b.To {
			return errBehind
		}
		return nil
	case isUnavailable(err) && !slices.Contains(m.applier.tried, b.To):
		m.applier.tried = append(m.applier.tried, b.To)
		return err
	case transient(err) || len(entries) == 0:
		return err
	case len(entries) == 1:
		m.quarantine(entries[0].data, err)
		return m.applyEntries(ctx, r, b, nil)
	}
	half := len(entries) / 2
	first, second := b, b
	first.To = entries[half].at - 1
	first.Open = min(b.Open, first.To+1)
	second.From = first.To
	if err := m.applyEntries(ctx, r, first, entries[:half]); err != nil {
		return err
	}
	return m.applyEntries(ctx, r, second, entries[half:])
}

// quarantine sets aside a record that the ledger rejects. The journal keeps the record for days, and the log contains all of it.
func (m *Manager) quarantine(record []byte, err error) {
	m.counters.quarantined.Add(1)
	if recorded, err := billing.DecodeSettlement(record); err == nil && m.table.Load() != nil {
		for _, creditAccountID := range [...]string{recorded.Hold.AccountID, recorded.Hold.BudgetID} {
			if l := m.table.Load().find(creditAccountID); l != nil {
				l.markDoubtful()
			}
		}
	}
	m.o.Log.Error("settlement quarantined",
		"record", string(record), "error", err)
}

// commit is apply without a journal: it writes the settlements of many calls in one transaction, and their callers wait for it.
func (m *Manager) commit(ctx context.Context, r Replica) (more bool, err error) {
	c := m.applier.database
	now := m.mono()
	if b := m.table.Load(); b != nil && !b.live(now) {
		lost, _ := c.next(batchRecordsMax, false)
		c.finish(lost, errAway("The service could not reach its books for too long."))
		return len(lost) > 0, nil
	}
	withMarks := now-m.applier.marked >= marksEvery
	batch, marks := c.next(m.applier.size.max(), withMarks)
	if len(batch) == 0 && len(marks) == 0 {
		return false, nil
	}
	err = m.commitBatch(ctx, r, batch, slices.Collect(maps.Values(marks)))
	if m.resize(m.mono()-now, err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if withMarks {
		m.applier.marked = now
		c.dropMarks(marks)
	}
	return c.pending() > 0, nil
}

// marksEvery is how old a mark in the database may be when there is no journal.
const marksEvery = 500 * time.Millisecond

func (m *Manager) commitBatch(ctx context.Context, r Replica, batch []*pendingSettlement, marks [][]byte) error {
	c := m.applier.database
	records := make([][]byte, len(batch))
	for i, one := range batch {
		records[i] = one.data
	}
	_, err := m.o.Bank.Apply(ctx, r, Batch{Records: records, Marks: marks, Seal: func() bool { return c.seal(batch) }})
	failpoint.At(failpoint.C10)
	switch {
	case err == nil:
		c.finish(batch, nil)
		m.counters.applied.Add(int64(len(batch)))
		return nil
	case transient(err) || errors.Is(err, errWithdrawn):
		return err
	case len(marks) > 0:
		m.counters.marksMissed.Add(int64(len(marks)))
		m.o.Log.Error("call marks rejected", "marks", len(marks), "error", err)
		return m.commitBatch(ctx, r, batch, nil)
	case len(batch) == 1:
		m.quarantine(batch[0].data, err)
		c.finish(batch, err)
		return nil
	}
	if err := m.commitBatch(ctx, r, batch[:len(batch)/2], nil); err != nil {
		return err
	}
	return m.commitBatch(ctx, r, batch[len(batch)/2:], nil)
}

// settleMarks settles calls of ended epochs at their last mark in the database. It leaves calls alone that this process still runs.
func (m *Manager) settleMarks(ctx context.Context, r Replica) error {
	for {
		marks, err := m.o.Registry.Marks(ctx, r)
		if err != nil {
			return err
		}
		var over []*pendingSettlement
		for _, data := range marks {
			recorded, err := billing.DecodeSettlement(data)
			if err != nil || !m.calls.has(recorded.Hold.ID) {
				over = append(over, &pendingSettlement{data: data, done: make(chan struct{})})
			}
		}
		if len(over) == 0 {
			return nil
		}
		now, began := over[:min(len(over), m.applier.size.max())], m.mono()
		err = m.commitBatch(ctx, r, now, nil)
		if m.resize(m.mono()-began, err) {
			continue
		}
		if err != nil {
			return err
		}
		m.counters.orphans.Add(int64(len(now)))
		if len(now) == len(over) && len(over) < len(marks) {
			return nil
		}
	}
}
