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

// settling is a settlement that is not recorded yet.
type settling struct {
	id        string
	call      call
	cost      app.Amount // The cost is at most the hold.
	data      []byte
	delivered bool
}

// Settle ends a hold: the account pays the cost up to the hold, and the rest is free again. When it returns nil, the
// settlement survives a crash of this process. Settling a hold a second time changes nothing.
//
// When it fails and nothing was delivered, nothing is charged and the hold is released: the caller must withhold the answer.
// When it fails and something was delivered, the manager keeps the settlement and retries until it is in the ledger.
func (t *Manager) Settle(ctx context.Context, h billing.Hold, s billing.Settlement) error {
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

// beginSettle takes exclusive ownership of the call. It returns false when the call has ended already.
func (t *Manager) beginSettle(h billing.Hold, s billing.Settlement) (p settling, runs bool) {
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

// put appends a settlement to the journal or the committer. Without a journal another replica may have settled the calls of a
// silent epoch at their last mark, so put refuses then.
func (t *Manager) put(p settling) (journal.LSN, error) {
	if t.o.Journal == nil && !p.call.book.live(t.mono()) {
		return 0, errAway("The service could not reach its books for too long.")
	}
	return t.paper.settle(p.id, p.data)
}

// endSettle moves the cost from reserved to spent and forgets the call.
func (t *Manager) endSettle(p settling, cost app.Amount, at journal.LSN) {
	if t.o.Journal == nil {
		at = 0 // Without a journal the settlement is already in the ledger.
	}
	t.charge(p.call, cost, at)
	t.calls.remove(p.id)
	t.paper.unclaim()
}

// settleDirectly writes a settlement that could not be made durable here to the ledger. Its cost counts as spent when the
// outcome is unknown, because the ledger may have it.
func (t *Manager) settleDirectly(ctx context.Context, p settling, cause error) error {
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
	t.o.Log.Error("settlement not durable", "request_id", p.id, "delivered", p.delivered, "cost_nanos", int64(p.cost),
		"cause", cause, "error", err)
	return unavailable(err)
}

func (t *Manager) applyDirectly(ctx context.Context, records ...[]byte) error {
	b := t.book.Load()
	if b == nil {
		return errAway("The service is stopping.")
	}
	_, err := t.o.Bank.Apply(ctx, b.replica, Batch{Records: records})
	return err
}

// retryQueue holds settlements of delivered answers that neither the journal nor the ledger accepted yet. It has at most as many
// as calls were admitted.
type retryQueue struct {
	mu  sync.Mutex
	all []settling
}

func (l *retryQueue) add(p settling) {
	l.mu.Lock()
	l.all = append(l.all, p)
	l.mu.Unlock()
}

func (l *retryQueue) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

func (l *retryQueue) first() (settling, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return settling{}, false
	}
	return l.all[0], true
}

func (l *retryQueue) drop() {
	l.mu.Lock()
	l.all = l.all[1:]
	l.mu.Unlock()
}

// settleLater retries the kept settlements one by one and in order, until the database fails again.
func (t *Manager) settleLater(ctx context.Context) error {
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
