package gateway

import (
	"context"
)

// run is the goroutine of a hedge, which its timer starts when the first attempt is late. The call owns it: it cancels
// the goroutine when its result is no longer needed, and waits for its end. The goroutine lasts no longer than one
// attempt may.
func (h *hedge) run(ctx context.Context) {
	defer close(h.ended)
	defer func() { h.crash = recover() }() // The call's own goroutine panics again with this value.
	if !h.first.gateway.o.Health.MayHedge(h.first.route) {
		return
	}
	h.rival = h.newRival()
	ctx, cancel := context.WithCancelCause(ctx)
	h.mu.Lock()
	h.begun, h.cancel = true, cancel
	decided := h.decided
	h.mu.Unlock()
	if decided {
		cancel(nil)
		h.fault = abandonedFault()
		return
	}
	if h.fault = h.second(ctx); h.fault == nil {
		h.rival.tryFirst = h.rival.gateway.o.Now().Sub(h.rival.tryAt)
		if h.decide(true) {
			h.rival.try.Answered()
			return
		}
		h.fault = abandonedFault()
	}
	if context.Cause(ctx) == errOvertaken { //nolint:errorlint // it is set as it is
		h.fault = abandonedFault()
	}
	h.rival.lost(h.fault)
	cancel(nil)
}
