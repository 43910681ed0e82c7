package lease

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"umg/app"
	"umg/billing/journal"
)

// These limits apply to the worker.
const (
	// The applier waits this long for more settlements after the first one, because a pass costs about as much for one as for ten.
	applyEvery    = 100 * time.Millisecond
	applyEveryMax = 200 * time.Millisecond // The applier waits at most this long while the database is slow.
	// The applier waits this many times as long as a pass took, which sends fewer and larger batches to a slow database.
	applyPauseFactor = 4
	idleEvery        = 250 * time.Millisecond
	restEvery        = 5 * time.Second // A replica whose leases are all at rest looks at them this often. A call ends the rest.
	reapEvery        = 20 * time.Second
	reapAfter        = 85 * time.Second // A replica is lost after this silence, which is longer than it trusts its own leases.
	renewRetryEvery  = time.Second
	backoffMin       = 50 * time.Millisecond
	backoffMax       = 2 * time.Second
	beginRetryMax    = 30 * time.Second
	drainMax         = 5 * time.Second // At shutdown the manager has this long to apply everything to the ledger.
	returnWorkers    = 4               // This many leases are returned at a time.
	returnQueueMax   = 1024
	recallChannel    = "lease_recall"
	// A lease that was used within this time keeps its credit when it is not known which were recalled.
	usedBeforeRecall = time.Second
)

// Run keeps the manager's state in the database until ctx ends: it renews the epoch, applies settlements to the ledger,
// returns credit that is idle or recalled, and reclaims the leases of lost replicas. Then it applies the remaining
// settlements for a few seconds at most, returns all leases and ends the epoch. Calls should have ended by then.
func (m *Manager) Run(ctx context.Context) error {
	duties := []func(context.Context){m.renewLoop, m.applyLoop, m.idleLoop, m.reapLoop, m.listen}
	for range returnWorkers {
		duties = append(duties, m.returnLoop)
	}
	var all sync.WaitGroup
	for _, duty := range duties {
		// goroutine: Run owns it and waits for it; it ends when ctx ends.
		all.Go(func() { duty(ctx) })
	}
	all.Wait()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainMax)
	defer cancel()
	return m.close(ending)
}

// close applies what is left and ends the epoch. While calls still run, it leaves the epoch to the next start.
func (m *Manager) close(ctx context.Context) error {
	b := m.table.Load()
	if b == nil {
		return nil
	}
	b.closing.Store(true)
	for wait := backoffMin; ; wait = min(2*wait, backoffMax) {
		err := m.finish(ctx, b)
		if err == nil || ctx.Err() != nil || !transient(err) || errors.Is(err, ErrFenced) {
			m.table.Store(nil)
			if err != nil {
				m.o.Log.Warn("lease manager stopped with unapplied settlements", "error", err)
			}
			return nil
		}
		_ = m.pause(ctx, wait)
	}
}

// errRunning means that an epoch cannot end in order because calls still run.
var errRunning = errors.New("lease: calls still run")

func (m *Manager) finish(ctx context.Context, b *leaseTable) error {
	if err := m.applyRetries(ctx); err != nil {
		return err
	}
	if m.o.Journal != nil && m.o.Journal.Err() == nil {
		if err := m.o.Journal.Wait(ctx, m.o.Journal.Last()); err != nil {
			return err
		}
	}
	m.applier.moved = m.mono() - cursorEvery
	for more := true; more; {
		var err error
		if more, err = m.apply(ctx, b.replica); err != nil {
			return err
		}
	}
	if m.calls.running.Load() > 0 {
		return errRunning
	}
	return m.o.Registry.End(ctx, b.replica)
}

// renewLoop sends the heartbeats of the replica.
func (m *Manager) renewLoop(ctx context.Context) {
	next := m.mono()
	for m.pause(ctx, max(0, next-m.mono())) == nil {
		err := m.renew(ctx)
		retry := m.mono() + renewRetryEvery
		next = max(next+renewEvery, retry)
		if err != nil && ctx.Err() == nil {
			next = retry
			m.o.Log.Warn("replica heartbeat failed", "error", err)
		}
	}
}

// renew sends one heartbeat. The leases are trusted from the time it was sent.
func (m *Manager) renew(ctx context.Context) error {
	b := m.table.Load()
	if b == nil {
		return nil
	}
	sent := m.mono()
	err := m.o.Bank.Renew(ctx, b.replica)
	switch {
	case err == nil:
		m.reaper.succeeded(sent)
		b.trust(sent + leaseTrust)
	case errors.Is(err, ErrFenced):
		m.reaper.failed()
		m.fence(b)
	default:
		m.reaper.failed()
	}
	return err
}

