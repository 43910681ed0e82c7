package lease

import (
	"context"
	"time"

	"umg/app"
	"umg/billing"
)

// fundedFor is how long an account counts as funded after it had credit for a call. Trial credit never stays in a lease, so
// without it each call of such an account would ask the books twice.
const fundedFor = 5 * time.Second

// CheckCredit fails, as Hold would, when the account or the key's budget has no credit for a hold. It reserves nothing. For an
// account that has credit in its lease, or that had some a moment ago, it is a matter of memory; otherwise the books are asked.
func (t *Till) CheckCredit(ctx context.Context, r billing.HoldRequest) error {
	b, err := t.serving()
	if err != nil {
		return err
	}
	now := t.mono()
	if b.funded(r.AccountID, r.Min, now) && (r.BudgetID == "" || b.funded(r.BudgetID, r.Min, now)) {
		return nil
	}
	g := holding{t: t, r: r, want: r.Want, c: call{book: b, began: now}}
	if err := t.pursue(ctx, &g); err != nil {
		return err
	}
	t.letGo(g.c)
	return nil
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
