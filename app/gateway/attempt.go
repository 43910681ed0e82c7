package gateway

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"net/http"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/provider/errorclass"
	"umg/app/provider/health"
	"umg/app/sse"
	"umg/billing"
)

const (
	requestSlack  = 512 // A request may grow by this many bytes before it goes upstream.
	droppedHeader = "X-Gateway-Dropped"
)

var (
	errEmpty = errors.New("gateway: the answer has neither content nor an end")
	errCut   = errors.New("gateway: the stream ended before the answer did")

	buffers = sync.Pool{New: func() any { b := make([]byte, 0, batchBytes); return &b }}
	readers = sync.Pool{New: func() any { return &sse.Reader{} }}
)

// attempt is one try of one route. It owns everything that must be released after it. A call with a hedge has two attempts at a
// time, each on its own goroutine.
type attempt struct {
	call     *call
	route    *catalog.Route
	exchange *translate.Exchange
	builder  *requestBuilder
	resume   *recovery // Resume is set when the attempt continues an answer that was cut.
	isHedge  bool      // The attempt runs beside the first one, and has no client.

	lifetime
	deadlines  *deadlines
	answer     *provider.Answer
	frames     *sse.Reader
	stream     dialect.Stream
	raw        *[]byte           // Raw is a whole answer. Its buffer is used again once that was sent; nil when there is none.
	pending    *[]byte           // Pending holds bytes ready for the client; nil when there are none.
	memory     memoryReservation // Memory is that of received bytes that were not delivered yet.
	clientLeft bool              // The client has left while the provider had the request and had not refused it.
	closed     bool

	body     dialect.Body // Body is a whole answer; nil for a stream.
	stats    dialect.StreamStats
	complete bool // The answer is complete.
	wait     frameWait

	health    health.Try
	active    bool          // The attempt has started and its result was not recorded yet.
	startedAt time.Time     // StartedAt is when the attempt began.
	firstByte time.Duration // FirstByte is the time to the first content; zero before it.
	trace     attemptTrace
}

// lifetime is how long an attempt lasts.
type lifetime struct {
	// ctx lasts no longer than the attempt, and its cause is why the attempt has ended.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// watch is set at a provider that makes the whole answer for a client that has left.
	watch *clientWatch
}

// base is the statistics of the part of the answer that was received before the attempt.
func (a *attempt) base() dialect.StreamStats {
	if a.resume != nil {
		return a.resume.base
	}
	return dialect.StreamStats{}
}

// bind gives the attempt its own context, and its number within the call.
func (a *attempt) bind(ctx context.Context, number int) {
	a.trace.number = number
	if a.route.Provider.AfterCancel == catalog.CancelContinues {
		a.watchClient(ctx)
		return
	}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
}

// tryOnce sends the request of an attempt, and reads the answer up to its first content.
func (p *pipeline) tryOnce(a *attempt) *provider.Fault {
	fault := a.begin()
	if fault == nil {
		if !a.isHedge {
			at := time.Time{} // The first delivery of a fresh answer makes a checkpoint at once.
			if a.resume != nil {
				at = a.startedAt
			}
			p.checkpoint(&a.stats, at)
		}
		fault = a.send(p.maxTokensFor(a))
	}
	if fault == nil {
		if !a.isHedge {
			p.response.setHeader(droppedHeader, a.exchange.Dropped())
		}
		fault = a.open(&p.funding.estimate)
	}
	overtaken := errors.Is(context.Cause(a.ctx), errOvertaken)
	if fault != nil && fault.Class == provider.ClassClient && (fault.Sent || a.answer != nil) && !overtaken {
		a.clientLeft = true
		if !a.isHedge {
			p.providerHadRequest = true
		}
	}
	return fault
}

// begin starts the attempt's deadlines and fetches the images of its request.
func (a *attempt) begin() *provider.Fault {
	a.deadlines.attempt(a.canceler(), a.route.Timeouts.FirstByte, a.total())
	a.wait.contentSince = a.call.gateway.o.Now()
	if err := a.builder.complete(a.ctx, a.exchange); err != nil {
		return provider.NewRefusal(err)
	}
	return nil
}

