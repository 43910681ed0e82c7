package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"umg/app"
	"umg/app/provider"
)

// deadlines is the only timer of a call. It cancels an attempt whose upstream is silent for too long, and sends keep-alives while a
// stream is silent. To be cheap, it does not reset the timer for each frame. It only notes when the wait for a frame began, and when
// the timer fires too early, it sets it again to the next deadline.
type deadlines struct {
	now   app.Clock
	out   *clientWriter
	timer *time.Timer

	mu      sync.Mutex
	closed  bool
	stopped bool      // The timer was stopped before it has fired, so that no tick can come.
	armed   time.Time // Armed is when the timer fires.
	cancel  context.CancelCauseFunc
	waiting time.Time // Waiting is when the wait for the upstream began; zero when the gateway does not wait.
	limit   time.Duration
	cause   error
	total   time.Time // Total is when the attempt must be over.
}

// errClientGone is the cause of an attempt that ends because a keep-alive could not be written.
var errClientGone = errors.New("gateway: the client is gone")

// idlePoll is how often the timer fires when nothing is due.
const idlePoll = time.Minute

// start sets the timer for the first time.
func (d *deadlines) start(now app.Clock, out *clientWriter) {
	d.now, d.out = now, out
	d.mu.Lock()
	defer d.mu.Unlock()
	at := now()
	next := d.due(at)
	d.armed = next
	if d.timer != nil { // It is that of an earlier call.
		d.timer.Reset(next.Sub(at))
		return
	}
	// goroutine: the timer owns it; it ends at once, and close stops the timer.
	d.timer = time.AfterFunc(next.Sub(at), d.tick)
}

// attempt sets the deadlines of an attempt, which has begun to wait.
func (d *deadlines) attempt(cancel context.CancelCauseFunc, limit, total time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.now()
	d.cancel, d.total = cancel, time.Time{}
	if total > 0 {
		d.total = at.Add(total)
		d.arm(at, total)
	}
	d.begin(at, limit, provider.ErrFirstByte)
}

// wait begins a wait for the upstream that may take as long as limit. The gateway calls it for every frame of a slow stream, so it
// only moves the timer forward, and does not look at the other deadlines.
func (d *deadlines) wait(from time.Time, limit time.Duration, cause error) {
	d.mu.Lock()
	d.begin(from, limit, cause)
	d.mu.Unlock()
}

func (d *deadlines) begin(at time.Time, limit time.Duration, cause error) {
	d.waiting, d.limit, d.cause = at, limit, cause
	if limit > 0 {
		d.arm(at, limit)
	}
}

// arm makes the timer fire after a while, unless it fires sooner anyway.
func (d *deadlines) arm(at time.Time, after time.Duration) {
	if next := at.Add(after); next.Before(d.armed) {
		d.armed = next
		d.timer.Reset(after)
	}
}

// stopWaiting ends the wait for the upstream.
func (d *deadlines) stopWaiting() {
	d.mu.Lock()
	d.waiting = time.Time{}
	d.mu.Unlock()
}

// due is the time of the next deadline.
func (d *deadlines) due(at time.Time) time.Time {
	next := at.Add(idlePoll)
	earlier := func(t time.Time) {
		if !t.IsZero() && t.Before(next) {
			next = t
		}
	}
	if !d.waiting.IsZero() && d.limit > 0 {
		earlier(d.waiting.Add(d.limit))
	}
	earlier(d.total)
	earlier(d.out.keepAliveAt())
	return next
}

// tick runs on the timer's own goroutine.
func (d *deadlines) tick() {
	at, gone := d.now(), false
	if keep := d.out.keepAliveAt(); !keep.IsZero() && !at.Before(keep) {
		gone = d.out.keepAlive() != nil
		at = d.now()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	switch {
	case d.cancel == nil:
	case gone:
		d.stop(errClientGone)
	case !d.waiting.IsZero() && d.limit > 0 && !at.Before(d.waiting.Add(d.limit)):
		d.stop(d.cause)
	case !d.total.IsZero() && !at.Before(d.total):
		d.stop(provider.ErrTotal)
	}
	next := d.due(at)
	d.armed = next
	d.timer.Reset(next.Sub(at))
}

func (d *deadlines) stop(cause error) {
	d.cancel(cause)
	d.cancel, d.total, d.waiting = nil, time.Time{}, time.Time{}
}

// close stops the timer. No keep-alive is written after it returned.
func (d *deadlines) close() {
	d.mu.Lock()
	d.closed = true
	d.stopped = d.timer.Stop()
	d.mu.Unlock()
	d.out.close()
}
