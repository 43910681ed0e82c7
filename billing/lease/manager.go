package lease

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"umg/app"
	"umg/app/postgres"
	"umg/billing"
	"umg/billing/failpoint"
	"umg/billing/journal"
)

// retryAfter is when a client whom the gateway refused for its own reasons may retry.
const retryAfter = 2 * time.Second

// Options configure a lease manager. Without a Journal it keeps settlements and marks in the database, for hosts without a disk.
type Options struct {
	Bank     Store
	Registry ReplicaStore
	Journal  *journal.Log
	// Balance serves CheckCredit, which passes every call when it is nil.
	Balance   func(ctx context.Context, accountID string) (billing.Balance, error)
	ReplicaID string
	Listener  *postgres.Listener // The manager listens for recalls on it; without one it receives none.
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
	resting     atomic.Bool   // All leases were at rest at the last look, and no call has used one since.
	used        chan struct{} // A value ends the rest.
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
		o: o, calls: newCalls(), fenced: make(chan struct{}, 1), used: make(chan struct{}, 1), retries: retryQueue{added: make(chan struct{}, 1)},
		returns: make(chan *lease, returnQueueMax), topUps: make(chan *lease, returnQueueMax),
		mono: func() time.Duration { return o.Now().Sub(start) }, pause: app.Sleep,
	}
	t.applier.hurry = make(chan struct{}, 1)
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
	defer m.endRest()
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

// take asks the database for credit. The step continues when the caller leaves, because every waiting caller needs its outcome.
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
	m.endRest()
}