// applyLoop applies settlements to the ledger, and begins a new epoch when the present one was fenced.
func (m *Manager) applyLoop(ctx context.Context) {
	wait, failing := applyEvery, false
	for {
		if !failing {
			m.awaitRecords(ctx)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-m.fenced:
			timer.Stop()
			m.restartEpoch(ctx)
		case <-m.applier.wake():
			timer.Stop()
		case <-m.applier.hurry:
			timer.Stop()
		case <-timer.C:
		}
		began := m.mono()
		if err := m.applyAll(ctx); err != nil {
			if ctx.Err() == nil && !failing {
				m.o.Log.Warn("applying settlements failed, retrying", "error", err)
			}
			failing, wait = true, min(max(2*wait, backoffMin), backoffMax)
			_ = m.pause(ctx, wait)
			continue
		}
		failing, wait = false, min(max(applyEvery, applyPauseFactor*(m.mono()-began)), applyEveryMax)
	}
}

// awaitRecords waits until the journal has new durable records or a settlement is to be retried, the epoch was fenced, or the
// cursor has to move over marks that were read. Nothing else happens to a journal, so an idle replica waits without a timer.
// Without a journal the applier has a signal of its own.
func (m *Manager) awaitRecords(ctx context.Context) {
	if m.o.Journal == nil {
		return
	}
	timer := time.NewTimer(cursorEvery)
	defer timer.Stop()
	if m.appliedTo() >= m.o.Journal.Durable() {
		timer.Stop()
	}
	select {
	case <-ctx.Done():
	case <-m.o.Journal.Synced():
	case <-m.retries.added:
	case <-m.fenced:
		offer(m.fenced, struct{}{}) // It is for the caller.
	case <-timer.C:
	}
}

// applyAll applies every durable settlement.
func (m *Manager) applyAll(ctx context.Context) error {
	b := m.table.Load()
	if b == nil {
		return nil
	}
	if err := m.applyRetries(ctx); err != nil {
		return err
	}
	for more := true; more; {
		var err error
		if more, err = m.apply(ctx, b.replica); err != nil {
			if errors.Is(err, ErrFenced) || errors.Is(err, errMoved) {
				m.fence(b)
			}
			return err
		}
	}
	return nil
}

// restartEpoch registers the replica again after its epoch was fenced, until that succeeds. It retries rarely when a retry
// cannot help, because another process has the replica's id or the journal lacks records that the ledger has: each attempt
// ends the other process's epoch.
func (m *Manager) restartEpoch(ctx context.Context) {
	m.counters.fenced.Add(1)
	m.health.fenced(m.mono())
	m.o.Log.Warn("replica fenced, starting new epoch")
	helpless := 0
	for wait := backoffMin; ; wait = min(2*wait, backoffMax) {
		err := m.Recover(ctx)
		if ctx.Err() != nil {
			return
		}
		m.health.begun(m.mono(), err)
		if err == nil {
			return
		}
		if transient(err) {
			helpless = 0
		} else if helpless++; helpless > 1 {
			wait = beginRetryMax
		}
		m.o.Log.Error("replica recovery failed", "error", err, "retry_in", wait.String())
		if m.pause(ctx, wait) != nil {
			return
		}
	}
}

// idleLoop finds leases whose free credit should be returned, and drops those that no call uses.
func (m *Manager) idleLoop(ctx context.Context) {
	looks := time.NewTicker(restEvery)
	defer looks.Stop()
	for m.pause(ctx, idleEvery) == nil {
		m.resting.Store(true) // A call that a pass does not see ends the rest.
		for m.scheduleIdle() && m.rest(ctx, looks.C) {
		}
		m.resting.Store(false)
	}
}

// rest waits until the next look, and reports false when a call or ctx ended the wait.
func (m *Manager) rest(ctx context.Context, look <-chan time.Time) bool {
	select {
	case <-look:
		return true
	case <-m.used:
	case <-ctx.Done():
	}
	return false
}

// scheduleIdle makes one pass over all leases. It reports whether all are at rest.
func (m *Manager) scheduleIdle() (rest bool) {
	b := m.table.Load()
	if b == nil {
		return false
	}
	now, applied := m.mono(), m.appliedTo()
	rest = true
	b.each(func(l *lease) {
		m.schedule(b, l, now, applied)
		rest = l.atRest(now) && rest
	})
	return rest
}

// schedule schedules a return of idle credit or a take of credit ahead, and drops a lease without credit.
func (m *Manager) schedule(b *leaseTable, l *lease, now time.Duration, applied journal.LSN) {
	switch {
	case l.idle(now, applied):
		m.scheduleReturn(l, true)
	case l.runsLow(now):
		offer(m.topUps, l)
	default:
		b.discard(l, now, applied)
	}
}

// takeAhead takes credit for future calls, which then need no database.
func (m *Manager) takeAhead(ctx context.Context, l *lease) error {
	b := m.table.Load()
	if b == nil || b.find(l.creditAccountID) != l || !b.trusted(m.mono()) {
		return nil
	}
	a, low := l.beginAhead(m.mono())
	if !low {
		return nil
	}
	m.counters.takes.Add(1)
	row, err := m.o.Bank.Take(ctx, b.replica, a)
	return m.finishStep(b, l, row, err)
}

