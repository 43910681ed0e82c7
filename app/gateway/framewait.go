package gateway

import (
	"time"

	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/provider"
)

// frameWait tells how long the gateway has waited for the next frame of an answer, and for its next content. Comments, pings and
// frames without content show that the upstream is alive, but a stream of them alone must not last until the timeout of the call.
type frameWait struct {
	begun        bool      // A frame of the answer has arrived.
	deliveredAt  time.Time // DeliveredAt is when the last bytes were delivered; zero when something else happened since.
	contentSince time.Time // ContentSince is when the last content arrived, or when the attempt began.
	contentBytes int64     // ContentBytes is the number of bytes of content until then.
	ended        bool      // The answer may have ended by then.
}

// note begins a new wait for content when the answer has progressed since the last one.
func (w *frameWait) note(at time.Time, t *dialect.StreamStats) {
	ended := t.Ended || t.Whole || t.Last
	if w.contentSince.IsZero() || t.Progress != w.contentBytes || ended != w.ended {
		w.contentSince, w.contentBytes, w.ended = at, t.Progress, ended
	}
}

// contentLeft returns the time that the upstream has left to send more content, and the cause of the fault when it has none left.
// Shorter is true when that time is bounded, and is less than the limit of the next frame.
func (a *attempt) contentLeft(at time.Time, limit time.Duration) (left time.Duration, shorter bool, cause error) {
	waits := &a.route.Timeouts
	bound := waits.ContentMax(waits.Idle)
	cause = provider.ErrNoContent
	switch {
	case !a.wait.begun:
		bound, cause = limit, provider.ErrFirstByte // The wait began with the attempt, not with the head of the answer.
	case a.wait.contentBytes == 0:
		bound, cause = waits.ContentMax(waits.FirstByte), provider.ErrNoFirstContent
	}
	if a.wait.ended { // Only end marks and usage may still arrive.
		bound = catalog.Timeouts{}.ContentMax(limit)
	}
	left = a.wait.contentSince.Add(bound).Sub(at)
	return left, bound > 0 && (limit <= 0 || left < limit), cause
}

// awaitFrame sets the deadline of the next frame. It returns a fault when the upstream has sent no content for too long.
func (a *attempt) awaitFrame() *provider.Fault {
	from := a.wait.deliveredAt
	if from.IsZero() { // After any other event than a flush, the wait begins now.
		from = a.call.gateway.o.Now()
	}
	a.wait.note(from, &a.stats)
	limit, cause := a.frameMax()
	if left, shorter, contentCause := a.contentLeft(from, limit); shorter {
		limit, cause = left, contentCause
		if left <= 0 { // If an upstream never pauses, the timer has no time to fire.
			return provider.TimedOut(cause)
		}
	}
	a.deadlines.wait(from, limit, cause)
	return nil
}

// frameMax is how long the next frame may take, and the cause of the fault when it takes longer.
func (a *attempt) frameMax() (time.Duration, error) {
	switch {
	case a.stats.Doubtful:
		return a.route.Timeouts.Idle, provider.ErrIdle
	case a.stats.Last, a.stats.Whole: // The answer is complete, though the connection may stay open.
		return a.call.gateway.o.Silence, provider.ErrIdle
	case a.stats.Ended: // Only the end of the connection is still to come.
		return drainMax, provider.ErrIdle
	case !a.wait.begun:
		return a.route.Timeouts.FirstByte, provider.ErrFirstByte
	}
	return a.route.Timeouts.Idle, provider.ErrIdle
}
