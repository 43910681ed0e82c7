package lease

import (
	"context"
	"errors"
	"fmt"

	"sync"

	"umg/app"
	"umg/billing"
	"umg/billing/failpoint"
	"umg/billing/journal"
)

// pendingCall is a settlement that is not recorded yet.
type pendingCall struct {
	id        string
	call      call
	cost      app.Amount // The cost is at most the hold.
	data      []byte
	buffer    *[]byte // The journal copies data, so this buffer of it is used again. It is nil without a journal.
	delivered bool
}

// Settle ends a hold: the account pays the cost up to the hold, and the rest is free again. When it returns nil, the
// settlement survives a crash of this process. Settling a hold a second time changes nothing.
//
// When it fails and nothing was delivered, nothing is charged and the hold is released: the caller must withhold the answer.
// When it fails and something was delivered, the manager keeps the settlement and retries until it is in the ledger.
func (m *Manager) Settle(ctx context.Context, h billing.Hold, s billing.Settlement) error {
	if s.Cost < 0 || s.Record.RequestID != "" && s.Record.RequestID != h.ID {
		return fmt.Errorf("lease: settle %s: request %q at a cost of %d", h.ID, s.Record.RequestID, s.Cost)
	}
	p, runs := m.beginSettle(h, s)
	if !runs {
		return nil
	}
	failpoint.At(failpoint.C5)
	at, err := m.put(p)
	if err == nil {
		failpoint.At(failpoint.C6)
		if !failpoint.On(failpoint.AnswerFirst) {
			err = m.settlements.wait(ctx, at)
		}
	}
	if err != nil {
		return m.settleDirectly(ctx, p, err)
	}
	failpoint.At(failpoint.C7)
	m.endSettle(p, p.cost, at)
	if p.buffer != nil {
		recordBuffers.Put(p.buffer)
	}
	return nil
}

// beginSettle takes exclusive ownership of the call. It returns false when the call has ended already.
func (m *Manager) beginSettle(h billing.Hold, s billing.Settlement) (p pendingCall, runs bool) {
	runs = m.calls.change(h.ID, func(c *call) {
		c.isSettling = true
		p.call = *c
	})
	if !runs {
		return p, false
	}
	h.Amount = p.call.amount
	p.id, p.delivered = h.ID, s.Delivered
	if !h.Uncharged {
		p.cost = h.Charge(s.Cost)
	}
	if m.o.Journal == nil {
		p.data = s.Encode(h, m.o.ReplicaID, m.o.Now())
		return p, true
	}
	p.buffer, _ = recordBuffers.Get().(*[]byte)
	*p.buffer = s.AppendEncoded((*p.buffer)[:0], h, m.o.ReplicaID, m.o.Now())
	p.data = *p.buffer
	return p, true
}

// put appends a settlement to the journal or to the database log. Without a journal another replica may have settled the calls of a
// silent epoch at their last mark, so put refuses then.
func (m *Manager) put(p pendingCall) (journal.LSN, error) {
	if m.o.Journal == nil && !p.call.table.live(m.mono()) {
		return 0, errAway("The service could not reach its books for too long.")
	}
	return m.settlements.settle(p.id, p.data)
}

// endSettle moves the cost from reserved to spent and forgets the call.
func (m *Manager) endSettle(p pendingCall, cost app.Amount, at journal.LSN) {
	if m.o.Journal == nil {
		at = 0 // Without a journal the settlement is already in the ledger.
	}
	m.charge(p.call, cost, at)
	m.calls.remove(p.id)
	m.settlements.unclaim()
}

// remove ends a call.
func (c *calls) remove(id string) {
	s := c.shard(id)
	s.mu.Lock()
	one, exists := s.calls[id]
	delete(s.calls, id)
	s.mu.Unlock()
	if one.base != nil {
		*one.base = markBase{}
		markBases.Put(one.base)
	}
	if exists {
		c.running.Add(-1)
	}
}

// settleDirectly writes a settlement that could not be made durable here to the ledger. Its cost counts as spent when the
// outcome is unknown, because the ledger may have it.
func (m *Manager) settleDirectly(ctx context.Context, p pendingCall, cause error) error {
	failpoint.At(failpoint.C17)
	err := cause
	if m.o.Journal != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepMax)
		defer cancel()
		if err = m.applyDirectly(ctx, p.data); err == nil {
			m.counters.direct.Add(1)
			m.endSettle(p, p.cost, 0)
			return nil
		}
	}
	switch {
	case p.delivered:
		m.retries.add(p)
		m.counters.retried.Add(1)
	case errors.Is(err, errWithdrawn) || !transient(err):
		m.endSettle(p, 0, 0)
		m.counters.undelivered.Add(1)
	default:
		m.endSettle(p, p.cost, 0)
		m.counters.undelivered.Add(1)
		p.call.markDoubtful()
	}
	m.o.Log.Error("settlement not durable", "request_id", p.id, "delivered", p.delivered, "cost_nanos", int64(p.cost),
		"cause", cause, "error", err)
	return unavailable(err)
}

func (m *Manager) applyDirectly(ctx context.Context, records ...[]byte) error {
	b := m.table.Load()
	if b == nil {
		return errAway("The service is stopping.")
	}
	_, err := m.o.Bank.Apply(ctx, b.replica, Batch{Records: records})
	return err
}

// Each journal record has one of these kinds. A change is a mark as its difference from an earlier one: the position of that
// mark, which names the call, and what billing.Checkpoint wrote.
const (
	kindSettlement journal.Kind = 'S'
	kindMark       journal.Kind = 'P'
	kindChange     journal.Kind = 'p'
)

// changeBytesMax is the most bytes of a change. With the prefix of the journal it has 64 bytes; a larger one is written as a whole mark.
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