func (m *Manager) returnLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-m.returns:
			if err := m.returnFree(ctx, l); err != nil && transient(err) {
				_ = m.pause(ctx, backoffMin)
			}
		case l := <-m.topUps:
			if err := m.takeAhead(ctx, l); err != nil && transient(err) {
				_ = m.pause(ctx, backoffMin)
			}
		}
	}
}

// returnFree returns a lease's free credit, and learns from the answer what a step with an unknown outcome granted.
func (m *Manager) returnFree(ctx context.Context, l *lease) error {
	b := m.table.Load()
	if b == nil || b.find(l.creditAccountID) != l {
		return nil
	}
	total, s := l.beginReturn(m.mono(), m.appliedTo())
	var row LeaseState
	var err error
	switch s {
	case noStep:
		return nil
	case returnCredit:
		row, err = m.o.Bank.Return(ctx, b.replica, l.creditAccountID, total)
	case readState:
		row, err = m.o.Bank.Take(ctx, b.replica, TakeRequest{CreditAccountID: l.creditAccountID})
	}
	return m.finishStep(b, l, row, err)
}

// finishStep ends the step of giveBack or takeAhead.
func (m *Manager) finishStep(b *leaseTable, l *lease, row LeaseState, err error) error {
	backward := l.finishStep(row, err)
	if backward || errors.Is(err, ErrFenced) {
		m.fence(b)
	}
	if err != nil && !transient(err) && app.KindOf(err) != app.Forbidden && !errors.Is(err, ErrShort) {
		m.o.Log.Error("lease step rejected", "credit_account", l.creditAccountID, "error", err)
	}
	return err
}

// listen receives recalls: which credit accounts other replicas need credit of.
func (m *Manager) listen(ctx context.Context) {
	for n, lost := range m.o.Listener.Listen(ctx, recallChannel) {
		switch {
		case lost != nil:
			m.o.Log.Warn("lease recall listener disconnected", "error", lost)
		case n.Payload == "":
			m.recallMissed(ctx)
		default:
			m.recall(n.Payload, 0)
		}
	}
}

// recallMissed returns the credit that was recalled while no notification could arrive. All leases but those that were used within the rest
// period return their credit when the database does not say which.
func (m *Manager) recallMissed(ctx context.Context) {
	b := m.table.Load()
	if b == nil {
		return
	}
	recalled, err := m.o.Bank.Recalled(ctx, b.replica)
	if err != nil {
		m.o.Log.Warn("reading recalled leases failed, returning idle credit", "error", err)
		b.each(func(l *lease) { m.recall(l.creditAccountID, usedBeforeRecall) })
	}
	for _, creditAccountID := range recalled {
		m.recall(creditAccountID, 0)
	}
}

// recall returns the free credit of a credit account, unless it was used within the rest period.
func (m *Manager) recall(creditAccountID string, rest time.Duration) {
	b := m.table.Load()
	if b == nil {
		return
	}
	if l := b.find(creditAccountID); l != nil {
		m.scheduleReturn(l, l.recall(m.mono(), rest))
	}
}

// reapLoop reclaims the leases of lost replicas.
func (m *Manager) reapLoop(ctx context.Context) {
	for next := m.mono() + reapEvery; m.pause(ctx, max(0, next-m.mono())) == nil; next = max(next+reapEvery, m.mono()) {
		if err := m.reap(ctx); err != nil && ctx.Err() == nil {
			m.o.Log.Warn("replica reaping failed", "error", err)
		}
	}
}

// reap reclaims leases of others only when this replica's own heartbeats all succeeded: after a database outage every replica is behind. It
// always closes the leases of its own earlier epochs, because one of their steps may arrive late and reopen a lease.
func (m *Manager) reap(ctx context.Context) error {
	b := m.table.Load()
	if b == nil {
		return nil
	}
	if err := m.o.Registry.Retire(ctx, b.replica); err != nil || !m.reaper.steady(m.mono()) {
		return err
	}
	lost, err := m.o.Registry.Reap(ctx, reapAfter)
	if lost > 0 {
		m.o.Log.Warn("lost replicas reaped", "replicas", lost)
	}
	if err == nil && m.o.Journal == nil {
		err = m.settleMarks(ctx, b.replica)
	}
	return err
}

// reaperState is the time since which every heartbeat of this replica succeeded, or 0 when the last one failed.
type reaperState struct{ since atomic.Int64 }

func (r *reaperState) succeeded(at time.Duration) { r.since.CompareAndSwap(0, max(int64(at), 1)) }
func (r *reaperState) failed()                    { r.since.Store(0) }

func (r *reaperState) steady(now time.Duration) bool {
	since := r.since.Load()
	return since > 0 && now-time.Duration(since) >= reapAfter
}