// release ends a reservation: the cost is spent and the rest is free again. It reports whether free credit should be returned now.
func (l *lease) release(now time.Duration, reserved, cost app.Amount, at journal.LSN) (giveBack bool) {
	l.mu.Lock()
	l.reserved -= reserved
	l.spent += cost
	l.used = now
	l.last = max(l.last, at)
	if cost > 0 {
		l.spend.add(now, cost)
	}
	giveBack = (l.returnImmediately || l.recalled) && l.free() > 0
	if l.changed != nil && l.free() >= l.changeLeast {
		l.signalChange()
	}
	l.mu.Unlock()
	return giveBack
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

// endRest follows each use of a lease.
func (m *Manager) endRest() {
	if m.resting.Load() && m.resting.CompareAndSwap(true, false) {
		app.Wake(m.used)
	}
}

// fence ends the authority of a table, once, and makes the worker register the replica again.
func (m *Manager) fence(b *leaseTable) {
	b.over.Store(true)
	if m.table.Load() == b {
		offer(m.fenced, struct{}{})
	}
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

// holdRequest acquires the credit of a hold or an extension: first from the account, then the same amount from the key's budget.
// It never waits itself; Manager.acquire does.
type holdRequest struct {
	manager     *Manager
	request     billing.HoldRequest
	call        call
	want        app.Amount   // This amount is wanted from the next credit account.
	lease       *lease       // This is the lease that the acquisition uses.
	acquisition *acquisition // The acquisition is nil when the lease had enough.
}

// creditAccountID is the id of the credit account to reserve from next, or empty when everything is reserved.
func (h *holdRequest) creditAccountID() string {
	switch {
	case h.want <= 0:
		return ""
	case h.call.account == nil:
		return h.request.AccountID
	case h.call.budget == nil:
		return h.request.BudgetID
	}
	return ""
}

// step continues until everything is reserved or the manager must wait.
func (h *holdRequest) step() nextAction {
	for creditAccountID := h.creditAccountID(); creditAccountID != ""; creditAccountID = h.creditAccountID() {
		now := h.manager.mono()
		if !h.call.table.trusted(now) {
			return nextAction{verdict: refused, err: h.abandon(h.manager.refusal(ErrFenced, h.request, false))}
		}
		if h.acquisition == nil {
			h.lease = h.call.table.open(creditAccountID, now)
			if h.lease.reserve(now, h.want) {
				h.addReservation(h.want)
				continue
			}
			h.acquisition = newAcquisition(h.lease, h.want, h.request.Min, now)
		}
		n := h.acquisition.step(now)
		if n, ended := h.applyAction(n); ended {
			return n
		}
	}
	return nextAction{verdict: reserved}
}

// reserve sets an amount aside and reports whether the lease had enough. Every call runs it, so it must stay fast.
func (l *lease) reserve(now time.Duration, amount app.Amount) bool {
	l.mu.Lock()
	ok := !l.dropped && l.free() >= amount
	if ok {
		l.reserved += amount
		l.used = now
		l.largestWanted.add(now, amount)
		l.fundedUntil = now + fundedFor
	}
	l.mu.Unlock()
	return ok
}

// answer passes the database's answer to the acquisition and continues.
func (h *holdRequest) answer(row LeaseState, err error) nextAction {
	h.manager.counters.takes.Add(1)
	n, backward := h.acquisition.answer(row, err, h.manager.mono())
	if backward || errors.Is(err, ErrFenced) {
		h.manager.fence(h.call.table)
	}
	if n.verdict == stepsAgain {
		return h.step()
	}
	if n, ended := h.applyAction(n); ended {
		return n
	}
	return h.step()
}

// applyAction applies the verdict of an acquisition to the request. It reports whether the manager must act on the verdict.
func (h *holdRequest) applyAction(n nextAction) (nextAction, bool) {
	switch n.verdict {
	case reserved:
		h.endAcquisition()
		h.addReservation(n.amount)
		if !h.call.table.trusted(h.manager.mono()) { // The answer may have arrived after the lease's validity ended.
			err := h.manager.refusal(ErrFenced, h.request, false)
			return nextAction{verdict: refused, err: h.abandon(err)}, true
		}
		return n, false
	case leaseDropped:
		h.endAcquisition()
		return n, false
	case refused:
		err := h.manager.refusal(n.err, h.request, h.call.account != nil)
		return nextAction{verdict: refused, err: h.abandon(err)}, true
	}
	return n, true
}

// addReservation records a reservation. When the budget grants less than the account, the account's reservation shrinks to the same amount.
func (h *holdRequest) addReservation(amount app.Amount) {
	if h.call.account == nil {
		h.call.account, h.call.amount, h.want = h.lease, amount, amount
		return
	}
	if less := h.call.amount - amount; less > 0 {
		h.manager.scheduleReturn(h.call.account, h.call.account.release(h.manager.mono(), less, 0, 0))
	}
	h.call.budget, h.call.amount = h.lease, amount
}

func (h *holdRequest) endAcquisition() {
	if h.acquisition != nil {
		h.acquisition.end()
		h.acquisition = nil
	}
}

// abandon releases what was reserved and returns the error for the caller: its argument, or that the client left. A database
// that did not answer in time is not a client who left.
func (h *holdRequest) abandon(err error) error {
	h.endAcquisition()
	h.manager.releaseHold(h.call)
	h.call.account, h.call.budget, h.call.amount = nil, nil, 0
	if !isUnavailable(err) && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return app.Errorf(app.Canceled, "canceled", "The client left while credit was being reserved.").Because(err)
	}
	return err
}

// checkCaller abandons a request whose caller left while it waited.
func (h *holdRequest) checkCaller(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return h.abandon(err)
	}
	return nil
}

func (h *holdRequest) hold() billing.Hold {
	return billing.Hold{
		ID: h.request.ID, AccountID: h.request.AccountID, BudgetID: h.request.BudgetID, Amount: h.call.amount, Epoch: h.call.table.replica.Epoch,
		Uncharged: h.request.Uncharged,
	}
}

// refusal is the error that the caller of a hold receives. The credit account is the key's budget if budget is set, else the account.
func (m *Manager) refusal(err error, r billing.HoldRequest, budget bool) error {
	var short *InsufficientCredit
	switch {
	case errors.As(err, &short):
		switch {
		case budget:
			return m.refuse(billing.OverBudget(r.Min, short.Balance, short.Period.Next(m.o.Now())), &m.counters.refusedBudget)
		case short.Limit.Set():
			return m.refuse(billing.OverLimit(r.Min, short.Balance, short.Limit), &m.counters.refusedLimit)
		}
		return m.refuse(billing.Unfunded(r.Min, short.Balance), &m.counters.refusedUnfunded)
	case errors.Is(err, ErrFenced):
		return m.refuse(errAway("The service is restarting.").Because(err), &m.counters.refusedAway)
	case app.KindOf(err) == app.Forbidden:
		return m.refuse(err, &m.counters.refusedFrozen)
	}
	return m.refuse(err, &m.counters.refusedAway)
}
