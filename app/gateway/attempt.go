package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/sse"
)

const (
	spliceRoom    = 512 // what a request may grow by on its way upstream
	droppedHeader = "X-Gateway-Dropped"
)

// hideUpstreamName puts the public id where an upstream's message has its own name of the model. Names so short that
// they stand in other words are left.
func (r *run) hideUpstreamName(e *app.Error) {
	if e.Status != 0 && r.route.Model != r.model.ID && len(r.route.Model) >= 4 {
		e.Message = strings.ReplaceAll(e.Message, r.route.Model, r.model.ID)
	}
}

// attempt tries one route once, and notes when the client leaves a provider that has its request.
func (r *run) attempt(ctx context.Context, route *catalog.Route) *provider.Fault {
	fault := r.attemptRoute(ctx, route)
	if fault != nil && fault.Class == provider.ClassClient && (fault.Sent || r.answer != nil) && !errors.Is(context.Cause(ctx), errOvertaken) {
		r.taken = true
	}
	return fault
}

func (r *run) attemptRoute(ctx context.Context, route *catalog.Route) *provider.Fault {
	ctx, r.cancel = context.WithCancelCause(ctx)
	r.watch.attempt(r.cancel, route.Timeouts.FirstByte, r.totalOf(route))
	r.quiet = quiet{since: r.gateway.o.Now()}
	if err := r.complete(ctx); err != nil {
		return provider.NewRefusal(err)
	}
	payload := provider.NewPayload(r.way.Size() + spliceRoom)
	payload.Data = r.way.Request(payload.Data, dialect.Edit{Model: route.Model, MaxTokens: r.sentBound()})
	var fault *provider.Fault
	if !r.aside {
		r.mark()
	}
	ctx = r.startAttemptSpan(ctx, route)
	r.answer, fault = r.gateway.o.Providers.Send(ctx, provider.Attempt{
		Route: route, Credential: r.try.Credential, Payload: payload, Header: r.forwarded(), Stream: r.way.Streams(),
	})
	payload.Release()
	if fault != nil {
		return fault
	}
	r.out.tell(droppedHeader, r.way.Dropped())
	switch {
	case r.head.Stream:
		return r.openStream()
	case r.answer.Stream:
		return r.openFolded()
	}
	return r.openBody()
}

// openBody reads the whole answer and checks that it is one.
func (r *run) openBody() *provider.Fault {
	raw, fault := r.readAll()
	if fault != nil {
		return fault
	}
	body, err := r.way.ReadBody(raw, r.ask)
	if err != nil {
		return r.faultOf(err)
	}
	if r.tally = body.Tally(); r.tally.Empty() {
		return r.answer.Unusable(errEmpty)
	}
	r.body, r.done = body, true
	return nil
}

// openFolded reads a stream for a client that asked for JSON.
func (r *run) openFolded() *provider.Fault {
	folded := r.way.NewFolded(r.ask)
	r.stream = folded
	r.frames = getReader(r.answer, r.gateway.o.Memory)
	for !r.done {
		err := r.step()
		if err == nil && r.endless(r.tally.ContentBytes) {
			err = errCut
		}
		if err != nil {
			return r.faultOf(err)
		}
	}
	body, whole := folded.Body()
	if !whole || r.tally.Empty() {
		r.done = false
		return r.answer.Unusable(errEmpty)
	}
	r.body = body
	return nil
}

// readAll reads a body in one piece. Its bytes must keep coming; a trickle counts as silence.
func (r *run) readAll() ([]byte, *provider.Fault) {
	spared := 0
	spare := func(read int) *provider.Fault {
		if read < largeBytes {
			return nil
		}
		more := read - spared
		spared = read
		return r.reserveResponseMemory(more)
	}
	raw, fault := r.answer.ReadAll(nil, func(read int) *provider.Fault {
		r.watch.wait(r.gateway.o.Now(), r.route.Timeouts.Idle, provider.ErrIdle)
		return spare(read)
	})
	r.watch.came()
	r.noteFirstByte()
	if fault == nil {
		fault = spare(len(raw))
	}
	return raw, fault
}

var errEmpty = errors.New("gateway: the answer has neither content nor an end")

// openStream reads frames until there is content, or until the answer has ended without any.
func (r *run) openStream() *provider.Fault {
	source := io.Reader(r.answer)
	if !r.answer.Stream {
		raw, fault := r.readAll()
		if fault != nil {
			return fault
		}
		frames, err := r.way.Frames(raw)
		if err != nil {
			return r.faultOf(err)
		}
		source = bytes.NewReader(frames)
		r.quiet.since = r.gateway.o.Now() // nothing of it is waited for
	}
	var err error
	if r.stream, err = r.newStream(); err != nil {
		r.stream = nil
		return r.faultOf(err)
	}
	r.frames = getReader(source, r.gateway.o.Memory)
	for r.pending() == 0 && !r.done {
		if err := r.step(); err != nil {
			return r.faultOf(err)
		}
	}
	if r.tally.Empty() {
		r.done = false
		return r.answer.Unusable(errEmpty)
	}
	return nil
}

// faultOf says what an error of reading the answer was.
func (r *run) faultOf(err error) *provider.Fault {
	var (
		said   *llm.UpstreamError
		failed *llm.FailedError
	)
	switch {
	case errors.As(err, &said):
		return r.answer.ErrorFault(said.Body)
	case errors.As(err, &failed) && failed.Stop == llm.StopError:
		return provider.NewFault(provider.ClassServer, err)
	case differs(err):
		return provider.NewFault(provider.ClassRefused, err)
	case failed != nil, errors.Is(err, llm.ErrBroken), errors.Is(err, llm.ErrMalformed), errors.Is(err, errCut):
		return r.answer.Unusable(err)
	case errors.Is(err, sse.ErrTooLarge), errors.Is(err, sse.ErrBudget):
		return provider.NewFault(provider.ClassTooLarge, err)
	}
	return r.answer.Fault(err)
}
