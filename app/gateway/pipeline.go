package gateway

import (
	"context"
	"net/http"
	"sync"

	"errors"

	"umg/app/dialect"
	"umg/app/provider"
	"umg/app/ratelimit"
	"umg/billing"
	"umg/billing/failpoint"
)

// pipeline is one text call between its body and its settlement: the call, the routes that are tried for it, the attempt that
// answers, the response to the client and the charge. Its methods run one after the other on the goroutine of the caller.
type pipeline struct {
	call
	builder    requestBuilder
	fallbacks  fallbacks
	slot       *ratelimit.Slot
	slotTokens int64 // SlotTokens is the number of tokens that the slot was taken with.
	funding    funding
	response   response
	plan       routePlan
	attempt    *attempt // Attempt is the one that answers, or the last one that failed; nil before the first.
	// Received describes the part of the answer that ended attempts have received and that still counts; nil when there is none.
	received  *dialect.StreamStats
	attempts  int
	hedgeUsed bool // A hedge was started for this call.
	// providerHadRequest means that the client has left while a provider had its request and had not refused it.
	providerHadRequest bool
	recovery           *recovery // Recovery is the state of a stream that another route may resume; nil when none may.
	recovered          int       // Recovered counts the routes that resumed the answer.
	outcome            *outcome  // Outcome is nil until the call ends.
	trace              trace
	space              space
}

// space is memory for the parts of a usual call, which would else be allocated one by one.
type space struct {
	attempt     attempt // Attempt is the first attempt.
	attemptUsed bool
	upstream    *provider.Space // Upstream is the memory of the first attempt for its request and its answer.
	header      http.Header     // Header is that of the response, with the values of its limits.
	limits      limitValues
	lasting     lastingContext
	// shared means that something may still refer to the pipeline after the call, so that it is not used again.
	shared bool
}

var pipelines = sync.Pool{New: func() any {
	return &pipeline{space: space{header: make(http.Header, 8), upstream: &provider.Space{}}}
}}

// takePipeline is newPipeline in memory that recycle returns.
func takePipeline(g *Gateway, request *Call) *pipeline {
	p, _ := pipelines.Get().(*pipeline)
	p.begin(g, request)
	p.space.shared = true // A call that panics is not recycled.
	return p
}

// recycle ends the use of a pipeline. The report belongs to the caller, and has nothing of the pipeline.
func (p *pipeline) recycle() {
	if p.space.shared || p.hedgeUsed || p.recovered > 0 || p.fallbacks.used || p.space.lasting.isStarted() || !p.space.upstream.Recycle() {
		return
	}
	if p.outcome != nil {
		*p.outcome = outcome{}
		outcomes.Put(p.outcome)
	}
	header, upstream, timer := p.space.header, p.space.upstream, p.response.deadlines.timer
	clear(header)
	*p = pipeline{}
	p.space.header, p.space.upstream, p.response.deadlines.timer = header, upstream, timer
	pipelines.Put(p)
}

// outcome is how a call has ended.
type outcome struct {
	rule    billing.Rule // Rule is the row of the settlement table.
	charge  charge
	notes   notes
	settled bool // The hold has ended.
	// responseStored means that the whole answer is stored for repetitions of the call.
	responseStored bool
	report         *Report
}

var outcomes = sync.Pool{New: func() any { return &outcome{} }}

// end is the outcome, which exists only from here on, so that a stream that lasts does not hold its memory.
func (p *pipeline) end() *outcome {
	if p.outcome == nil {
		p.outcome, _ = outcomes.Get().(*outcome)
	}
	return p.outcome
}

func newPipeline(g *Gateway, request Call) *pipeline {
	p := &pipeline{}
	p.begin(g, &request)
	return p
}

// begin sets what a call begins with.
func (p *pipeline) begin(g *Gateway, request *Call) {
	p.call = call{gateway: g, request: *request, started: g.o.Now()}
	p.builder = requestBuilder{call: &p.call, memory: memoryReservation{budget: g.o.Memory}, space: p.space.upstream}
	p.funding.credit, p.funding.startedAt = g.o.CreditManager, p.started
}

