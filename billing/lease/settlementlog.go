package lease

import (
	"context"
	"errors"
	"sync"

	"umg/billing/journal"
)

// Each journal record has one of these kinds.
const (
	kindSettlement journal.Kind = 'S'
	kindMark       journal.Kind = 'P'
)

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
func (p journalLog) wait(ctx context.Context, at journal.LSN) error {
	return p.log.Wait(context.WithoutCancel(ctx), at)
}

// These limits apply to the committer and to every batch.
const (
	committerClaimsMax = 20_000
	batchRecordsMax    = 5_000
	batchBytesMax      = 4 << 20
)

// databaseLog makes settlements durable in the database itself, those of many calls in one transaction. Positions are only the
// order in which settlements arrived.
type databaseLog struct {
	mu      sync.Mutex
	claims  int
	last    journal.LSN
	queue   []*committing
	waiting map[journal.LSN]*committing
	marks   map[string][]byte // This is the latest mark of each call that the database does not have yet.
	wake    chan struct{}
}

// committing is a settlement that waits for its transaction.
type committing struct {
	at     journal.LSN
	id     string
	data   []byte
	sealed bool // Its transaction may have committed, so it may be in the ledger.
	left   bool // Its caller no longer waits for it.
	err    error
	done   chan struct{}
}

func newCommitter() *databaseLog {
	return &databaseLog{waiting: map[journal.LSN]*committing{}, marks: map[string][]byte{}, wake: make(chan struct{}, 1)}
}

func (c *databaseLog) claim() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.claims >= committerClaimsMax {
		return errAway("Too many calls run.")
	}
	c.claims++
	return nil
}

func (c *databaseLog) unclaim() {
	c.mu.Lock()
	c.claims--
	c.mu.Unlock()
}

func (c *databaseLog) mark(id string, data []byte) (journal.LSN, error) {
	c.mu.Lock()
	c.marks[id] = data
	c.mu.Unlock()
	return 0, nil
}

func (c *databaseLog) settle(id string, data []byte) (journal.LSN, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.marks, id)
	c.last++
	one := &committing{at: c.last, id: id, data: data, done: make(chan struct{})}
	c.queue = append(c.queue, one)
	c.waiting[one.at] = one
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return one.at, nil
}

// errTakenBack means that a settlement is not in the ledger and never will be.
var errTakenBack = errors.New("lease: the settlement was taken back before the last word was said")

// wait ends with the caller. A settlement that is not sealed is then withdrawn, and is never charged.
func (c *databaseLog) wait(ctx context.Context, at journal.LSN) error {
	c.mu.Lock()
	one := c.waiting[at]
	c.mu.Unlock()
	select {
	case <-one.done:
	case <-ctx.Done():
		c.mu.Lock()
		one.left = true
		if one.err == nil && one.sealed {
			one.err = ctx.Err()
		} else if one.err == nil {
			one.err = errTakenBack
		}
		c.remove(one)
		c.mu.Unlock()
		select {
		case <-one.done: // Its transaction ended at the same moment.
		default:
			return one.err
		}
	}
	c.mu.Lock()
	delete(c.waiting, at)
	c.mu.Unlock()
	return one.err
}

func (c *databaseLog) remove(one *committing) {
	delete(c.waiting, one.at)
	for i, other := range c.queue {
		if other == one {
			c.queue = append(c.queue[:i:i], c.queue[i+1:]...)
			return
		}
	}
}

// next returns the content of the next transaction: settlements in order up to the limit, and marks on request.
func (c *databaseLog) next(most int, withMarks bool) (batch []*committing, marks map[string][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := 0
	for _, one := range c.queue {
		if len(batch) == most || size > batchBytesMax {
			break
		}
		size += len(one.data)
		batch = append(batch, one)
	}
	if withMarks {
		marks = make(map[string][]byte, min(len(c.marks), most))
		for id, data := range c.marks {
			if len(marks) == most {
				break
			}
			marks[id] = data
		}
	}
	return batch, marks
}

// seal reports whether every caller still waits for its settlement. If so, the transaction may commit.
func (c *databaseLog) seal(batch []*committing) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range batch {
		if one.left {
			return false
		}
	}
	for _, one := range batch {
		one.sealed = true
	}
	return true
}

// committed ends settlements with the given error.
func (c *databaseLog) committed(batch []*committing, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	done := make(map[*committing]bool, len(batch))
	for _, one := range batch {
		done[one] = true
		one.err = err
		close(one.done)
	}
	rest := c.queue[:0:0]
	for _, one := range c.queue {
		if !done[one] {
			rest = append(rest, one)
		}
	}
	c.queue = rest
}

// kept drops marks that the database has now, unless a newer mark replaced them.
func (c *databaseLog) kept(marks map[string][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, data := range marks {
		if now, exists := c.marks[id]; exists && &now[0] == &data[0] {
			delete(c.marks, id)
		}
	}
}

func (c *databaseLog) pending() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue)
}
