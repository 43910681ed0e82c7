package lease

import (
	"context"
	"time"

	"umg/app"
	"umg/billing"
)

// fundedFor is how long an account counts as funded after it had credit for a call. Trial credit never stays in a lease, so
// without this limit each call of such an account would ask the database once more.
const fundedFor = 5 * time.Second

// balanceReadMax bounds the read of the balance. Without an answer the call's hold decides.
const balanceReadMax = 500 * time.Millisecond

// CheckCredit fails with Unfunded when the account cannot have credit for a hold, whatever its running calls return. It
// reserves nothing and ignores budgets and spend limits, which Hold checks. It answers from memory for an account that has or
// just had credit in its lease; otherwise it reads the balance once. A balance that cannot be read is not a failure.
func (m *Manager) CheckCredit(ctx context.Context, r billing.HoldRequest) error {
	b := m.table.Load()
	if r.Uncharged || m.o.Balance == nil || b != nil && b.funded(r.AccountID, r.Min, m.mono()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, balanceReadMax)
	defer cancel()
	balance, err := m.o.Balance(ctx, r.AccountID)
	if err != nil || balance.Spendable() >= r.Min {
		return nil
	}
	return m.refuse(billing.Unfunded(r.Min, balance), &m.counters.refusedUnfunded)
}

// funded reports whether memory shows that a credit account has the amount.
func (t *leaseTable) funded(creditAccountID string, amount app.Amount, now time.Duration) bool {
	l := t.find(creditAccountID)
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.dropped && (l.free() >= amount || now < l.fundedUntil)
}
