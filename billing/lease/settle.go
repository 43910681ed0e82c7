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

// settling is a settlement on its way.
type settling struct {
	id        string
	call      call
	cost      app.Amount // within the hold
	data      []byte
	delivered bool
}

// Settle ends a hold: the account pays the cost up to the hold, and what was not used is free again. When it returns nil
// the settlement survives whatever happens to this process. Settling a hold a second time changes nothing.
//
// When it fails and nothing was delivered, nothing is charged and the hold is released: keep the answer back. When it
// fails and something was delivered, the facts are kept and tried again until they are in the books.
func (t *Till) Settle(ctx context.Context, h billing.Hold, s billing.Settlement) error {
	if s.Cost < 0 || s.Record.RequestID != "" && s.Record.RequestID != h.ID {
		return fmt.Errorf("lease: settle %s: request %q at a cost of %d", h.ID, s.Record.RequestID, s.Cost)
	}
	p, runs := t.beginSettle(h, s)
	if !runs {
		return nil
	}
	failpoint.At(failpoint.C5)
	at, err := t.put(p)
	if err == nil {
		failpoint.At(failpoint.C6)
		if !failpoint.On(failpoint.AnswerFirst) {
			err = t.paper.wait(ctx, at)
		}
	}
	if err != nil {
		return t.settleDirectly(ctx, p, err)
	}
	failpoint.At(failpoint.C7)
	t.endSettle(p, p.cost, at)
	return nil
}

// beginSettle takes the call out of the hands of everybody else. It says no when it has ended already.
func (t *Till) beginSettle(h billing.Hold, s billing.Settlement) (p settling, runs bool) {
	runs = t.calls.change(h.ID, func(c *call) {
		c.settling = true
		p.call = *c
	})
	if !runs {
		return p, false
	}
	h.Amount = p.call.amount
	p.id, p.cost, p.delivered = h.ID, h.Charge(s.Cost), s.Delivered
	p.data = s.Encode(h, t.o.ReplicaID, t.o.Now())
	return p, true
}

// put gives a settlement to the paper. Without a journal a run that was silent for too long may have its calls settled by
// others at their last mark, so its word is not final any more.
func (t *Till) put(p settling) (journal.LSN, error) {
	if t.o.Journal == nil && !p.call.book.live(t.mono()) {
		return 0, errAway("The service could not reach its books for too long.")
	}
	return t.paper.settle(p.id, p.data)
}

// endSettle moves the cost from reserved to spent and forgets the call.
func (t *Till) endSettle(p settling, cost app.Amount, at journal.LSN) {
	if t.o.Journal == nil {
		at = 0 // it is in the books already
	}
	t.charge(p.call, cost, at)
	t.calls.remove(p.id)
	t.paper.unclaim()
}

// settleDirectly writes a settlement to the books that could not be made durable here. Its cost counts as spent whatever
// comes of it, because the books may have taken it although nobody learnt so.
func (t *Till) settleDirectly(ctx context.Context, p settling, cause error) error {
	failpoint.At(failpoint.C17)
	err := cause
	if t.o.Journal != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepMax)
		defer cancel()
		if err = t.applyDirectly(ctx, p.data); err == nil {
			t.counters.direct.Add(1)
			t.endSettle(p, p.cost, 0)
			return nil
		}
	}
	switch {
	case p.delivered:
		t.later.add(p)
		t.counters.kept.Add(1)
	case errors.Is(err, errTakenBack) || !transient(err):
		t.endSettle(p, 0, 0)
		t.counters.undelivered.Add(1)
	default:
		t.endSettle(p, p.cost, 0)
		t.counters.undelivered.Add(1)
		p.call.doubted()
	}
	t.o.Log.Error("a settlement could not be made durable", "request_id", p.id, "delivered", p.delivered, "cost_nanos", int64(p.cost),
		"cause", cause, "error", err)
	return unavailable(err)
}

func (t *Till) applyDirectly(ctx context.Context, records ...[]byte) error {
	b := t.book.Load()
	if b == nil {
		return errAway("The service is stopping.")
	}
	_, err := t.o.Bank.Apply(ctx, b.replica, Batch{Records: records})
	return err
}

// later are settlements of answers that were delivered, which neither the journal nor the books took yet. There are no
// more of them than calls were admitted.
type later struct {
	mu  sync.Mutex
	all []settling
}

func (l *later) add(p settling) {
	l.mu.Lock()
	l.all = append(l.all, p)
	l.mu.Unlock()
}

func (l *later) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

func (l *later) first() (settling, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return settling{}, false
	}
	return l.all[0], true
}

func (l *later) drop() {
	l.mu.Lock()
	l.all = l.all[1:]
	l.mu.Unlock()
}

// settleLater tries what was kept, one by one and in order, until the books are away again.
func (t *Till) settleLater(ctx context.Context) error {
	for {
		p, exists := t.later.first()
		if !exists {
			return nil
		}
		err := t.applyDirectly(ctx, p.data)
		if err != nil && transient(err) {
			return err
		}
		if err != nil {
			t.quarantine(p.data, err)
		}
		t.later.drop()
		t.counters.direct.Add(1)
		t.endSettle(p, p.cost, 0)
		if err != nil {
			p.call.doubted()
		}
	}
}
