package lease

import (
	"context"
	"errors"

	"umg/app"
	"umg/billing"
)

// holdRequest acquires the credit of a hold or an extension: first from the account, then the same amount from the key's budget.
// It never waits itself; its driver does.
type holdRequest struct {
	t     *Manager
	r     billing.HoldRequest
	c     call
	want  app.Amount   // This amount is wanted from the next credit account.
	lease *lease       // This is the lease that the acquisition uses.
	q     *acquisition // The acquisition is nil when the lease had enough.
}

// creditAccountID is the id of the credit account to reserve from next, or empty when everything is reserved.
func (g *holdRequest) creditAccountID() string {
	switch {
	case g.want <= 0:
		return ""
	case g.c.account == nil:
		return g.r.AccountID
	case g.c.budget == nil:
		return g.r.BudgetID
	}
	return ""
}

// step continues until everything is reserved or the driver must wait.
func (g *holdRequest) step() next {
	for creditAccountID := g.creditAccountID(); creditAccountID != ""; creditAccountID = g.creditAccountID() {
		now := g.t.mono()
		if !g.c.book.trusted(now) {
			return next{verdict: refused, err: g.abandon(g.t.refusal(ErrFenced, g.r, false))}
		}
		if g.q == nil {
			g.lease = g.c.book.open(creditAccountID, now)
			if g.lease.reserve(now, g.want) {
				g.got(g.want)
				continue
			}
			g.q = newAcquisition(g.lease, g.want, g.r.Min, now)
		}
		n := g.q.step(now)
		if n, ended := g.after(n); ended {
			return n
		}
	}
	return next{verdict: reserved}
}

// answer passes the database's answer to the acquisition and continues.
func (g *holdRequest) answer(row Row, err error) next {
	g.t.counters.takes.Add(1)
	n, backward := g.q.answer(row, err, g.t.mono())
	if backward || errors.Is(err, ErrFenced) {
		g.t.fence(g.c.book)
	}
	if n.verdict == await { // The awaited step is this one, which has ended.
		return g.step()
	}
	if n, ended := g.after(n); ended {
		return n
	}
	return g.step()
}

// after applies the verdict of an acquisition to the holding. It reports whether the driver must act on the verdict.
func (g *holdRequest) after(n next) (next, bool) {
	switch n.verdict {
	case reserved:
		g.endAcquisition()
		g.got(n.got)
		if !g.c.book.trusted(g.t.mono()) { // The answer may have arrived after the lease's validity ended.
			err := g.t.refusal(ErrFenced, g.r, false)
			return next{verdict: refused, err: g.abandon(err)}, true
		}
		return n, false
	case moved:
		g.endAcquisition()
		return n, false
	case refused:
		err := g.t.refusal(n.err, g.r, g.c.account != nil)
		return next{verdict: refused, err: g.abandon(err)}, true
	}
	return n, true
}

// got records a reservation. When the budget grants less than the account, the account's reservation shrinks to the same
// amount.
func (g *holdRequest) got(amount app.Amount) {
	if g.c.account == nil {
		g.c.account, g.c.amount, g.want = g.lease, amount, amount
		return
	}
	if less := g.c.amount - amount; less > 0 {
		g.t.freed(g.c.account, g.c.account.release(g.t.mono(), less, 0, 0))
	}
	g.c.budget, g.c.amount = g.lease, amount
}

func (g *holdRequest) endAcquisition() {
	if g.q != nil {
		g.q.end()
		g.q = nil
	}
}

// abandon releases what was reserved and returns the error for the caller: its argument, or that the client left. A database
// that did not answer in time is not a client who left.
func (g *holdRequest) abandon(err error) error {
	g.endAcquisition()
	g.t.releaseHold(g.c)
	g.c.account, g.c.budget, g.c.amount = nil, nil, 0
	if !isAway(err) && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return app.Errorf(app.Canceled, "canceled", "The client left while credit was being reserved.").Because(err)
	}
	return err
}

// unlessLeft ends a holding that had to wait: a caller who left in the meantime gets no hold.
func (g *holdRequest) unlessLeft(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return g.abandon(err)
	}
	return nil
}

func (g *holdRequest) hold() billing.Hold {
	return billing.Hold{
		ID: g.r.ID, AccountID: g.r.AccountID, BudgetID: g.r.BudgetID, Amount: g.c.amount, Epoch: g.c.book.replica.Epoch,
	}
}
