package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"umg/app"
	"umg/billing"
	"umg/billing/failpoint"
	"umg/billing/journal"
)

// away is when a client whom the gateway refused for its own reasons may retry.
const away = 2 * time.Second

// Options configure a lease manager. Without a Journal it keeps settlements and marks in the database, for hosts without a
// disk.
type Options struct {
	Bank     Store
	Registry ReplicaStore
	Journal  *journal.Log
	// Balance serves CheckCredit, which passes every call when it is nil.
	Balance   func(ctx context.Context, accountID string) (billing.Balance, error)
	ReplicaID string
	DSN       string // Recalls are received from this database; an empty DSN receives none.
	Now       app.Clock
	Log       *slog.Logger
}

// Manager is the lease manager: it admits calls from leases in memory and settles them durably. It takes no calls before Recover
// has succeeded, and keeps the ledger up to date while Run runs.
type Manager struct {
	o        Options
	mono     func() time.Duration
	pause    func(ctx context.Context, d time.Duration) error
	paper    settlementLog
	book     atomic.Pointer[leaseTable] // The book is nil before Recover and after the end.
	calls    *calls
	later    retryQueue
	give     chan *lease   // These leases should return their free credit at once.
	top      chan *lease   // These leases should take credit ahead.
	fenced   chan struct{} // A value signals that the epoch has ended.
	applier  applier
	reaping  reaperState
	health   health
	counters counters
}

// New returns a lease manager. It panics when a required option is missing.
func New(o Options) (*Manager, error) {
	app.RequireOptions("lease.New", map[string]bool{
		"Options.Bank": o.Bank != nil, "Options.Registry": o.Registry != nil, "Options.Now": o.Now != nil, "Options.Log": o.Log != nil,
	})
	if o.ReplicaID == "" {
		return nil, errors.New("lease: a replica needs an id")
	}
	start := o.Now()
	t := &Manager{
		o: o, calls: newCalls(), give: make(chan *lease, givesMax), top: make(chan *lease, givesMax), fenced: make(chan struct{}, 1),
		mono: func() time.Duration { return o.Now().Sub(start) }, pause: sleep,
	}
	if o.Journal == nil {
		t.applier.committer = newCommitter()
		t.paper = t.applier.committer
	} else {
		t.paper = journalLog{o.Journal}
	}
	return t, nil
}

// settlementLog makes settlements durable: in the journal, or in the database itself.
type settlementLog interface {
	// claim reserves space for the settlement of one more call; unclaim releases it.
	claim() error
	unclaim()
	// mark records what a call has delivered, without waiting.
	mark(id string, data []byte) (journal.LSN, error)
	// settle appends a settlement; wait returns nil when it is durable.
	settle(id string, data []byte) (journal.LSN, error)
	wait(ctx context.Context, at journal.LSN) error
}

// serving returns the book, or an error when no calls may be taken now.
func (t *Manager) serving() (*leaseTable, error) {
	b := t.book.Load()
	switch {
	case b == nil:
		return nil, t.refuse(errAway("The service is starting or stopping."), &t.counters.refusedAway)
	case !b.trusted(t.mono()):
		return nil, t.refuse(errAway("The service cannot reach its books right now."), &t.counters.refusedAway)
	}
	return b, nil
}

func (t *Manager) refuse(err error, reason *atomic.Int64) error {
	reason.Add(1)
	return err
}

// Hold reserves credit: Want, or what there is when that is at least Min. It is a memory operation when the account's lease
// has enough; otherwise the manager asks the database once. A caller who leaves while it waits costs nothing.
func (t *Manager) Hold(ctx context.Context, r billing.HoldRequest) (billing.Hold, error) {
	if r.Min == 0 {
		r.Min = r.Want
	}
	if r.ID == "" || r.AccountID == "" || r.Min < 0 || r.Want < r.Min {
		return billing.Hold{}, fmt.Errorf("lease: hold %q of account %q: wants %d and at least %d", r.ID, r.AccountID, r.Want, r.Min)
	}
	b, err := t.serving()
	if err != nil {
		return billing.Hold{}, err
	}
	if err := t.paper.claim(); err != nil {
		return billing.Hold{}, t.refuse(unavailable(err), &t.counters.refusedPaper)
	}
	failpoint.At(failpoint.C0)
	g := holdRequest{t: t, r: r, want: r.Want, c: call{book: b, began: t.mono()}}
	if err = t.acquire(ctx, &g); err == nil && !t.calls.add(r.ID, g.c) {
		t.releaseHold(g.c)
		err = fmt.Errorf("lease: hold %q: a call of this id runs", r.ID)
	}
	if err != nil {
		t.paper.unclaim()
		return billing.Hold{}, err
	}
	failpoint.At(failpoint.C2)
	return g.hold(), nil
}

