package lease

import (
	"context"
	"time"

	"umg/app"
	"umg/billing"
)

// fundedFor is how long an account counts as funded after it had credit for a call. Trial credit never stays in a lease, so
// without it each call of such an account would ask the books once more.
const fundedFor = 5 * time.Second

// creditLookMax bounds the look at the books. Without an answer the hold of the call decides.
const creditLookMax = 500 * time.Millisecond

// CheckCredit fails with Unfunded when the account cannot have credit for a hold, whatever its running calls give back. It
// reserves nothing and does not look at budgets and spend limits, which Hold does. For an account that has credit in its lease,
// or that had some a moment ago, it is a matter of memory; otherwise the balance is read once. A balance that cannot be read is
// no failure.
func (t *Till) CheckCredit(ctx context.Context, r billing.HoldRequest) error {
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

// funded reports whether a purse is known to have so much credit.
func (b *book) funded(purse string, amount app.Amount, now time.Duration) bool {
	l := b.find(purse)
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.gone && (l.free() >= amount || now < l.fundedUntil)
}
