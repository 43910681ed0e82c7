package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"umg/app/dialect"
	"umg/app/provider"
)

// errOvertaken is why an attempt is cancelled whose rival has answered first.
var errOvertaken = errors.New("gateway: another route has answered first")

// hedge is a second attempt beside the first one of a call, on another route, for the case that the first is late. The
// first of them with content answers. The other is cancelled at once and has ended when the hedge has, so that nothing of
// it outlasts the request that both send.
type hedge struct {
	first *run          // First is the call's run; the hedge reads only the fields that its first attempt does not write.
	after time.Duration // After is the delay of the first attempt that starts the hedge.
	rival *run          // Rival is the second run, with its own state; it is created when the first attempt is late.
	timer *time.Timer
	lose  context.CancelCauseFunc // Lose cancels the first attempt.
	ended chan struct{}           // Ended is closed when the second attempt has ended; nil before it began.

	mu      sync.Mutex
	begun   bool
	decided bool // Decided is set when one attempt has answered; the other attempt must not answer.
	won     bool // Won is set when the rival answers.
	cancel  context.CancelCauseFunc
	fault   *provider.Fault // Fault is the rival's fault.
	crash   any             // Crash is the value of the rival's panic.
}

// hedges reports whether the next attempt is one that another may be made beside: the first of a call, with a choice.
func (r *run) hedges() bool { return r.model.Hedge && r.attempts == 1 && r.plan.more() }

// race makes the first attempt of a call and, when that is late, another beside it. Afterwards the run has the attempt
// that answers, or has none and the fault of the last.
func (r *run) race(ctx context.Context) *provider.Fault {
	mine, lose := context.WithCancelCause(ctx)
	h := r.newHedge(ctx, lose)
	fault := r.attempt(mine, r.route)
	if cancel := r.cancel; cancel != nil {
		r.cancel = func(cause error) {
			cancel(cause)
			lose(cause)
		}
	}
	if !h.end(fault == nil || isPermanent(fault)) {
		return fault
	}
	if h.crash != nil {
		panic(h.crash)
	}
	return r.join(h, fault)
}

func (r *run) newHedge(ctx context.Context, lose context.CancelCauseFunc) *hedge {
	h := &hedge{first: r, lose: lose, ended: make(chan struct{}), after: r.try.HedgeAfter(r.plan.routes)}
	h.timer = time.AfterFunc(h.after, func() { h.run(ctx) })
	return h
}

// newRival is the run of the second attempt.
func (h *hedge) newRival() *run {
	r := h.first
	return &run{
		gateway: r.gateway, call: r.call, started: r.started, style: r.style, head: r.head, without: r.without, ask: r.ask, model: r.model,
		hold: r.hold, reserve: r.reserve, lowered: r.lowered, paid: r.paid, plan: r.plan, callTimeout: r.callTimeout, aside: true,
		asked: memoryReservation{budget: r.gateway.o.Memory}, answered: memoryReservation{budget: r.gateway.o.Memory},
	}
}

// second begins and makes the rival's attempt. It is the body of the goroutine.
func (h *hedge) second(ctx context.Context) *provider.Fault {
	r := h.rival
	defer r.asked.giveBack()
	begun, err := (&routeLoop{run: r, chart: (*run).buildRequest, hedge: true}).nextRoute()
	if !begun || err != nil {
		return provider.NewFault(provider.ClassSetup, err)
	}
	r.attempts++
	r.out = &clientWriter{now: r.gateway.o.Now, last: r.gateway.o.Now(), header: http.Header{}}
	r.watch = newWatch(r.gateway.o.Now, r.out)
	defer r.watch.close()
	fault := r.attempt(ctx, r.route)
	r.opened(fault)
	return fault
}

// decide says who answers, which the first that asks does.
func (h *hedge) decide(rival bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.decided {
		return false
	}
	h.decided, h.won = true, rival
	if rival {
		h.lose(errOvertaken)
	} else if h.cancel != nil {
		h.cancel(errOvertaken)
	}
	return true
}

// end waits for what the hedge has begun, which is cancelled when the first attempt has come to content, or to a refusal for
// good, before it. It reports whether there was anything.
func (h *hedge) end(decided bool) bool {
	if h.timer.Stop() {
		return false
	}
	if decided {
		h.decide(false)
	}
	<-h.ended
	return h.begun
}

// join takes over what has become of the rival: its attempt, when that answers, and otherwise its fault, when the first
// attempt has none to go on with.
func (r *run) join(h *hedge, fault *provider.Fault) *provider.Fault {
	v := h.rival
	if v.route == nil {
		return fault // No route was left for the second attempt.
	}
	r.hedged = true
	r.attempts += v.attempts
	if h.won {
		r.try.Hedged(h.after)
	} else {
		r.try.Hedged(0)
	}
	r.taken = r.taken || v.taken
	r.plan.left[v.plan.current] = false
	r.trace.join(&v.trace)
	if !h.won && (fault == nil || isPermanent(fault)) {
		return fault
	}
	r.opened(overtaken(fault))
	r.endTry(overtaken(fault))
	r.drop()
	r.clear()
	r.plan.current, r.plan.again, r.plan.turns = v.plan.current, true, 0
	r.route, r.way = v.route, v.way
	if !h.won {
		if fault != nil {
			minRetryAfter(minRetryAfter(0, fault), h.fault)
		}
		return h.fault
	}
	r.adopt(h)
	return nil
}

// isPermanent reports whether a provider has refused the request for good, so that no other may answer it in its place.
func isPermanent(fault *provider.Fault) bool {
	return fault.Class == provider.ClassRefused && fault.Retry == provider.Nowhere
}

// overtaken is how the first attempt ended whose rival has won: by us, unless it had failed already.
func overtaken(fault *provider.Fault) *provider.Fault {
	if fault == nil || fault.Class == provider.ClassClient {
		return abandonedFault()
	}
	return fault
}

// adopt takes over an attempt that has come to content, with all that it holds.
func (r *run) adopt(h *hedge) {
	v := h.rival
	r.original = v.original
	r.try, r.trying, r.tryAt, r.tryFirst = v.try, v.trying, v.tryAt, v.tryFirst
	r.trace.trying, r.trace.running = v.trace.trying, v.trace.running
	r.answer, r.frames, r.stream, r.body = v.answer, v.frames, v.stream, v.body
	r.frame, r.batch, r.came, r.done, r.tally, r.answered = v.frame, v.batch, v.came, v.done, v.tally, v.answered
	r.cancel = func(cause error) {
		v.cancel(cause)
		h.cancel(cause)
	}
	r.watch.attempt(r.cancel, r.route.Timeouts.Idle, r.totalOf(r.route))
	r.watch.came()
	r.out.tell(droppedHeader, r.way.Dropped())
}

// join adds the attempts that were made aside, the first of the two last. It keeps which of them is answering.
func (t *trace) join(v *trace) {
	for i := range v.tried {
		if t.add(v.tries[i], v.kept[i]) && v.running == i+1 {
			v.running = t.tried
		}
	}
	if v.fault != nil {
		t.fault = v.fault
	}
}

// lost ends the rival's attempt when it does not answer.
func (r *run) lost(fault *provider.Fault) {
	if fault.Err != nil && r.route != nil {
		r.hideUpstreamName(fault.Err)
	}
	if n := r.trace.tried; n > 0 && fault.Class == provider.ClassEnded {
		r.trace.kept[n-1].Cause = string(fault.Class) // The canceled attempt looked as if its client had left.
	}
	r.endTry(fault)
	r.drop()
	r.clear()
	r.tally = dialect.StreamStats{}
}
