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

// The worker's limits.
const (
	applyEvery      = 20 * time.Millisecond
	applyEveryMax   = 100 * time.Millisecond // while the books are slow
	applyRest       = 4                      // times as long as a look took, so that fewer and larger batches go to slow books
	idleEvery       = 250 * time.Millisecond
	reapEvery       = 5 * time.Second
	reapAfter       = 85 * time.Second // of silence; longer than its leases are trusted by a replica
	renewRetryEvery = time.Second
	backoffMin      = 50 * time.Millisecond
	backoffMax      = 2 * time.Second
	beginRetryMax   = 30 * time.Second
	drainMax        = 5 * time.Second // to bring everything into the books when the till closes
	givers          = 4               // leases returned at a time
	givesMax        = 1024
	recallChannel   = "lease_recall"
	// After a time in which recalls were not heard, what was used a moment ago may stay.
	restBeforeRecall = time.Second
)

// Run does the till's duties until ctx ends: it renews the run, brings settlements into the books, gives back credit that
// is idle or that others ask for, and reclaims what lost replicas held. Then it brings everything that is left into the
// books, for a few seconds at most, returns all leases and ends the run. Calls should have ended by then.
func (t *Till) Run(ctx context.Context) error {
	duties := []func(context.Context){t.keepRenewed, t.keepApplied, t.keepIdleLow, t.keepReaped, t.listen}
	for range givers {
		duties = append(duties, t.keepGiving)
	}
	var all sync.WaitGroup
	for _, duty := range duties {
		all.Go(func() { duty(ctx) })
	}
	all.Wait()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainMax)
	defer cancel()
	return t.close(ending)
}

// close applies what is left and ends the run. With calls that still run it leaves the run to the next start.
func (t *Till) close(ctx context.Context) error {
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
				t.o.Log.Warn("the till closes before the books have everything; the next start goes on", "error", err)
			}
			return nil
		}
		_ = t.pause(ctx, wait)
	}
}

// errRunning means that a run cannot end in order.
var errRunning = errors.New("lease: calls still run")

