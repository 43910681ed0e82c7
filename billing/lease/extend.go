package lease

import (
	"context"
	"fmt"

	"umg/app"
	"umg/billing"
)

// Extend raises a hold by all of more, or fails.
func (m *Manager) Extend(ctx context.Context, h *billing.Hold, more app.Amount) error {
	return m.extend(ctx, h, more, more)
}

// ExtendUpTo raises a hold by more, or by what there is of that. It fails when there is nothing.
func (m *Manager) ExtendUpTo(ctx context.Context, h *billing.Hold, more app.Amount) error {
	return m.extend(ctx, h, more, 1)
}

// extend raises a hold by more, or by what there is when that is at least least.
func (m *Manager) extend(ctx context.Context, h *billing.Hold, more, least app.Amount) error {
	if more <= 0 {
		return fmt.Errorf("lease: extend %q by %d", h.ID, more)
	}
	b, err := m.serving()
	if err != nil {
		return err
	}
	if b.replica.Epoch != h.Epoch {
		return m.refuse(errAway("The service has just restarted."), &m.counters.refusedAway)
	}
	r := billing.HoldRequest{ID: h.ID, AccountID: h.AccountID, BudgetID: h.BudgetID, Want: more, Min: least}
	g := holdRequest{manager: m, request: r, want: more,
		call: call{table: b}}
	if h.Uncharged {
		g.call.amount = more
	} else if err := m.acquire(ctx, &g); err != nil {
		return err
	}
	if !m.raise(h.ID, g.call) {
		return fmt.Errorf("lease: extend %q: no such call runs", h.ID)
	}
	h.Amount += g.call.amount
	return nil
}

// raise adds the credit of an extension to its call.
func (m *Manager) raise(id string, extra call) bool {
	runs := m.calls.change(id, func(c *call) {
		c.account, c.budget, c.amount = extra.account, extra.budget, c.amount+extra.amount
	})
	if !runs {
		m.releaseHold(extra)
	}
	return runs
}
