package lease

import (
	"context"
	"errors"
	"sync"

	"umg/billing/journal"
)

// Each journal record has one of these kinds. A change is a mark as its difference from an earlier one: the position of that
// mark, which names the call, and what billing.Checkpoint wrote.
const (
	kindSettlement journal.Kind = 'S'
	kindMark       journal.Kind = 'P'
	kindChange     journal.Kind = 'p'
)

// changeBytesMax is the most bytes of a change. With the prefix of the journal it has 64 bytes; a larger one is written as a
// whole mark.
const changeBytesMax = 40

// journalLog makes settlements durable in the journal.
type journalLog struct{ log *journal.Log }

func (p journalLog) claim() error { return p.log.Claim() }
func (p journalLog) unclaim()     { p.log.Unclaim() }

func (p journalLog) mark(_ string, data []byte) (journal.LSN, error) {
	return p.log.Append(kindMark, data)
}

func (p journalLog) settle(_ string, data []byte) (journal.LSN, error) {
	return p.log.Append(kindSettlement, data)
}

// wait does not end with the caller: a written record will be charged, so the caller must learn its outcome. A sync either
// works or closes the journal.
func (p journalLog) wait(_ context.Context, at journal.LSN) error {
	return p.log.Wait(context.Background(), at)
}

// These limits apply to the database log and to every batch.
const (
	databaseClaimsMax = 20_000
	batchRecordsMax   = 5_000
	batchBytesMax     = 4 << 20
)

// databaseLog makes settlements durable in the database itself, those of many calls in one transaction. Positions are only the
// order in which settlements arrived.
type databaseLog struct {
	mu      sync.Mutex
	claims  int
	last    journal.LSN
	queue   []*pendingSettlement
	waiting map[journal.LSN]*pendingSettlement
	marks   map[string][]byte // This is the latest mark of each call that the database does not have yet.
	wake    chan struct{}
}

// pendingSettlement is a settlement that waits for its transaction.
type pendingSettlement struct {
	at        journal.LSN
	id        string
	data      []byte
	sealed    bool // Its transaction may have committed, so it may be in the ledger.
	abandoned bool // Its caller no longer waits for it.
	err       error
	done      chan struct{}
}

func newDatabaseLog() *databaseLog {
	return &databaseLog{waiting: map[journal.LSN]*pendingSettlement{}, marks: map[string][]byte{}, wake: make(chan struct{}, 1)}
}

func (d *databaseLog) claim() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.claims >= databaseClaimsMax {
		return errAway("Too many calls run.")
	}
	d.claims++
	return nil
}

func (d *databaseLog) unclaim() {
	d.mu.Lock()
	d.claims--
	d.mu.Unlock()
}

func (d *databaseLog) mark(id string, data []byte) (journal.LSN, error) {
	d.mu.Lock()
	d.marks[id] = data
	d.mu.Unlock()
	return 0, nil
}

func (d *databaseLog) settle(id string, data []byte) (journal.LSN, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.marks, id)
	d.last++
	one := &pendingSettlement{at: d.last, id: id, data: data, done: make(chan struct{})}
	d.queue = append(d.queue, one)
	d.waiting[one.at] = one
	offer(d.wake, struct{}{})
	return one.at, nil
}

// errWithdrawn means that a settlement is not in the ledger and never will be.
var errWithdrawn = errors.New("lease: the settlement was withdrawn before its transaction committed")

// wait ends with the caller. A settlement that is not sealed is then withdrawn, and is never charged.
func (d *databaseLog) wait(ctx context.Context, at journal.LSN) error {
	d.mu.Lock()
	one := d.waiting[at]
	d.mu.Unlock()
	select {
	case <-one.done:
	case <-ctx.Done():
		d.mu.Lock()
		one.abandoned = true
		if one.err == nil && one.sealed {
			one.err = ctx.Err()
		} else if one.err == nil {
			one.err = errWithdrawn
		}
		d.remove(one)
		d.mu.Unlock()
		select {
		case <-one.done: // Its transaction ended at the same moment.
		default:
			return one.err
		}
	}
	d.mu.Lock()
	delete(d.waiting, at)
	d.mu.Unlock()
	return one.err
}

func (d *databaseLog) remove(one *pendingSettlement) {
	delete(d.waiting, one.at)
	for i, other := range d.queue {
		if other == one {
			d.queue = append(d.queue[:i:i], d.queue[i+1:]...)
			return
		}
	}
}

// next returns the content of the next transaction: settlements in order up to the limit, and marks on request.
func (d *databaseLog) next(most int, withMarks bool) (batch []*pendingSettlement, marks map[string][]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	size := 0
	for _, one := range d.queue {
		if len(batch) == most || size > batchBytesMax {
			break
		}
		size += len(one.data)
		batch = append(batch, one)
	}
	if withMarks {
		marks = make(map[string][]byte, min(len(d.marks), most))
		for id, data := range d.marks {
			if len(marks) == most {
				break
			}
			marks[id] = data
		}
	}
	return batch, marks
}

// seal reports whether every caller still waits for its settlement. If so, the transaction may commit.
func (d *databaseLog) seal(batch []*pendingSettlement) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range batch {
		if one.abandoned {
			return false
		}
	}
	for _, one := range batch {
		one.sealed = true
	}
	return true
}

// finish ends settlements with the given error.
func (d *databaseLog) finish(batch []*pendingSettlement, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	done := make(map[*pendingSettlement]bool, len(batch))
	for _, one := range batch {
		done[one] = true
		one.err = err
		close(one.done)
	}
	rest := d.queue[:0:0]
	for _, one := range d.queue {
		if !done[one] {
			rest = append(rest, one)
		}
	}
	d.queue = rest
}

// dropMarks drops marks that the database has now, unless a newer mark replaced them.
func (d *databaseLog) dropMarks(marks map[string][]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, data := range marks {
		if now, exists := d.marks[id]; exists && &now[0] == &data[0] {
			delete(d.marks, id)
		}
	}
}

func (d *databaseLog) pending() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.queue)
}