// total is how long the attempt may take: the timeout of its route, or the rest of the call's timeout if that is shorter.
func (a *attempt) total() time.Duration {
	total := a.route.Timeouts.Total
	if left, bounded := a.call.timeLeft(); bounded && (total <= 0 || left < total) {
		return max(left, 1)
	}
	return total
}

// maxTokensFor is the maximum of output tokens in the upstream request. Zero keeps that of the client's request.
func (p *pipeline) maxTokensFor(a *attempt) int64 {
	f := &p.funding
	unbounded := p.head.MaxTokens == 0
	required := a.exchange.Upstream() == llm.Messages // Every request of this style has a maximum.
	if a.resume != nil && a.resume.prefilled && (f.maxTokensLowered || !unbounded || required) {
		return max(1, f.estimate.output-countOutput(&a.stats)) // The beginning of the answer counts, too.
	}
	if f.maxTokensLowered || p.head.MaxTokens > f.estimate.output || unbounded && (required || p.model.MaxOutputTokens <= 0) {
		return f.estimate.output
	}
	return 0
}

// send sends the request, and waits for the head of the answer. A maxTokens of zero keeps the maximum of the request.
func (a *attempt) send(maxTokens int64) *provider.Fault {
	payload := provider.NewPayload(a.exchange.Size() + requestSlack)
	defer payload.Release()
	payload.Data = a.exchange.Request(payload.Data, dialect.Edit{
		Model: a.route.Model, MaxTokens: maxTokens, EndUser: a.call.endUserFor(a.route), EndUserMember: a.route.EndUserMember,
	})
	header, betas := a.call.upstreamHeader(a.route, a.exchange)
	ctx := a.startSpan()
	a.watch.markSent()
	var fault *provider.Fault
	a.answer, fault = a.call.gateway.o.Providers.Send(ctx, provider.Attempt{
		Route: a.route, Credential: a.health.Credential, Payload: payload, Header: header, Betas: betas,
		Stream: a.exchange.Streams(), Space: a.builder.takeSpace(),
	})
	return fault
}

// startSpan begins the attempt's span, when its request is sent. The returned context carries the span.
func (a *attempt) startSpan() context.Context {
	g := a.call.gateway
	a.trace.sentAt, a.trace.bytesAt = g.o.Now(), time.Time{}
	a.call.request.Timing.begin(a.trace.sentAt)
	ctx, span := g.o.Tracer.Attempt(a.ctx, a.route, a.trace.number)
	a.trace.span = span
	return ctx
}

// noteFirstByte notes when the last bytes arrived, until the first content is complete.
func (a *attempt) noteFirstByte() {
	if !a.trace.sentAt.IsZero() {
		a.trace.bytesAt = a.call.gateway.o.Now()
	}
}

// endWait ends the wait for the attempt's first content or fault. It reports false when the attempt was not sent or the wait has
// ended already.
func (a *attempt) endWait(fault *provider.Fault) bool {
	t := &a.trace
	if t.sentAt.IsZero() {
		return false
	}
	at := t.bytesAt
	if fault != nil || at.IsZero() {
		at = a.call.gateway.o.Now()
	}
	a.call.request.Timing.end(at)
	t.result = AttemptResult{Provider: a.route.Provider.ID, Waited: at.Sub(t.sentAt)}
	t.record = billing.Attempt{Provider: t.result.Provider, Start: t.sentAt.Sub(a.call.started)}
	if t.answering = fault == nil; t.answering {
		t.record.Status, t.record.First = http.StatusOK, t.result.Waited
	} else {
		t.result.Fault = fault.Class
		fail(&t.record, fault, t.result.Waited)
	}
	t.sentAt = time.Time{}
	return true
}

