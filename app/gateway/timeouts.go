package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"umg/app"
	"umg/app/provider"
)

// deadlines is the one timer of a call. It ends an attempt whose upstream is silent for too long and keeps a silent
// stream open for the client. It is set lazily: while frames come it only notes when it began to wait for the next,
// and the timer, when it fires too early, is set again to what is due then.
type deadlines struct {
	now   app.Clock
	out   *clientWriter
	timer *time.Timer

	mu      sync.Mutex
	closed  bool
	armed   time.Time // Armed is when the timer fires.
	cancel  context.CancelCauseFunc
	waiting time.Time // Waiting is when the wait for the upstream began; zero when the gateway does not wait.
	limit   time.Duration
	cause   error
	total   time.Time // Total is when the attempt must be over.
}

// errClientGone is the cause of an attempt that ends because a keep-alive could not be written.
var errClientGone = errors.New("gateway: the client is gone")

// idlePoll is how often a watch with nothing due looks again.
const idlePoll = time.Minute

func newWatch(now app.Clock, out *clientWriter) *deadlines {
	w := &deadlines{now: now, out: out}
	w.mu.Lock()
	defer w.mu.Unlock()
	at := now()
	next := w.due(at)
	w.armed = next
	w.timer = time.AfterFunc(next.Sub(at), w.tick)
	return w
}

// attempt begins to watch an attempt, which has begun to wait.
func (w *deadlines) attempt(cancel context.CancelCauseFunc, limit, total time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.now()
	w.cancel, w.total = cancel, time.Time{}
	if total > 0 {
		w.total = at.Add(total)
		w.arm(at, total)
	}
	w.begin(at, limit, provider.ErrFirstByte)
}

// wait starts the timer of a wait for the upstream, which may take as long as limit. The gateway calls it for every
// frame of a slow stream, so it checks no other deadline: one that is due later than the timer stays set.
func (w *deadlines) wait(from time.Time, limit time.Duration, cause error) {
	w.mu.Lock()
	w.begin(from, limit, cause)
	w.mu.Unlock()
}

func (w *deadlines) begin(at time.Time, limit time.Duration, cause error) {
	w.waiting, w.limit, w.cause = at, limit, cause
	if limit > 0 {
		w.arm(at, limit)
	}
}

// arm lets the timer fire after a while, unless it fires before.
func (w *deadlines) arm(at time.Time, after time.Duration) {
	if next := at.Add(after); next.Before(w.armed) {
		w.armed = next
		w.timer.Reset(after)
	}
}

// came says that the upstream is not waited for any more.
func (w *deadlines) came() {
	w.mu.Lock()
	w.waiting = time.Time{}
	w.mu.Unlock()
}

// due is when something must happen next, if nothing else does before.
func (w *deadlines) due(at time.Time) time.Time {
	next := at.Add(idlePoll)
	earlier := func(t time.Time) {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	if !w.waiting.IsZero() && w.limit > 0 {
		earlier(w.waiting.Add(w.limit))
	}
	earlier(w.total)
	earlier(w.out.keepAliveAt())
	return next
}

// tick runs on the timer's own goroutine.
func (w *deadlines) tick() {
	at, gone := w.now(), false
	if keep := w.out.keepAliveAt(); !keep.IsZero() && !at.Before(keep) {
		gone = w.out.keepAlive() != nil
		at = w.now()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	switch {
	case w.cancel == nil:
	case gone:
		w.stop(errClientGone)
	case !w.waiting.IsZero() && w.limit > 0 && !at.Before(w.waiting.Add(w.limit)):
		w.stop(w.cause)
	case !w.total.IsZero() && !at.Before(w.total):
		w.stop(provider.ErrTotal)
	}
	next := w.due(at)
	w.armed = next
	w.timer.Reset(next.Sub(at))
}

func (w *deadlines) stop(cause error) {
	w.cancel(cause)
	w.cancel, w.total, w.waiting = nil, time.Time{}, time.Time{}
}

// close ends the watch. No keep-alive is written after it returned.
func (w *deadlines) close() {
	w.mu.Lock()
	w.closed = true
	w.timer.Stop()
	w.mu.Unlock()
	w.out.close()
}
