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

// creditLookMax bounds the read of the balance. Without an answer the call's hold decides.
const creditLookMax = 500 * time.Millisecond

// CheckCredit fails with Unfunded when the account cannot have credit for a hold, whatever its running calls return. It
// reserves nothing and ignores budgets and spend limits, which Hold checks. It answers from memory for an account that has or
// just had credit in its lease; otherwise it reads the balance once. A balance that cannot be read is not a failure.
func (t *Manager) CheckCredit(ctx context.Context, r billing.HoldRequest) error {
	b := t.book.Load()
	if t.o.Balance == nil || b != nil && b.funded(r.AccountID, r.Min, t.mono()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, creditLookMax)
	defer cancel()
	balance, err := t.o.Balance(ctx, r.AccountID)
	if err != nil || balance.Spendable() >= r.Min {
		return nil
	}
	return t.refuse(billing.Unfunded(r.Min, balance), &t.counters.refusedUnfunded)
}

// funded reports whether memory shows that a credit account has the amount.
func (b *leaseTable) funded(creditAccountID string, amount app.Amount, now time.Duration) bool {
	l := b.find(creditAccountID)
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.gone && (l.free() >= amount || now < l.fundedUntil)
}