// fail records the failure of an attempt for the account. It hides faults of the credentials, of the catalog and of its routes.
func fail(a *billing.Attempt, fault *provider.Fault, took time.Duration) {
	a.Cause, a.Took = string(fault.Class), max(took, time.Microsecond) // Zero would mean that the attempt never ended.
	if fault.Status != 0 {
		a.Status = fault.Status
	}
	if fault.Class == provider.ClassCredential || fault.Class == provider.ClassSetup || fault.Meaning == errorclass.Route {
		a.Cause, a.Status = causeHidden, 0
	}
}

// hideUpstreamName replaces the upstream's name of the model in its error message by the public id. It keeps names that are so
// short that they may be part of other words.
func (a *attempt) hideUpstreamName(e *app.Error) {
	if e.Status != 0 && a.route.Model != a.call.model.ID && len(a.route.Model) >= 4 {
		e.Message = strings.ReplaceAll(e.Message, a.route.Model, a.call.model.ID)
	}
}

// pendingBytes is how many bytes are ready for the client.
func (a *attempt) pendingBytes() int {
	if a.pending == nil {
		return 0
	}
	return len(*a.pending)
}

// clearPending drops the pending bytes and returns their buffer.
func (a *attempt) clearPending() {
	if a.pending != nil {
		putBuffer(a.pending)
	}
	a.pending = nil
}

func getBuffer() *[]byte {
	b, _ := buffers.Get().(*[]byte)
	return b
}

// putBuffer returns a buffer to the pool, unless it has grown too large.
func putBuffer(b *[]byte) {
	if cap(*b) <= 2*batchBytesMax {
		*b = (*b)[:0]
		buffers.Put(b)
	}
}

// end records the result of the attempt, which may already have received content; a nil fault stands for a whole answer. An
// attempt that the gateway gave up does not count as failed. End reports false when the result was already recorded.
func (a *attempt) end(fault *provider.Fault) bool {
	if !a.active {
		return false
	}
	a.active = false
	counted := fault
	if fault != nil && a.call.requestedFault(a.route) {
		counted = abandonedFault()
	}
	a.health.End(counted, a.firstByte)
	t := &a.trace
	if fault != nil && fault.Class != provider.ClassEnded {
		t.failure = fault
	}
	if fault != nil && t.answering {
		fail(&t.record, fault, a.call.elapsed()-t.record.Start)
	}
	t.answering = false
	t.span.End(fault)
	t.span = nil
	return true
}

// disconnect releases everything of the connection to the upstream. The stream remains, since the error that ends a cut answer is
// written with it.
func (a *attempt) disconnect() {
	if a.frames != nil {
		a.frames.Close()
		readers.Put(a.frames)
		a.frames = nil
	}
	if a.answer != nil {
		a.answer.Close()
		a.answer = nil
	}
	a.watch.close()
	if a.cancel != nil {
		a.cancel(nil)
		a.cancel = nil
	}
	if pooled, ok := a.body.(interface{ Release() }); ok {
		pooled.Release()
	}
	a.body, a.wait.begun = nil, false
	a.memory.release()
}

// close releases everything that the attempt holds. A second close does nothing.
func (a *attempt) close() {
	a.closed = true
	if a.stream != nil {
		a.stream.Close()
		a.stream = nil
	}
	a.disconnect()
	a.clearPending()
}

// closeAttempt releases what the last attempt holds, and gives it up when its result was not recorded yet.
func (p *pipeline) closeAttempt() {
	a := p.attempt
	if a.active {
		p.endAttempt(a, abandonedFault())
	}
	a.close()
}

// endAttempt records how an attempt has ended, if that was not recorded yet. The fault is nil for a whole answer.
func (p *pipeline) endAttempt(a *attempt, fault *provider.Fault) {
	if a.end(fault) {
		p.trace.update(a)
	}
}

// update records the end of an attempt.
func (t *trace) update(a *attempt) {
	if a.trace.failure != nil {
		t.fault = a.trace.failure
	}
	if a.trace.slot > 0 {
		t.records[a.trace.slot-1] = a.trace.record
		if a.trace.failure != nil {
			t.results[a.trace.slot-1].Meaning = a.trace.failure.Meaning
		}
	}
}