// Generate answers one text call. It shows all steps of a call in their order. It returns an error only when nothing was sent; the caller
// then writes the response for it. A later error is written into the stream, in the format of the call's style, and is part of the report.
func (g *Gateway) Generate(ctx context.Context, call Call, out StreamWriter) (*Report, error) {
	p := takePipeline(g, &call)
	defer p.recycle()
	report, err := p.generate(ctx, out)
	p.space.shared = p.response.deadlines.out != nil && !p.response.deadlines.stopped
	return report, err
}

// generate takes the steps of the call.
func (p *pipeline) generate(ctx context.Context, out StreamWriter) (*Report, error) {
	g := p.gateway
	ctx = p.startSpan(ctx)
	defer p.endSpan()
	defer p.builder.memory.release()
	defer p.endRecovery()
	err := p.admit() // This step validates the request, computes its price and picks the first route.
	if err != nil {
		return p.refuse(err)
	}
	p.trace.checked = p.elapsed()
	if err = p.takeSlot(false); err != nil {
		return p.refuse(err)
	}
	p.trace.admitted = p.elapsed()
	defer func() { p.slot.Release(p.limitedTokens(ctx)) }()

	defer p.settleAfterPanic(ctx)
	if err = p.funding.reserve(ctx, &p.request, p.fallbacks.want); err != nil {
		return p.refuse(err)
	}
	p.trace.funded = p.elapsed()
	p.response.begin(&p.call, out, p.header(p.space.header, &p.space.limits))
	defer p.close()
	err = p.open(ctx) // After this step an upstream has begun to answer, and nothing was sent yet.
	failpoint.At(failpoint.C3)
	if err == nil {
		p.releaseBody()
		err = p.relay(ctx) // After this step the answer was sent, except for its end.
		p.recordAttemptResult(err)
	}
	ended := g.o.Now()
	err = p.settle(ctx, err) // After this step the charge is durable, before the last byte is sent.
	p.trace.settled = g.o.Now().Sub(ended)
	p.slot.Release(p.limitedTokens(ctx)) // A client that has its whole answer may make its next call.
	defer failpoint.At(failpoint.C9)
	return p.finish(ctx, err)
}

// releaseBody drops the request once its answer has begun. It keeps a copy when another route may have to continue the answer.
func (p *pipeline) releaseBody() {
	p.request.Body = p.startRecovery()
	p.builder.decoded = nil
	p.attempt.exchange.Forget()
	p.builder.memory.release()
	p.request.BodyMemory.Release()
}

// recordAttemptResult records the result of the attempt whose answer was relayed.
func (p *pipeline) recordAttemptResult(err error) {
	fault, failed := errors.AsType[*provider.Fault](err)
	if err != nil && !failed {
		fault = abandonedFault()
	}
	p.endAttempt(p.attempt, fault)
}

// close releases the memory and the connections of the call.
func (p *pipeline) close() {
	p.response.deadlines.close() // Nothing is written to the client afterwards.
	if p.attempt != nil {
		p.closeAttempt()
	}
}

// limitedTokens is the number of tokens that an ended call counts against the limits: those that were charged. When the client has
// left, it is at least the number with which the call was admitted, since a provider may still be working on it.
func (p *pipeline) limitedTokens(ctx context.Context) int64 {
	usage := &p.end().charge.usage
	used := usage.InputTotal() + usage.Output
	switch p.end().rule.Reason {
	case billing.ReasonClientLeft, billing.ReasonClientLeftWaiting, billing.ReasonClientLeftUnanswered:
		return max(used, p.slotTokens)
	case billing.ReasonRefused: // Nothing was reserved.
		if ctx.Err() != nil && provider.FaultOf(ctx, ctx.Err()).Class == provider.ClassClient {
			return max(used, p.slotTokens)
		}
	}
	return used
}
