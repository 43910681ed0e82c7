package lease

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"umg/app"
	"umg/app/postgres"
	"umg/billing/journal"
)

// These limits apply to the worker.
const (
	applyEvery    = 20 * time.Millisecond
	applyEveryMax = 100 * time.Millisecond // The applier waits at most this long while the database is slow.
	// The applier waits this many times as long as a pass took, which sends fewer and larger batches to a slow database.
	applyRest       = 4
	idleEvery       = 250 * time.Millisecond
	reapEvery       = 5 * time.Second
	reapAfter       = 85 * time.Second // A replica is lost after this silence, which is longer than it trusts its own leases.
	renewRetryEvery = time.Second
	backoffMin      = 50 * time.Millisecond
	backoffMax      = 2 * time.Second
	beginRetryMax   = 30 * time.Second
	drainMax        = 5 * time.Second // At shutdown the manager has this long to apply everything to the ledger.
	givers          = 4               // This many leases are returned at a time.
	givesMax        = 1024
	recallChannel   = "lease_recall"
	// After the recall listener was disconnected, a lease used within this time may keep its credit.
	restBeforeRecall = time.Second
)

// Run keeps the manager's state in the database until ctx ends: it renews the epoch, applies settlements to the ledger,
// returns credit that is idle or recalled, and reclaims the leases of lost replicas. Then it applies the remaining
// settlements for a few seconds at most, returns all leases and ends the epoch. Calls should have ended by then.
func (t *Manager) Run(ctx context.Context) error {
	duties := []func(context.Context){t.keepRenewed, t.keepApplied, t.keepIdleLow, t.reapLoop, t.listen}
	for range givers {
		duties = append(duties, t.returnLoop)
	}
	var all sync.WaitGroup
	for _, duty := range duties {
		// goroutine: Run owns it and waits for it; it ends when ctx ends.
		all.Go(func() { duty(ctx) })
	}
	all.Wait()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainMax)
	defer cancel()
	return t.close(ending)
}

// close applies what is left and ends the epoch. While calls still run, it leaves the epoch to the next start.
func (t *Manager) close(ctx context.Context) error {
	b := t.book.Load()
	if b == nil {
		return nil
	}
	b.closing.Store(true)
	for wait := backoffMin; ; wait = min(2*wait, backoffMax) {
		err := t.finish(ctx, b)
		if err == nil || ctx.Err() != nil || !transient(err) || errors.Is(err, ErrFenced) {
			t.book.Store(nil)
			if err != nil {
				t.o.Log.Warn("lease manager stopped with unapplied settlements", "error", err)
			}
			return nil
		}
		_ = t.pause(ctx, wait)
	}
}

// errRunning means that an epoch cannot end in order because calls still run.
var errRunning = errors.New("lease: calls still run")

func (t *Manager) finish(ctx context.Context, b *leaseTable) error {
	if err := t.settleLater(ctx); err != nil {
		return err
	}
	if t.o.Journal != nil && t.o.Journal.Err() == nil {
		if err := t.o.Journal.Wait(ctx, t.o.Journal.Last()); err != nil {
			return err
		}
	}
	t.applier.moved = t.mono() - cursorEvery
	for more := true; more; {
		var err error
		if more, err = t.apply(ctx, b.replica); err != nil {
			return err
		}
	}
	if t.calls.running.Load() > 0 {
		return errRunning
	}
	return t.o.Registry.End(ctx, b.replica)
}

// keepRenewed sends the heartbeats of the replica.
func (t *Manager) keepRenewed(ctx context.Context) {
	wait := time.Duration(0)
	for t.pause(ctx, wait) == nil {
		wait = renewEvery
		if err := t.renew(ctx); err != nil && ctx.Err() == nil {
			wait = renewRetryEvery
			t.o.Log.Warn("replica heartbeat failed", "error", err)
		}
	}
}

