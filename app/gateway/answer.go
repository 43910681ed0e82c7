package gateway

import (
	"bytes"
	"errors"
	"io"
	"time"

	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/sse"
	"umg/app/usagereader"
)

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

// usageReader is the reader of the usage that the provider of a route reports; nil for that of its style.
func usageReader(route *catalog.Route) llm.UsageReader {
	if route.Provider.UsageReader == "" {
		return nil
	}
	reader, known := usagereader.Of(route.Provider.UsageReader, route.Style)
	if !known {
		return nil
	}
	return reader
}

// readAll reads a whole body. Each part of it must arrive within the idle timeout of the route.
func (a *attempt) readAll() (_ []byte, fault *provider.Fault) {
	raw, reserved := (*a.rawBuffer())[:0], 0
	reserve := func() *provider.Fault {
		if len(raw) < largeBytes {
			return nil
		}
		more := len(raw) - reserved
		reserved = len(raw)
		return a.reserveMemory(more)
	}
	for ended := false; !ended && fault == nil; {
		a.deadlines.wait(a.call.gateway.o.Now(), a.route.Timeouts.Idle, provider.ErrIdle)
		if fault = reserve(); fault == nil {
			raw, ended, fault = a.answer.ReadPart(raw)
		}
	}
	*a.raw = raw
	a.deadlines.stopWaiting()
	a.noteFirstByte()
	if fault == nil {
		fault = reserve()
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

// awaitFrame sets the deadline of the next frame. It returns a fault when the upstream has sent no content for too long.
func (a *attempt) awaitFrame() *provider.Fault {
	from := a.wait.deliveredAt
	if from.IsZero() { // After any other event than a flush, the wait begins now.
		from = a.call.gateway.o.Now()
	}
	a.wait.note(from, &a.stats)
	limit, cause := a.frameMax()
	if left, shorter, contentCause := a.contentLeft(from, limit); shorter {
		limit, cause = left, contentCause
		if left <= 0 { // If an upstream never pauses, the timer has no time to fire.
			return provider.TimedOut(cause)
		}
	}
	a.deadlines.wait(from, limit, cause)
	return nil
}

// contentLeft returns the time that the upstream has left to send more content, and the cause of the fault when it has none left.
// Shorter is true when that time is bounded, and is less than the limit of the next frame.
func (a *attempt) contentLeft(at time.Time, limit time.Duration) (left time.Duration, shorter bool, cause error) {
	waits := &a.route.Timeouts
	bound := waits.ContentMax(waits.Idle)
	cause = provider.ErrNoContent
	switch {
	case !a.wait.begun:
		bound, cause = limit, provider.ErrFirstByte // The wait began with the attempt, not with the head of the answer.
	case a.wait.contentBytes == 0:
		bound, cause = waits.ContentMax(waits.FirstByte), provider.ErrNoFirstContent
	}
	if a.wait.ended { // Only end marks and usage may still arrive.
		bound = catalog.Timeouts{}.ContentMax(limit)
	}
	left = a.wait.contentSince.Add(bound).Sub(at)
	return left, bound > 0 && (limit <= 0 || left < limit), cause
}

// frameMax is how long the next frame may take, and the cause of the fault when it takes longer.
func (a *attempt) frameMax() (time.Duration, error) {
	switch {
	case a.stats.Doubtful:
		return a.route.Timeouts.Idle, provider.ErrIdle
	case a.stats.Last, a.stats.Whole: // The answer is complete, though the connection may stay open.
		return a.call.gateway.o.Silence, provider.ErrIdle
	case a.stats.Ended: // Only the end of the connection is still to come.
		return drainMax, provider.ErrIdle
	case !a.wait.begun:
		return a.route.Timeouts.FirstByte, provider.ErrFirstByte
	}
	return a.route.Timeouts.Idle, provider.ErrIdle
}

// frameWait tells how long the gateway has waited for the next frame of an answer, and for its next content. Comments, pings and
// frames without content show that the upstream is alive, but a stream of them alone must not last until the timeout of the call.
type frameWait struct {
	begun        bool      // A frame of the answer has arrived.
	deliveredAt  time.Time // DeliveredAt is when the last bytes were delivered; zero when something else happened since.
	contentSince time.Time // ContentSince is when the last content arrived, or when the attempt began.
	contentBytes int64     // ContentBytes is the number of bytes of content until then.
	ended        bool      // The answer may have ended by then.
}

// note begins a new wait for content when the answer has progressed since the last one.
func (w *frameWait) note(at time.Time, t *dialect.StreamStats) {
	ended := t.Ended || t.Whole || t.Last
	if w.contentSince.IsZero() || t.Progress != w.contentBytes || ended != w.ended {
		w.contentSince, w.contentBytes, w.ended = at, t.Progress, ended
	}
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
