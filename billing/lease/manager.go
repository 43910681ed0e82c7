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

// retryAfter is when a client whom the gateway refused for its own reasons may retry.
const retryAfter = 2 * time.Second

// Options configure a lease manager. Without a Journal it keeps settlements and marks in the database, for hosts without a
// disk.
type Options struct {
	Bank     Store
	Registry ReplicaStore
	Journal  *journal.Log
	// Balance serves CheckCredit, which passes every call when it is nil.
	Balance   func(ctx context.Context, accountID string) (billing.Balance, error)
	ReplicaID string
	DSN       string // The manager listens for recalls at this database; with an empty DSN it receives none.
	Now       app.Clock
	Log       *slog.Logger
}

// Manager is the lease manager: it admits calls from leases in memory and settles them durably. It takes no calls before Recover
// has succeeded, and keeps the ledger up to date while Run runs.
type Manager struct {
	o           Options
	mono        func() time.Duration
	pause       func(ctx context.Context, d time.Duration) error
	settlements settlementLog
	table       atomic.Pointer[leaseTable] // The table is nil before Recover and after the end.
	calls       *calls
	retries     retryQueue
	returns     chan *lease   // These leases should return their free credit at once.
	topUps      chan *lease   // These leases should take credit ahead.
	fenced      chan struct{} // A value signals that the epoch has ended.
	applier     applier
	reaper      reaperState
	health      health
	counters    counters
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
		o: o, calls: newCalls(), fenced: make(chan struct{}, 1), retries: retryQueue{added: make(chan struct{}, 1)},
		returns: make(chan *lease, returnQueueMax), topUps: make(chan *lease, returnQueueMax),
		mono: func() time.Duration { return o.Now().Sub(start) }, pause: sleep,
	}
	if o.Journal == nil {
		t.applier.database = newDatabaseLog()
		t.settlements = t.applier.database
	} else {
		t.settlements = journalLog{o.Journal}
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

// serving returns the table of leases, or an error when no calls may be taken now.
func (m *Manager) serving() (*leaseTable, error) {
	b := m.table.Load()
	switch {
	case b == nil:
		return nil, m.refuse(errAway("The service is starting or stopping."), &m.counters.refusedAway)
	case !b.trusted(m.mono()):
		return nil, m.refuse(errAway("The service cannot reach its books right now."), &m.counters.refusedAway)
	}
	return b, nil
}

func (m *Manager) refuse(err error, reason *atomic.Int64) error {
	reason.Add(1)
	return err
}

// Hold reserves credit: Want, or what there is when that is at least Min. It is a memory operation when the account's lease
// has enough; otherwise the manager asks the database once. A caller who leaves while it waits costs nothing. An uncharged hold
// grants Want without a lease, and is recorded like any other.
func (m *Manager) Hold(ctx context.Context, r billing.HoldRequest) (billing.Hold, error) {
	if r.Min == 0 {
		r.Min = r.Want
	}
	if r.ID == "" || r.AccountID == "" || r.Min < 0 || r.Want < r.Min {
		return billing.Hold{}, fmt.Errorf("lease: hold %q of account %q: wants %d and at least %d", r.ID, r.AccountID, r.Want, r.Min)
	}
	b, err := m.serving()
	if err != nil {
		return billing.Hold{}, err
	}
	if err := m.settlements.claim(); err != nil {
		return billing.Hold{}, m.refuse(unavailable(err), &m.counters.refusedUnwritten)
	}
	failpoint.At(failpoint.C0)
	g := holdRequest{manager: m, request: r, want: r.Want, call: call{table: b, began: m.mono()}}
	if r.Uncharged {
		g.call.amount = r.Want
	} else {
		err = m.acquire(ctx, &g)
	}
	if err == nil && !m.calls.add(r.ID, g.call) {
		m.releaseHold(g.call)
		err = fmt.Errorf("lease: hold %q: a call of this id runs", r.ID)
	}
	if err != nil {
		m.settlements.unclaim()
		return billing.Hold{}, err
	}
	failpoint.At(failpoint.C2)
	return g.hold(), nil
}

// acquire repeats the steps of a request until it has credit or fails.
func (m *Manager) acquire(ctx context.Context, g *holdRequest) error {
	for n := g.step(); n.verdict != reserved; n = g.step() {
		for n.verdict == needsTake {
			n = m.take(ctx, g, n.ask)
		}
		var err error
		switch n.verdict {
		case reserved:
			return g.checkCaller(ctx)
		case refused:
			return n.err
		case awaitsCredit:
			err = waitForChange(ctx, n.changed, n.pause)
		case needsPause:
			err = m.pause(ctx, n.pause)
		}
		if err != nil {
			return g.abandon(err)
		}
	}
	return g.checkCaller(ctx)
}

// take asks the database for credit. The step continues when the caller leaves, because every waiting caller needs its
// outcome.
func (m *Manager) take(ctx context.Context, g *holdRequest, a TakeRequest) nextAction {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stepMax)
	defer cancel()
	row, err := m.o.Bank.Take(ctx, g.call.table.replica, a)
	failpoint.At(failpoint.C1)
	return g.answer(row, err)
}

// releaseHold ends a call's reservations at no cost.
func (m *Manager) releaseHold(c call) { m.charge(c, 0, 0) }

// charge ends a call's reservations at a cost.
func (m *Manager) charge(c call, cost app.Amount, at journal.LSN) {
	for _, l := range [...]*lease{c.account, c.budget} {
		if l != nil {
			m.scheduleReturn(l, l.release(m.mono(), c.amount, cost, at))
		}
	}
}

// scheduleReturn schedules the return of a lease's free credit. When the queue is full, the next pass over all leases finds it.
func (m *Manager) scheduleReturn(l *lease, giveBack bool) {
	if giveBack {
		offer(m.returns, l)
	}
}

// offer sends a value unless the channel is full.
func offer[T any](c chan<- T, value T) {
	select {
	case c <- value:
	default:
	}
}

// fence ends the authority of a table, once, and makes the worker register the replica again.
func (m *Manager) fence(b *leaseTable) {
	b.over.Store(true)
	if m.table.Load() == b {
		offer(m.fenced, struct{}{})
	}
}

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

// waitForChange returns when changed is closed or after waitMax. It fails only when ctx ends.
func waitForChange(ctx context.Context, changed <-chan struct{}, waitMax time.Duration) error {
	timer := time.NewTimer(waitMax)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
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