// renew sends one heartbeat. The leases are trusted from the time it was sent.
func (t *Manager) renew(ctx context.Context) error {
	b := t.book.Load()
	if b == nil {
		return nil
	}
	sent := t.mono()
	err := t.o.Bank.Renew(ctx, b.replica)
	switch {
	case err == nil:
		t.reaping.heard(sent)
		b.trust(sent + leaseTrust)
	case errors.Is(err, ErrFenced):
		t.reaping.unheard()
		t.fence(b)
	default:
		t.reaping.unheard()
	}
	return err
}

// keepApplied applies settlements to the ledger, and begins a new epoch when the present one was fenced.
func (t *Manager) keepApplied(ctx context.Context) {
	wait, failing := applyEvery, false
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-t.fenced:
			timer.Stop()
			t.restartEpoch(ctx)
		case <-t.applier.wake():
			timer.Stop()
		case <-timer.C:
		}
		began := t.mono()
		if err := t.applyAll(ctx); err != nil {
			if ctx.Err() == nil && !failing {
				t.o.Log.Warn("applying settlements failed, retrying", "error", err)
			}
			failing, wait = true, min(max(2*wait, backoffMin), backoffMax)
			_ = t.pause(ctx, wait)
			continue
		}
		failing, wait = false, min(max(applyEvery, applyRest*(t.mono()-began)), applyEveryMax)
	}
}

// applyAll applies every durable settlement.
func (t *Manager) applyAll(ctx context.Context) error {
	b := t.book.Load()
	if b == nil {
		return nil
	}
	if err := t.settleLater(ctx); err != nil {
		return err
	}
	for more := true; more; {
		var err error
		if more, err = t.apply(ctx, b.replica); err != nil {
			if errors.Is(err, ErrFenced) || errors.Is(err, errMoved) {
				t.fence(b)
			}
			return err
		}
	}
	return nil
}

// restartEpoch registers the replica again after its epoch was fenced, until that succeeds. It retries rarely when a retry
// cannot help, because another process has the replica's id or the journal lacks records that the ledger has: each attempt
// ends the other process's epoch.
func (t *Manager) restartEpoch(ctx context.Context) {
	t.counters.fenced.Add(1)
	t.health.fenced(t.mono())
	t.o.Log.Warn("replica fenced, starting new epoch")
	helpless := 0
	for wait := backoffMin; ; wait = min(2*wait, backoffMax) {
		err := t.Recover(ctx)
		if ctx.Err() != nil {
			return
		}
		t.health.begun(t.mono(), err)
		if err == nil {
			return
		}
		if transient(err) {
			helpless = 0
		} else if helpless++; helpless > 1 {
			wait = beginRetryMax
		}
		t.o.Log.Error("replica recovery failed", "error", err, "retry_in", wait.String())
		if t.pause(ctx, wait) != nil {
			return
		}
	}
}

// keepIdleLow finds leases whose free credit should be returned, and drops those that no call uses.
func (t *Manager) keepIdleLow(ctx context.Context) {
	for t.pause(ctx, idleEvery) == nil {
		t.lookForIdle()
	}
}

func (t *Manager) lookForIdle() {
	b := t.book.Load()
	if b == nil {
		return
	}
	now, applied := t.mono(), t.appliedTo()
	b.each(func(l *lease) { t.tend(b, l, now, applied) })
}

// tend schedules a return of idle credit or a take of credit ahead, and drops a lease without credit.
func (t *Manager) tend(b *leaseTable, l *lease, now time.Duration, applied journal.LSN) {
	switch {
	case l.idle(now, applied):
		t.freed(l, true)
	case l.runsLow(now):
		select {
		case t.top <- l:
		default:
		}
	default:
		b.forget(l, now, applied)
	}
}

// takeAhead takes credit for future calls, which then need no database.
func (t *Manager) takeAhead(ctx context.Context, l *lease) error {
	b := t.book.Load()
	if b == nil || b.find(l.creditAccountID) != l || !b.trusted(t.mono()) {
		return nil
	}
	a, low := l.beginAhead(t.mono())
	if !low {
		return nil
	}
	t.counters.takes.Add(1)
	row, err := t.o.Bank.Take(ctx, b.replica, a)
	return t.gave(b, l, row, err)
}