// acquire drives a holding until it has credit or fails.
func (t *Manager) acquire(ctx context.Context, g *holdRequest) error {
	for n := g.step(); n.verdict != reserved; n = g.step() {
		for n.verdict == asks {
			n = t.take(ctx, g, n.ask)
		}
		var err error
		switch n.verdict {
		case reserved:
			return g.unlessLeft(ctx)
		case refused:
			return n.err
		case await:
			select {
			case <-n.flight.done:
			case <-ctx.Done():
				err = ctx.Err()
			}
		case pause:
			err = t.pause(ctx, n.pause)
		}
		if err != nil {
			return g.abandon(err)
		}
	}
	return g.unlessLeft(ctx)
}

// take asks the database for credit. The step continues when the caller leaves, because every waiting caller needs its
// outcome.
func (t *Manager) take(ctx context.Context, g *holdRequest, a Ask) next {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepMax)
	defer cancel()
	row, err := t.o.Bank.Take(ctx, g.c.book.replica, a)
	failpoint.At(failpoint.C1)
	return g.answer(row, err)
}

// releaseHold ends a call's reservations at no cost.
func (t *Manager) releaseHold(c call) { t.charge(c, 0, 0) }

// charge ends a call's reservations at a cost.
func (t *Manager) charge(c call, cost app.Amount, at journal.LSN) {
	for _, l := range [...]*lease{c.account, c.budget} {
		if l != nil {
			t.freed(l, l.release(t.mono(), c.amount, cost, at))
		}
	}
}

// freed schedules the return of a lease's free credit. When the queue is full, the next pass over all leases finds it.
func (t *Manager) freed(l *lease, giveBack bool) {
	if !giveBack {
		return
	}
	select {
	case t.give <- l:
	default:
	}
}

// fence ends the authority of a book, once, and makes the worker register the replica again.
func (t *Manager) fence(b *leaseTable) {
	b.over.Store(true)
	if t.book.Load() != b {
		return
	}
	select {
	case t.fenced <- struct{}{}:
	default:
	}
}

// Extend raises a hold by all of more, or fails.
func (t *Manager) Extend(ctx context.Context, h *billing.Hold, more app.Amount) error {
	if more <= 0 {
		return fmt.Errorf("lease: extend %q by %d", h.ID, more)
	}
	b, err := t.serving()
	if err != nil {
		return err
	}
	if b.replica.Epoch != h.Epoch {
		return t.refuse(errAway("The service has just restarted."), &t.counters.refusedAway)
	}
	g := holdRequest{t: t, r: billing.HoldRequest{ID: h.ID, AccountID: h.AccountID, BudgetID: h.BudgetID, Want: more, Min: more}, want: more,
		c: call{book: b}}
	if err := t.acquire(ctx, &g); err != nil {
		return err
	}
	if !t.raise(h.ID, g.c) {
		return fmt.Errorf("lease: extend %q: no such call runs", h.ID)
	}
	h.Amount += more
	return nil
}

// raise adds the credit of an extension to its call.
func (t *Manager) raise(id string, extra call) bool {
	runs := t.calls.change(id, func(c *call) {
		c.account, c.budget, c.amount = extra.account, extra.budget, c.amount+extra.amount
	})
	if !runs {
		t.releaseHold(extra)
	}
	return runs
}

// Progress records what a call has delivered so far, as the settlement it would get if the process died now. It never waits.
// A mark that cannot be recorded costs only the platform.
func (t *Manager) Progress(h billing.Hold, s billing.Settlement) {
	data := s.Encode(h, t.o.ReplicaID, t.o.Now())
	t.calls.change(h.ID, func(c *call) {
		at, err := t.paper.mark(h.ID, data)
		if err != nil {
			t.counters.marksMissed.Add(1)
			return
		}
		if c.first == 0 {
			c.first = at
		}
	})
	failpoint.At(failpoint.C4)
}

// sleep is a pause that ends with ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
