package gateway

import (
	"context"
	"net/http"
	"sync"
	"time"

	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/telemetry"
	"umg/billing"
)

// triesKept is how many attempts of a call are told apart.
const triesKept = billing.AttemptsKept

// causeHidden is what an account reads of an attempt that failed for a reason which is the operator's alone.
const causeHidden = "unavailable"

// AttemptResult is one attempt of a call at a provider, for metrics.
type AttemptResult struct {
	Provider string
	Fault    provider.Class // Fault is empty for an attempt that answered.
	Waited   time.Duration  // Waited is the time until the first content or the failure.
}

// Timing tells how much of a call's time went by waiting for providers, until its answer began. The face that hands it in may ask
// while the call runs.
type Timing struct {
	mu      sync.Mutex
	waits   int // Waits counts concurrent waits, since attempts may run in parallel.
	since   time.Time
	waited  time.Duration
	stopped bool // The answer has begun.
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
	call    *telemetry.Call
	trying  *telemetry.Attempt
	asked   time.Time       // Asked is when the running attempt was sent; zero when no attempt waits for content.
	came    time.Time       // Came is when its last bytes arrived.
	fault   *provider.Fault // Fault is the last failed attempt's.
	tries   [triesKept]AttemptResult
	kept    [triesKept]billing.Attempt // Kept holds the first attempts for the usage record.
	tried   int
	running int           // Running is the number of the answering attempt, from one; zero when none answers or it is not kept.
	settled time.Duration // Settled is how long the charge took after the answer.

	checked, admitted, funded time.Duration // These are the times since the call began at which each step was done.
}

// operationOf names what a style does.
func operationOf(s llm.Style) string {
	if s == llm.Native {
		return telemetry.Generate
	}
	return telemetry.Chat
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
	e := telemetry.Ending{
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

// startAttemptSpan notes that a request goes to a provider. What is sent with the context belongs to the attempt's span.
func (r *run) startAttemptSpan(ctx context.Context, route *catalog.Route) context.Context {
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

// noteFirstByte notes when bytes came, as long as there is no content yet.
func (r *run) noteFirstByte() {
	if !r.trace.asked.IsZero() {
		r.trace.came = r.gateway.o.Now()
	}
}

// opened notes that an attempt has come to content, or to its fault.
func (r *run) opened(fault *provider.Fault) {
	if r.trace.asked.IsZero() {
		return // No attempt was sent.
	}
	at := r.trace.came
	if fault != nil || at.IsZero() {
		at = r.gateway.o.Now()
	}
	r.call.Timing.end(at)
	try := AttemptResult{Provider: r.route.Provider.ID, Waited: at.Sub(r.trace.asked)}
	kept := billing.Attempt{Provider: try.Provider, Start: r.trace.asked.Sub(r.started)}
	if fault == nil {
		kept.Status, kept.First = http.StatusOK, try.Waited
	} else {
		try.Fault = fault.Class
		fail(&kept, fault, try.Waited)
	}
	r.trace.asked = time.Time{}
	r.trace.running = 0
	if r.trace.add(try, kept) && fault == nil {
		r.trace.running = r.trace.tried
	}
}

// add keeps an attempt, as long as there is room.
func (t *trace) add(try AttemptResult, kept billing.Attempt) bool {
	if t.tried == triesKept {
		return false
	}
	t.tries[t.tried], t.kept[t.tried] = try, kept
	t.tried++
	return true
}

// fail notes how an attempt has failed, in what an account may know: not what is wrong with the credentials or the catalog.
func fail(a *billing.Attempt, fault *provider.Fault, took time.Duration) {
	a.Cause, a.Took = string(fault.Class), max(took, time.Microsecond) // Zero would mean that the attempt never ended.
	if fault.Status != 0 {
		a.Status = fault.Status
	}
	if fault.Class == provider.ClassCredential || fault.Class == provider.ClassSetup {
		a.Cause, a.Status = causeHidden, 0
	}
}

// since is how long the call has run.
func (r *run) since() time.Duration { return r.gateway.o.Now().Sub(r.started) }

// trail is what the record of the call has of its way.
func (r *run) trail() billing.RequestTiming {
	t := &r.trace
	return billing.RequestTiming{
		Door: r.call.AuthDuration, Body: r.call.UploadDuration, Checked: t.checked, Admitted: t.admitted, Funded: t.funded, Attempts: t.kept[:t.tried],
	}
}

// ended notes how an attempt ended, whose content may have begun to come: nil for a whole answer. One that was given up here has
// not failed.
func (r *run) ended(fault *provider.Fault) {
	if fault != nil && fault.Class != provider.ClassEnded {
		r.trace.fault = fault
	}
	if at := r.trace.running; at > 0 {
		if kept := &r.trace.kept[at-1]; fault != nil {
			fail(kept, fault, r.since()-kept.Start)
		}
		r.trace.running = 0
	}
	r.trace.trying.End(fault)
	r.trace.trying = nil
}

// fillTimings fills in the timings of the call when the caller wants them. The gateway's own time is all time before the
// answer began except waiting for providers, plus the time of the charge after the answer. The time between is the
// provider's and the client's.
func (r *run) fillTimings(p *Report) {
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
	p.GatewayDuration = max(0, own-p.Upstream)
}