func (t *Till) finish(ctx context.Context, b *book) error {
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

// keepRenewed tells the books that the replica lives.
func (t *Till) keepRenewed(ctx context.Context) {
	wait := time.Duration(0)
	for t.pause(ctx, wait) == nil {
		wait = renewEvery
		if err := t.renew(ctx); err != nil && ctx.Err() == nil {
			wait = renewRetryEvery
			t.o.Log.Warn("the replica could not tell the books that it lives", "error", err)
		}
	}
}

// renew is one heartbeat. Its leases are trusted from when it was sent.
func (t *Till) renew(ctx context.Context) error {
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

// keepApplied brings settlements into the books, and begins anew when the run is over before its time.
func (t *Till) keepApplied(ctx context.Context) {
	wait, failing := applyEvery, false
	for {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-t.fenced:
			timer.Stop()
			t.beginAnew(ctx)
		case <-t.applier.wake():
			timer.Stop()
		case <-timer.C:
		}
		began := t.mono()
		if err := t.applyAll(ctx); err != nil {
			if ctx.Err() == nil && !failing {
				t.o.Log.Warn("settlements wait for the books", "error", err)
			}
			failing, wait = true, min(max(2*wait, backoffMin), backoffMax)
			_ = t.pause(ctx, wait)
			continue
		}
		failing, wait = false, min(max(applyEvery, applyRest*(t.mono()-began)), applyEveryMax)
	}
}

// applyAll applies what there is.
func (t *Till) applyAll(ctx context.Context) error {
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

// beginAnew registers the replica again after its epoch was over, until it works. Where trying again helps nobody, as another
// process has the replica's id or the journal lacks what the books have, it is tried rarely: each try ends the other's run.
func (t *Till) beginAnew(ctx context.Context) {
	t.counters.fenced.Add(1)
	t.health.fenced(t.mono())
	t.o.Log.Warn("the replica's epoch is over before its time: it was silent for too long, or the books were restored; it begins anew")
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
		t.o.Log.Error("the replica could not begin anew", "error", err, "retry_in", wait.String())
		if t.pause(ctx, wait) != nil {
			return
		}
	}
}

// keepIdleLow looks for leases whose free credit should go back, and forgets those that nobody uses.
func (t *Till) keepIdleLow(ctx context.Context) {
	for t.pause(ctx, idleEvery) == nil {
		t.lookForIdle()
	}
}

func (t *Till) lookForIdle() {
	b := t.book.Load()
	if b == nil {
		return
	}
	now, applied := t.mono(), t.appliedTo()
	b.each(func(l *lease) { t.tend(b, l, now, applied) })
}

// tend has a lease's idle credit given back or credit taken ahead, and forgets a lease that has none.
func (t *Till) tend(b *book, l *lease, now time.Duration, applied journal.LSN) {
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

// takeAhead takes credit for calls that will come, so that they need no database.
func (t *Till) takeAhead(ctx context.Context, l *lease) error {
	b := t.book.Load()
	if b == nil || b.find(l.purse) != l || !b.trusted(t.mono()) {
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

func (t *Till) keepGiving(ctx context.Context) {
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

// giveBack returns a lease's free credit, and learns on this way what an unknown step has granted.
func (t *Till) giveBack(ctx context.Context, l *lease) error {
	b := t.book.Load()
	if b == nil || b.find(l.purse) != l {
		return nil
	}
	total, s := l.beginReturn(t.mono(), t.appliedTo())
	var row Row
	var err error
	switch s {
	case nothing:
		return nil
	case giving:
		row, err = t.o.Bank.Return(ctx, b.replica, l.purse, total)
	case asking:
		row, err = t.o.Bank.Take(ctx, b.replica, Ask{Purse: l.purse})
	}
	return t.gave(b, l, row, err)
}

// gave ends the step of giveBack.
func (t *Till) gave(b *book, l *lease, row Row, err error) error {
	backward := l.landed(row, err)
	if backward || errors.Is(err, ErrFenced) {
		t.fence(b)
	}
	if err != nil && !transient(err) && app.KindOf(err) != app.Forbidden && !errors.Is(err, ErrShort) {
		t.o.Log.Error("the books refuse what a lease gives back", "purse", l.purse, "error", err)
	}
	return err
}

// listen hears which purses others need.
func (t *Till) listen(ctx context.Context) {
	if t.o.DSN == "" {
		return
	}
	_ = postgres.Follow(ctx, t.o.DSN, []string{recallChannel}, postgres.Handler{
		Notify: func(_, purse string) { t.recall(purse) },
		Lost: func(err error) {
			t.o.Log.Warn("recalls of leases are not heard", "error", err)
		},
	})
}

// recall gives back a purse's free credit. Without a name anything may have been asked for, so whatever rests goes back.
func (t *Till) recall(purse string) {
	b := t.book.Load()
	if b == nil {
		return
	}
	if purse == "" {
		now := t.mono()
		b.each(func(l *lease) { t.freed(l, l.callBack(now, restBeforeRecall)) })
		return
	}
	if l := b.find(purse); l != nil {
		t.freed(l, l.callBack(t.mono(), 0))
	}
}

// keepReaped reclaims what lost replicas held.
func (t *Till) keepReaped(ctx context.Context) {
	for t.pause(ctx, reapEvery) == nil {
		if err := t.reap(ctx); err != nil && ctx.Err() == nil {
			t.o.Log.Warn("lost replicas could not be looked for", "error", err)
		}
	}
}

// reap judges others only when this replica itself was heard all the time: after the books were away, all are behind. What
// its own runs before this one held is over in any case: a step of theirs may have come late to the books, and opened a
// lease again after they were closed.
func (t *Till) reap(ctx context.Context) error {
	b := t.book.Load()
	if b == nil {
		return nil
	}
	if err := t.o.Registry.Retire(ctx, b.replica); err != nil || !t.reaping.steady(t.mono()) {
		return err
	}
	lost, err := t.o.Registry.Reap(ctx, reapAfter)
	if lost > 0 {
		t.o.Log.Warn("replicas were silent for too long, so their leases are reclaimed", "replicas", lost)
	}
	if err == nil && t.o.Journal == nil {
		err = t.settleMarks(ctx, b.replica)
	}
	return err
}

// reaping is since when this replica was heard at every heartbeat, 0 for not.
type reaping struct{ since atomic.Int64 }

func (r *reaping) heard(at time.Duration) { r.since.CompareAndSwap(0, max(int64(at), 1)) }
func (r *reaping) unheard()               { r.since.Store(0) }

func (r *reaping) steady(now time.Duration) bool {
	since := r.since.Load()
	return since > 0 && now-time.Duration(since) >= reapAfter
}
