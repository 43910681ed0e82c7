package gateway

import (
	"context"
	"sync"
	"time"

	"umg/app/llm"
	"umg/app/meter"
	"umg/app/provider"
	"umg/app/provider/errorclass"
	"umg/app/telemetry"
	"umg/billing"
)

// attemptsKept is how many attempts of a call are recorded.
const attemptsKept = billing.AttemptsKept

// causeHidden replaces a cause of failure that only the operator may see.
const causeHidden = "unavailable"

// AttemptResult is one attempt of a call at a provider, for metrics.
type AttemptResult struct {
	Provider string
	Fault    provider.Class // Fault is empty for an attempt that answered.
	Waited   time.Duration  // Waited is the time until the first content or the failure.
	// Meaning is what the provider's error means, also of one within the answer. It is empty when the provider has sent no error.
	Meaning errorclass.Meaning
}

// Timing measures how long a call waits for providers until its answer begins. The caller may read it while the call runs.
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

// trace records the times and the attempts of a call.
type trace struct {
	span    *telemetry.Call
	fault   *provider.Fault // Fault is the last failed attempt's.
	results [attemptsKept]AttemptResult
	records [attemptsKept]billing.Attempt // Records holds the first attempts for the usage record.
	count   int
	settled time.Duration // Settled is how long the charge took after the answer.

	checked, admitted, funded time.Duration // These are the times since the call began at which each step was done.
}

// attemptTrace records one attempt.
type attemptTrace struct {
	number    int // Number is that of the attempt within the call, from one.
	span      *telemetry.Attempt
	sentAt    time.Time // SentAt is when the attempt was sent; zero when it does not wait for content.
	bytesAt   time.Time // BytesAt is when its last bytes arrived before there was content.
	result    AttemptResult
	record    billing.Attempt
	answering bool            // The attempt has received content and has not ended.
	slot      int             // Slot is the number of the attempt in the call's trace, from one; zero when it has none.
	failure   *provider.Fault // Failure is set when the attempt itself has failed; nil when the gateway gave it up.
}

// startSpan begins the call's span.
func (p *pipeline) startSpan(ctx context.Context) context.Context {
	operation := telemetry.Chat
	if p.request.Style == llm.Native {
		operation = telemetry.Generate
	}
	ctx, p.trace.span = p.gateway.o.Tracer.Call(ctx, operation, p.request.Headers, p.started)
	return ctx
}

// add records an attempt whose wait has ended, while there is space.
func (t *trace) add(a *attempt) {
	if t.count == attemptsKept {
		return
	}
	t.results[t.count], t.records[t.count] = a.trace.result, a.trace.record
	t.count++
	a.trace.slot = t.count
}

// endSpan ends the call's span.
func (p *pipeline) endSpan() {
	if p.trace.span == nil {
		return
	}
	report := p.end().report
	if report == nil { // The call panics.
		report = &Report{}
	}
	e := telemetry.Ending{
		RequestID: p.request.ID, Style: string(p.request.Style), Provider: report.Provider, Upstream: report.UpstreamModel,
		Outcome: report.Outcome, Finish: report.FinishReason, Stream: report.Streamed, Attempts: report.Attempts, FirstByte: report.FirstByte,
		CacheReadTokens: report.Usage[meter.CacheReadTokens], CacheWriteTokens: report.Usage[meter.CacheWriteTokens],
		ReasoningTokens: report.Usage[meter.ReasoningTokens],
	}
	e.InputTokens = report.Usage[meter.InputTokens] + e.CacheReadTokens + e.CacheWriteTokens
	e.OutputTokens = report.Usage[meter.OutputTokens] + e.ReasoningTokens
	if p.model != nil {
		e.Model = p.model.ID
	}
	if report.Err != nil {
		e.Error = report.Err.Code
		if fault := p.trace.fault; fault != nil && fault.Err == report.Err { // A provider may give its refusal any code.
			e.Error = string(fault.Class)
		}
	}
	p.trace.span.End(&e)
}
