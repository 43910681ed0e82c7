package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"umg/app/provider"
)

// errOvertaken is why an attempt is cancelled when the other one of a hedged call has answered first.
var errOvertaken = errors.New("gateway: another route has answered first")

// hedge is a second attempt on another route, which starts when the first attempt of a call is late. The attempt that has content
// first answers the call. The other one is canceled at once, and has ended when the hedge ends, since both send the same request.
type hedge struct {
	call    *pipeline // The hedge reads only the fields of the call that its first attempt does not write.
	first   *attempt
	plan    routePlan     // Plan is a copy of the call's, which is changed only when the hedge has found a route.
	after   time.Duration // After is the delay of the first attempt that starts the hedge.
	timer   *time.Timer
	ended   chan struct{} // Ended is closed when the second attempt has ended.
	attempt *attempt      // Attempt is the second one; nil when no route was left for it.
	sent    bool          // The request of the second attempt was sent.
	fault   *provider.Fault
	crash   any // Crash is the value of the second attempt's panic.

	mu      sync.Mutex
	decided bool // Decided is set when one attempt has answered; the other attempt must not answer.
	won     bool // Won is set when the second attempt answers.
	cancel  context.CancelCauseFunc
}

// race makes the first attempt of a call, and a second one beside it when the first is late. Afterwards the attempt of the call is
// the one that answers, or the last one that failed.
func (p *pipeline) race(ctx context.Context, first *attempt) *provider.Fault {
	h := &hedge{call: p, first: first, plan: p.plan, after: first.health.HedgeAfter(p.plan.routes), ended: make(chan struct{})}
	h.timer = time.AfterFunc(h.after, func() { h.run(ctx) })
	fault := p.tryOnce(first)
	if h.timer.Stop() {
		return fault
	}
	if fault == nil || isPermanent(fault) {
		h.decide(false)
	}
	<-h.ended
	if h.crash != nil {
		panic(h.crash)
	}
	if h.attempt == nil {
		return fault
	}
	return p.join(h, fault)
}

// isPermanent reports whether a provider has refused the request for a reason that holds for every provider.
func isPermanent(fault *provider.Fault) bool {
	return fault.Class == provider.ClassRefused && fault.Retry == provider.Nowhere
}

// decide settles which attempt answers: the first that asks. It cancels the other one.
func (h *hedge) decide(second bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.decided {
		return false
	}
	h.decided, h.won = true, second
	if second {
		h.first.cancel(errOvertaken)
	} else if h.cancel != nil {
		h.cancel(errOvertaken)
	}
	return true
}

// run is the goroutine of a hedge, which its timer starts when the first attempt is late. The call cancels the goroutine when its
// result is not needed, and waits for its end. The goroutine is bounded by the timeouts of one attempt.
func (h *hedge) run(ctx context.Context) {
	defer close(h.ended)
	defer func() { h.crash = recover() }() // The call's own goroutine panics again with this value.
	if !h.call.gateway.o.Health.MayHedge(h.first.route) {
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	h.mu.Lock()
	h.cancel = cancel
	decided := h.decided
	h.mu.Unlock()
	if decided {
		cancel(nil)
		return
	}
	h.fault = h.try(ctx, cancel)
	a := h.attempt
	if a == nil {
		cancel(nil)
		return
	}
	if h.fault == nil {
		a.firstByte = a.call.gateway.o.Now().Sub(a.startedAt)
		if h.decide(true) {
			a.health.Answered()
			return
		}
		h.fault = abandonedFault()
	}
	if context.Cause(ctx) == errOvertaken { //nolint:errorlint // It is set as it is.
		h.fault = abandonedFault()
	}
	if h.fault.Err != nil {
		a.hideUpstreamName(h.fault.Err)
	}
	if h.sent && h.fault.Class == provider.ClassEnded {
		a.trace.record.Cause = string(h.fault.Class) // The canceled attempt looked as if its client had left.
	}
	a.end(h.fault)
	a.close()
}

// try makes the second attempt, with its own deadlines and its own memory for the request.
func (h *hedge) try(ctx context.Context, cancel context.CancelCauseFunc) *provider.Fault {
	p := h.call
	builder := requestBuilder{call: &p.call, memory: memoryReservation{budget: p.gateway.o.Memory}}
	defer builder.memory.release()
	a, err := (&routeLoop{pipeline: p, plan: &h.plan, builder: &builder}).nextRoute()
	if a == nil {
		return provider.NewFault(provider.ClassSetup, err)
	}
	now := p.gateway.o.Now
	var timer deadlines
	timer.start(now, &clientWriter{now: now, last: now(), header: http.Header{}})
	defer timer.close()
	a.isHedge, a.ctx, a.cancel, a.deadlines, a.trace.number = true, ctx, cancel, &timer, 1
	h.attempt = a
	fault := p.tryOnce(a)
	h.sent = a.endWait(fault)
	return fault
}

// join makes the second attempt the attempt of the call when it answers, or when both have failed.
func (p *pipeline) join(h *hedge, fault *provider.Fault) *provider.Fault {
	first, second := h.first, h.attempt
	p.hedgeUsed = true
	p.attempts++
	if h.won {
		first.health.Hedged(h.after)
	} else {
		first.health.Hedged(0)
	}
	p.providerHadRequest = p.providerHadRequest || second.clientLeft
	p.plan.left[h.plan.current] = false
	if h.sent {
		p.trace.add(second)
	}
	p.trace.update(second)
	if !h.won && (fault == nil || isPermanent(fault)) {
		return fault
	}
	overtaken := fault
	if fault == nil || fault.Class == provider.ClassClient { // The gateway has cancelled the first attempt.
		overtaken = abandonedFault()
	}
	if first.endWait(overtaken) {
		p.trace.add(first)
	}
	p.endAttempt(first, overtaken)
	first.close()
	p.plan.current, p.plan.retried, p.plan.credentials = h.plan.current, true, 0
	p.attempt = second
	if !h.won {
		second.stats = first.stats // A client that leaves pays for what the first attempt has received.
		if fault != nil {
			minRetryAfter(minRetryAfter(0, fault), h.fault)
		}
		return h.fault
	}
	second.isHedge, second.builder, second.deadlines = false, &p.builder, &p.response.deadlines
	second.deadlines.attempt(second.canceler(), second.route.Timeouts.Idle, second.total())
	second.deadlines.stopWaiting()
	p.response.setHeader(droppedHeader, second.exchange.Dropped())
	return nil
}