func (t *Manager) returnLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-t.give:
			if err := t.giveBack(ctx, l); err != nil && transient(err) {
				_ = t.pause(ctx, backoffMin)
			}
		case l := <-t.top:
			if err := t.takeAhead(ctx, l); err != nil && transient(err) {
				_ = t.pause(ctx, backoffMin)
			}
		}
	}
}

// giveBack returns a lease's free credit, and learns from the answer what a step with an unknown outcome granted.
func (t *Manager) giveBack(ctx context.Context, l *lease) error {
	b := t.book.Load()
	if b == nil || b.find(l.creditAccountID) != l {
		return nil
	}
	total, s := l.beginReturn(t.mono(), t.appliedTo())
	var row Row
	var err error
	switch s {
	case nothing:
		return nil
	case giving:
		row, err = t.o.Bank.Return(ctx, b.replica, l.creditAccountID, total)
	case asking:
		row, err = t.o.Bank.Take(ctx, b.replica, Ask{CreditAccountID: l.creditAccountID})
	}
	return t.gave(b, l, row, err)
}

// gave ends the step of giveBack or takeAhead.
func (t *Manager) gave(b *leaseTable, l *lease, row Row, err error) error {
	backward := l.landed(row, err)
	if backward || errors.Is(err, ErrFenced) {
		t.fence(b)
	}
	if err != nil && !transient(err) && app.KindOf(err) != app.Forbidden && !errors.Is(err, ErrShort) {
		t.o.Log.Error("lease step rejected", "credit_account", l.creditAccountID, "error", err)
	}
	return err
}

// listen receives recalls: which credit accounts other replicas need credit of.
func (t *Manager) listen(ctx context.Context) {
	if t.o.DSN == "" {
		return
	}
	_ = postgres.Follow(ctx, t.o.DSN, []string{recallChannel}, postgres.Handler{
		Notify: func(_, creditAccountID string) { t.recall(creditAccountID) },
		Lost: func(err error) {
			t.o.Log.Warn("lease recall listener disconnected", "error", err)
		},
	})
}

// recall returns the free credit of a credit account. An empty id means that any recall may have been missed, so every idle
// lease returns its credit.
func (t *Manager) recall(creditAccountID string) {
	b := t.book.Load()
	if b == nil {
		return
	}
	if creditAccountID == "" {
		now := t.mono()
		b.each(func(l *lease) { t.freed(l, l.callBack(now, restBeforeRecall)) })
		return
	}
	if l := b.find(creditAccountID); l != nil {
		t.freed(l, l.callBack(t.mono(), 0))
	}
}

// reapLoop reclaims the leases of lost replicas.
func (t *Manager) reapLoop(ctx context.Context) {
	for t.pause(ctx, reapEvery) == nil {
		if err := t.reap(ctx); err != nil && ctx.Err() == nil {
			t.o.Log.Warn("replica reaping failed", "error", err)
		}
	}
}

// reap reclaims leases of others only when this replica's own heartbeats all succeeded: after a database outage every replica
// is behind. It always closes the leases of its own earlier epochs, because one of their steps may arrive late and reopen a
// lease.
func (t *Manager) reap(ctx context.Context) error {
	b := t.book.Load()
	if b == nil {
		return nil
	}
	if err := t.o.Registry.Retire(ctx, b.replica); err != nil || !t.reaping.steady(t.mono()) {
		return err
	}
	lost, err := t.o.Registry.Reap(ctx, reapAfter)
	if lost > 0 {
		t.o.Log.Warn("lost replicas reaped", "replicas", lost)
	}
	if err == nil && t.o.Journal == nil {
		err = t.settleMarks(ctx, b.replica)
	}
	return err
}

// reaperState is the time since which every heartbeat of this replica succeeded, or 0 when the last one failed.
type reaperState struct{ since atomic.Int64 }

func (r *reaperState) heard(at time.Duration) { r.since.CompareAndSwap(0, max(int64(at), 1)) }
func (r *reaperState) unheard()               { r.since.Store(0) }

func (r *reaperState) steady(now time.Duration) bool {
	since := r.since.Load()
	return since > 0 && now-time.Duration(since) >= reapAfter
}
