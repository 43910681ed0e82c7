package lease

import (
	"context"
	"errors"
	"fmt"

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
