package lease

import (
	"context"
	"errors"

	"umg/app"
	"umg/billing"
)

// holding is the way of a hold or an extension to its credit: first of the account, then as much of the key's budget. It
// never waits itself; who drives it does.
type holding struct {
	t     *Till
	r     billing.HoldRequest
	c     call
	want  app.Amount // of the purse that is next
	lease *lease     // that the quest is for
	q     *quest     // nil when the lease had enough
}

// purse is what the next reservation is of, empty when there is none.
func (g *holding) purse() string {
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

// step goes on until all is reserved or something must be waited for.
func (g *holding) step() next {
	for purse := g.purse(); purse != ""; purse = g.purse() {
		now := g.t.mono()
		if !g.c.book.trusted(now) {
			return next{verdict: refused, err: g.abandon(g.t.refusal(ErrFenced, g.r, false))}
		}
		if g.q == nil {
			g.lease = g.c.book.open(purse, now)
			if g.lease.reserve(now, g.want) {
				g.got(g.want)
				continue
			}
			g.q = newQuest(g.lease, g.want, g.r.Min, now)
		}
		n := g.q.step(now)
		if n, ended := g.after(n); ended {
			return n
		}
	}
	return next{verdict: reserved}
}

// answer takes what the books said to the quest, and goes on.
func (g *holding) answer(row Row, err error) next {
	g.t.counters.takes.Add(1)
	n, backward := g.q.answer(row, err, g.t.mono())
	if backward || errors.Is(err, ErrFenced) {
		g.t.fence(g.c.book)
	}
	if n.verdict == await { // its own step, which is over
		return g.step()
	}
	if n, ended := g.after(n); ended {
		return n
	}
	return g.step()
}

// after is what a quest's verdict means for the whole: it goes on, or ends for now.
func (g *holding) after(n next) (next, bool) {
	switch n.verdict {
	case reserved:
		g.endQuest()
		g.got(n.got)
		if !g.c.book.trusted(g.t.mono()) { // the answer was a long time on its way
			err := g.t.refusal(ErrFenced, g.r, false)
			return next{verdict: refused, err: g.abandon(err)}, true
		}
		return n, false
	case moved:
		g.endQuest()
		return n, false
	case refused:
		err := g.t.refusal(n.err, g.r, g.c.account != nil)
		return next{verdict: refused, err: g.abandon(err)}, true
	}
	return n, true
}

// got notes a reservation. A budget that gives less than the account makes the account give less too.
func (g *holding) got(amount app.Amount) {
	if g.c.account == nil {
		g.c.account, g.c.amount, g.want = g.lease, amount, amount
		return
	}
	if less := g.c.amount - amount; less > 0 {
		g.t.freed(g.c.account, g.c.account.release(g.t.mono(), less, 0, 0))
	}
	g.c.budget, g.c.amount = g.lease, amount
}

func (g *holding) endQuest() {
	if g.q != nil {
		g.q.end()
		g.q = nil
	}
}

// abandon gives back what was reserved. It returns what the caller is told: its argument, or that the caller itself left. Books
// that did not answer in time are not a caller who left.
func (g *holding) abandon(err error) error {
	g.endQuest()
	g.t.letGo(g.c)
	g.c.account, g.c.budget, g.c.amount = nil, nil, 0
	if !isAway(err) && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return app.Errorf(app.Canceled, "canceled", "The client left while credit was being reserved.").Because(err)
	}
	return err
}

// unlessLeft is the end of a holding that had to wait: a caller who has left meanwhile gets nothing.
func (g *holding) unlessLeft(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return g.abandon(err)
	}
	return nil
}

func (g *holding) hold() billing.Hold {
	return billing.Hold{
		ID: g.r.ID, AccountID: g.r.AccountID, BudgetID: g.r.BudgetID, Amount: g.c.amount, Epoch: g.c.book.replica.Epoch,
	}
}
