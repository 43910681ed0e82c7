package gateway

import (
	"context"
	"sync"
	"time"

	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/tracing"
	"umg/billing"
)

// triesKept is how many attempts of a call are told apart.
const triesKept = 8

// Try is one attempt of a call at a provider, for metrics.
type Try struct {
	Provider string
	Fault    provider.Class // empty for an answer
	Waited   time.Duration  // for its first content, or until it failed
}

// Timing tells how much of a call's time went by waiting for providers, until its answer began. The face that hands it in may ask
// while the call runs.
type Timing struct {
	mu      sync.Mutex
	waits   int // that are under way, as attempts may be made side by side
	since   time.Time
	waited  time.Duration
	stopped bool // the answer has begun
}

// Upstream is how long the call has waited for providers so far.
func (t *Timing) Upstream(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waits > 0 && !t.stopped {
		return t.waited + now.Sub(t.since)
	}
	return t.waited
}

func (t *Timing) begin(now time.Time) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waits++; t.waits == 1 {
		t.since = now
	}
}

func (t *Timing) end(now time.Time) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waits--; t.waits == 0 && !t.stopped && now.After(t.since) {
		t.waited += now.Sub(t.since)
	}
}

func (t *Timing) stop() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
}

// trace is what is noted of a call's time and attempts on its way.
type trace struct {
	call    *tracing.Call
	trying  *tracing.Attempt
	asked   time.Time       // when the running attempt was sent; zero when none waits for its content
	came    time.Time       // when its last bytes did
	fault   *provider.Fault // of the last attempt that failed
	tries   [triesKept]Try
	tried   int
	settled time.Duration // how long the charge took behind the answer
}

// operationOf names what a style does.
func operationOf(s llm.Style) string {
	if s == llm.Native {
		return tracing.Generate
	}
	return tracing.Chat
}

// traced begins the call's span.
func (r *run) traced(ctx context.Context) context.Context {
	ctx, r.trace.call = r.gateway.o.Tracer.Call(ctx, operationOf(r.call.Style), r.call.Headers, r.started)
	return ctx
}

// untraced ends it.
func (r *run) untraced() {
	if r.trace.call == nil {
		return
	}
	p := &r.told
	e := tracing.Ending{
		RequestID: r.call.ID, Style: string(r.call.Style), Provider: p.Provider, Upstream: p.UpstreamModel, Outcome: p.Outcome,
		Finish: p.FinishReason, Stream: p.Streamed, Attempts: p.Attempts, FirstByte: p.FirstByte,
		CacheReadTokens: p.Usage[billing.CacheReadTokens], CacheWriteTokens: p.Usage[billing.CacheWriteTokens],
		ReasoningTokens: p.Usage[billing.ReasoningTokens],
	}
	e.InputTokens = p.Usage[billing.InputTokens] + e.CacheReadTokens + e.CacheWriteTokens
	e.OutputTokens = p.Usage[billing.OutputTokens] + e.ReasoningTokens
	if r.model != nil {
		e.Model = r.model.ID
	}
	if p.Err != nil {
		e.Error = p.Err.Code
		if fault := r.trace.fault; fault != nil && fault.Err == p.Err { // a provider may call its refusal anything
			e.Error = string(fault.Class)
		}
	}
	r.trace.call.End(&e)
}

// asks notes that a request goes to a provider. What is sent with the context belongs to the attempt's span.
func (r *run) asks(ctx context.Context, route *catalog.Route) context.Context {
	r.trace.asked, r.trace.came = r.gateway.o.Now(), time.Time{}
	r.call.Timing.begin(r.trace.asked)
	ctx, r.trace.trying = r.gateway.o.Tracer.Attempt(ctx, route, r.attempts)
	return ctx
}

// rest waits before a provider is asked again, which is no time of the gateway's own.
func (r *run) rest(ctx context.Context, wait time.Duration) error {
	r.call.Timing.begin(r.gateway.o.Now())
	defer func() { r.call.Timing.end(r.gateway.o.Now()) }()
	return pause(ctx, wait)
}

// cameIn notes when bytes came, as long as there is no content yet.
func (r *run) cameIn() {
	if !r.trace.asked.IsZero() {
		r.trace.came = r.gateway.o.Now()
	}
}

// opened notes that an attempt has come to content, or to its fault.
func (r *run) opened(fault *provider.Fault) {
	if r.trace.asked.IsZero() {
		return // nothing was sent
	}
	at := r.trace.came
	if fault != nil || at.IsZero() {
		at = r.gateway.o.Now()
	}
	r.call.Timing.end(at)
	try := Try{Provider: r.route.Provider.ID, Waited: at.Sub(r.trace.asked)}
	if fault != nil {
		try.Fault = fault.Class
	}
	r.trace.asked = time.Time{}
	if r.trace.tried < triesKept {
		r.trace.tries[r.trace.tried] = try
		r.trace.tried++
	}
}

// ended notes how an attempt ended, whose content may have begun to come: nil for a whole answer. One that was given up here has
// not failed.
func (r *run) ended(fault *provider.Fault) {
	if fault != nil && fault.Class != provider.ClassEnded {
		r.trace.fault = fault
	}
	r.trace.trying.End(fault)
	r.trace.trying = nil
}

// account fills in how the call's time was spent, if somebody asks. What the gateway took itself is all until the answer
// began that was no waiting for a provider, and what the charge took behind it; the time between is the provider's and
// the client's.
func (r *run) account(p *Report) {
	p.Tries = r.trace.tries[:r.trace.tried]
	if r.trace.fault != nil {
		p.Fault = r.trace.fault.Class
	}
	if r.call.Timing == nil {
		return
	}
	p.Upstream = r.call.Timing.Upstream(r.started.Add(p.Duration))
	own := p.Duration
	if p.FirstByte > 0 {
		own = p.FirstByte
		if r.body == nil {
			own += r.trace.settled
		}
	}
	p.Own = max(0, own-p.Upstream)
}
