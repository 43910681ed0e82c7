package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/provider/health"
	"umg/app/sse"
)

const (
	requestSlack  = 512 // The bytes that a request may grow by before it goes upstream.
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

// newAttempt begins an attempt on a route, with the credential that health has chosen.
func (l *routeLoop) newAttempt(c candidate, try health.Try) *attempt {
	try.Whole = !l.head.Stream
	a := &l.space.attempt
	if l.space.attemptUsed {
		a = new(attempt)
	}
	l.space.attemptUsed = true
	*a = attempt{
		call: &l.call, route: c.route, exchange: c.exchange, builder: l.builder, resume: l.resume, deadlines: &l.response.deadlines,
		health: try, active: true, startedAt: l.gateway.o.Now(), memory: memoryReservation{budget: l.gateway.o.Memory},
	}
	a.stats = a.base()
	return a
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

// send sends the request, and waits for the head of the answer. A maxTokens of zero keeps the maximum of the request.
func (a *attempt) send(maxTokens int64) *provider.Fault {
	payload := provider.NewPayload(a.exchange.Size() + requestSlack)
	defer payload.Release()
	payload.Data = a.exchange.Request(payload.Data, dialect.Edit{
		Model: a.route.Model, MaxTokens: maxTokens, EndUser: a.call.endUserFor(a.route), EndUserMember: a.route.EndUserMember,
	})
	ctx := a.startSpan()
	a.watch.markSent()
	var fault *provider.Fault
	a.answer, fault = a.call.gateway.o.Providers.Send(ctx, provider.Attempt{
		Route: a.route, Credential: a.health.Credential, Payload: payload, Header: a.call.upstreamHeader(a.route, a.exchange),
		Betas: a.call.bodyBetas(a.route, a.exchange), Stream: a.exchange.Streams(),
		Space: a.builder.takeSpace(),
	})
	return fault
}

// open reads the whole of a body, or a stream up to its first content.
func (a *attempt) open(e *estimate) *provider.Fault {
	switch {
	case a.call.head.Stream:
		return a.openStream()
	case a.answer.Stream:
		return a.openFolded(e)
	}
	raw, fault := a.readAll()
	if fault != nil {
		return fault
	}
	body, err := a.exchange.ReadBody(raw, a.options())
	if err != nil {
		return a.faultOf(err)
	}
	if a.stats = body.Stats(); a.stats.Empty() {
		return a.answer.Unusable(errEmpty)
	}
	a.body, a.complete = body, true
	return nil
}

// openStream reads frames until there is content, or until the answer has ended without any.
func (a *attempt) openStream() *provider.Fault {
	source := io.Reader(a.answer)
	if !a.answer.Stream {
		raw, fault := a.readAll()
		if fault != nil {
			return fault
		}
		frames, err := a.exchange.Frames(raw)
		if err != nil {
			return a.faultOf(err)
		}
		source = bytes.NewReader(frames)
		a.wait.contentSince = a.call.gateway.o.Now() // All of it is here already.
	}
	options := a.options()
	if a.resume == nil {
		a.stream = a.exchange.NewStream(options)
	} else { // The client already has a part of the answer.
		options.Request = a.resume.request
		stream, ok := a.exchange.Continue(options, a.resume.transcript, a.resume.base)
		if !ok {
			return a.faultOf(translate.ErrOtherAnswer)
		}
		a.stream = stream
	}
	a.read(source)
	for a.pendingBytes() == 0 && !a.complete {
		if err := a.step(); err != nil {
			return a.faultOf(err)
		}
	}
	if a.stats.Empty() {
		a.complete = false
		return a.answer.Unusable(errEmpty)
	}
	return nil
}

// openFolded reads a whole stream and makes one body of it, for a client that did not ask for a stream.
func (a *attempt) openFolded(e *estimate) *provider.Fault {
	folded := a.exchange.NewFolded(a.options())
	a.stream = folded
	a.read(a.answer)
	for !a.complete {
		err := a.step()
		if err == nil && e.endless(a.stats.ContentBytes) {
			err = errCut
		}
		if err != nil {
			return a.faultOf(err)
		}
	}
	body, whole := folded.Body()
	if !whole || a.stats.Empty() {
		a.complete = false
		return a.answer.Unusable(errEmpty)
	}
	a.body = body
	return nil
}

// options are those of the answer of this attempt.
func (a *attempt) options() llm.ResponseOptions {
	options := a.call.options
	options.UsageReader = usageReader(a.route)
	options.ThinkText = a.route.Quirks != nil && a.route.Quirks.ThinksInText()
	return options
}

// readAll reads a whole body. Each part of it must arrive within the idle timeout of the route.
func (a *attempt) readAll() ([]byte, *provider.Fault) {
	reserved := 0
	reserve := func(read int) *provider.Fault {
		if read < largeBytes {
			return nil
		}
		more := read - reserved
		reserved = read
		return a.reserveMemory(more)
	}
	raw, fault := a.answer.ReadAll((*a.rawBuffer())[:0], func(read int) *provider.Fault {
		a.deadlines.wait(a.call.gateway.o.Now(), a.route.Timeouts.Idle, provider.ErrIdle)
		return reserve(read)
	})
	*a.raw = raw
	a.deadlines.stopWaiting()
	a.noteFirstByte()
	if fault == nil {
		fault = reserve(len(raw))
	}
	return raw, fault
}

// rawBuffer is the buffer of the attempt for a whole answer.
func (a *attempt) rawBuffer() *[]byte {
	if a.raw == nil {
		a.raw = getBuffer()
	}
	return a.raw
}

// reserveMemory reserves the memory for n bytes of the answer until they are delivered.
func (a *attempt) reserveMemory(n int) *provider.Fault {
	copies := int64(passedCopies)
	if a.exchange != nil && a.exchange.Translates() {
		copies = translatedCopies
	}
	if !a.memory.take(int64(n) * copies) {
		return provider.NewFault(provider.ClassTooLarge, sse.ErrBudget)
	}
	return nil
}

// read begins to read frames.
func (a *attempt) read(source io.Reader) {
	a.frames, _ = readers.Get().(*sse.Reader)
	a.frames.Reset(source, a.call.gateway.o.Memory)
}

// step reads one frame and passes it through the dialect.
func (a *attempt) step() error {
	frame, broken := a.nextFrame()
	if broken != nil {
		frame = sse.Frame{} // An empty frame marks the end of the stream.
	} else if a.wait.begun = true; len(frame.Raw) >= largeBytes {
		if fault := a.reserveMemory(len(frame.Raw)); fault != nil {
			return fault
		}
	}
	if a.pending == nil { // The buffer is borrowed until its bytes are sent, so that a waiting stream holds no buffer.
		a.pending = getBuffer()
	}
	var (
		step dialect.Step
		err  error
	)
	if *a.pending, step, err = a.stream.Frame(*a.pending, frame); len(*a.pending) == 0 {
		a.clearPending()
	}
	a.stats = a.stream.Stats()
	// A connection that breaks after a whole answer does no harm. But when an upstream marks every frame as the last one, only a
	// proper end of the stream shows that the answer is whole.
	ends := broken == nil || !a.stats.Doubtful || errors.Is(broken, io.EOF)
	switch {
	case err != nil:
		return err
	case ends && (step == dialect.Done && a.stats.Ended || broken != nil && (a.stats.Ended || a.stats.Whole)):
		a.complete = true
	case broken != nil && !errors.Is(broken, io.EOF):
		return broken
	case broken != nil, step == dialect.Done:
		return errCut
	}
	return nil
}

// nextFrame reads a frame. If it is not in the buffer yet, it must arrive within a deadline.
func (a *attempt) nextFrame() (sse.Frame, error) {
	waits := !a.frames.Buffered()
	if waits {
		if fault := a.awaitFrame(); fault != nil {
			return sse.Frame{}, fault
		}
	}
	a.wait.deliveredAt = time.Time{}
	frame, err := a.frames.Next()
	if waits {
		a.deadlines.stopWaiting()
		a.noteFirstByte()
	}
	return frame, err
}

// faultOf classifies an error of reading the answer.
func (a *attempt) faultOf(err error) *provider.Fault {
	var (
		reported *llm.UpstreamError
		failed   *llm.FailedError
	)
	switch {
	case errors.As(err, &reported):
		return a.answer.ErrorFault(reported.Body)
	case errors.As(err, &failed) && failed.Stop == llm.StopError:
		return provider.NewFault(provider.ClassServer, err)
	case errors.Is(err, translate.ErrOtherAnswer): // The provider is not at fault when a stream cannot continue an answer.
		return provider.NewFault(provider.ClassRefused, err)
	case failed != nil, errors.Is(err, llm.ErrBroken), errors.Is(err, llm.ErrMalformed), errors.Is(err, errCut):
		return a.answer.Unusable(err)
	case errors.Is(err, sse.ErrTooLarge), errors.Is(err, sse.ErrBudget):
		return provider.NewFault(provider.ClassTooLarge, err)
	}
	return a.answer.Fault(err)
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

// recordAttemptResult records the result of the attempt whose answer was relayed.
func (p *pipeline) recordAttemptResult(err error) {
	fault, failed := errors.AsType[*provider.Fault](err)
	if err != nil && !failed {
		fault = abandonedFault()
	}
	p.endAttempt(p.attempt, fault)
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
