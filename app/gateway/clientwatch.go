package gateway

import (
	"context"
	"errors"
	"sync"
	"time"

	"umg/app/provider"
)

// Limits of reading on after the client has left.
const (
	readOnMax      = 256 // So many answers are read on at once in a process.
	readOnStandard = time.Minute
)

// errReadOnOver is the cause of the end of an attempt whose answer was read on for too long.
var errReadOnOver = errors.New("gateway: the client is gone, and the answer takes too long")

// clientWatch watches the client of an attempt at a provider that makes the whole answer even when its connection is closed. When the
// client leaves, the attempt goes on for a while, so that the call is charged what the provider counts and not an estimate.
type clientWatch struct {
	gateway *Gateway
	client  context.Context // Client ends when the client leaves, or when the gateway ends the call.
	cancel  context.CancelCauseFunc
	stop    func() bool // Stop ends the watch over Client.

	mu    sync.Mutex
	sent  bool // The request is on its way to the provider, or there.
	over  bool // The attempt was canceled or has ended.
	left  bool // The client has left, and the answer is read on.
	timer *time.Timer
}

// watchClient gives an attempt a context that does not end when the client leaves. The watch ends with the attempt.
func (a *attempt) watchClient(client context.Context) {
	a.ctx, a.cancel = context.WithCancelCause(context.WithoutCancel(client))
	w := &clientWatch{gateway: a.call.gateway, client: client, cancel: a.cancel}
	// goroutine: the context owns it; it ends at once, and does not begin after the watch has ended.
	w.stop = context.AfterFunc(client, func() { w.clientLeft(context.Cause(client)) })
	a.watch = w
}

// markSent notes that the request is on its way.
func (w *clientWatch) markSent() {
	if w != nil {
		w.mu.Lock()
		w.sent = true
		w.mu.Unlock()
	}
}

// clientLeft notes that the client has left for a cause. It reports whether the answer is read on; otherwise it cancels the attempt.
func (w *clientWatch) clientLeft(cause error) bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.left || w.over:
		return w.left
	case w.client.Err() != nil && provider.FaultOf(w.client, w.client.Err()).Class != provider.ClassClient, !w.sent, !w.gateway.beginReadOn():
		w.over = true
		w.cancel(cause)
		return false
	}
	w.left = true
	w.timer = time.AfterFunc(w.gateway.o.ReadOn, func() { w.cancel(errReadOnOver) })
	return true
}

// readsOn reports whether the client has left and the answer is read on.
func (w *clientWatch) readsOn() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left
}

// close ends the watch.
func (w *clientWatch) close() {
	if w == nil {
		return
	}
	w.stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left && !w.over {
		w.timer.Stop()
		w.gateway.readingOn.Add(-1)
	}
	w.over = true
}

// beginReadOn reports whether one more answer may be read on, and counts it.
func (g *Gateway) beginReadOn() bool {
	if g.readingOn.Add(1) > readOnMax {
		g.readingOn.Add(-1)
		return false
	}
	return true
}

// canceler is the function with which the deadlines end the attempt.
func (a *attempt) canceler() context.CancelCauseFunc {
	watch, cancel := a.watch, a.cancel
	if watch == nil {
		return cancel
	}
	return func(cause error) {
		if cause != errClientGone || !watch.clientLeft(cause) { //nolint:errorlint // It is set as it is.
			cancel(cause)
		}
	}
}

// leave ends the delivery to a client that has left. When the provider makes the whole answer anyway, it reads the rest of the answer
// first, to its usage.
func (p *pipeline) leave(a *attempt, fault error) error {
	if left, ok := errors.AsType[*provider.Fault](fault); !ok || left.Class != provider.ClassClient || !a.watch.clientLeft(errClientGone) {
		return fault
	}
	for err := error(nil); err == nil && !a.complete && !p.funding.estimate.endless(a.stats.ContentBytes); {
		a.clearPending()
		a.memory.release()
		err = a.step()
	}
	a.clearPending()
	return fault
}
