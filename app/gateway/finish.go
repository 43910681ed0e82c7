package gateway

import (
	"context"
	"net/http"
	"strconv"

	"umg/app"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/provider"
	"umg/billing"
)

// finish sends the end of the answer or its error. It returns an error only when nothing was sent.
func (p *pipeline) finish(ctx context.Context, ended error) (*Report, error) {
	if ended == nil || p.end().responseStored {
		p.request.Idempotent.Finish(ctx)
	}
	if ended != nil {
		e := errorOf(ended)
		if !p.response.writer.hasBegun() {
			return p.report(e), e
		}
		p.fail(e)
		return p.report(e), nil
	}
	var err error
	a := p.attempt
	if a.body != nil {
		err = p.response.finishBody(a.body, p.clientCharge())
		if a.raw != nil { // The body is not read any more, and nothing else refers to the bytes of an answer without a fault.
			putBuffer(a.raw)
			a.raw = nil
		}
	} else {
		var notice func([]byte) []byte
		if p.funding.outOfCredit && p.dialect.AppendNotice != nil {
			notice = func(dst []byte) []byte { return p.dialect.AppendNotice(dst, errOutOfCredit(), p.request.ID) }
		}
		if err = p.response.finishStream(a.stream, p.clientCharge(), notice); err == nil && a.complete {
			a.drain()
		}
	}
	if err != nil {
		p.end().rule = billing.RuleOf(billing.ReasonClientLeftAtEnd) // The charge stands, because the answer was complete.
		return p.report(errorOf(provider.NewFault(provider.ClassClient, err))), nil
	}
	return p.report(nil), nil
}

// clientCharge is the charge as the client sees it.
func (p *pipeline) clientCharge() llm.Charge {
	c := &p.end().charge
	return llm.Charge{Usage: c.usage, Estimated: c.counted, Cost: p.funding.hold.Charge(c.cost), Truncated: p.response.truncated}
}

// errOutOfCredit tells the client why an answer ends early.
func errOutOfCredit() *app.Error {
	e := app.Errorf(app.Unfunded, "insufficient_quota",
		"The credit ran out while the answer was streaming, so it ends here. Add credit on the billing page of the console (/console/billing).").
		Final()
	e.Doc = "/console/billing"
	return e
}

// finishBody sends a whole answer.
func (r *response) finishBody(body dialect.Body, charge llm.Charge) error {
	b := getBuffer()
	defer putBuffer(b)
	*b = body.Append(*b, charge)
	r.length[0] = strconv.Itoa(len(*b))
	r.writer.header["Content-Length"] = r.length[:]
	r.firstByte = r.now().Sub(r.started)
	_, err := r.writer.send(http.StatusOK, jsonType, *b, true)
	return err
}

// finishStream sends the end of a stream. A notice, if any, writes into the stream why it ends early.
func (r *response) finishStream(stream dialect.Stream, charge llm.Charge, notice func(dst []byte) []byte) error {
	b := getBuffer()
	defer putBuffer(b)
	*b = stream.Finish(*b, charge)
	if notice != nil {
		*b = notice(*b)
	}
	_, err := r.deliver(*b, true)
	return err
}

// fail ends the client's stream with an error. When no attempt has begun a stream, it writes the error with a new one.
func (p *pipeline) fail(e *app.Error) {
	var stream dialect.Stream
	if p.attempt != nil {
		stream = p.attempt.stream
	}
	if stream == nil {
		stream = p.dialect.NewStream(p.options)
		defer stream.Close()
	}
	var charge *llm.Charge // Charge is what the account pays for the delivered part.
	if c := &p.end().charge; c.charged {
		charge = &llm.Charge{Usage: c.usage, Cost: p.funding.hold.Charge(c.cost)}
	}
	p.response.fail(stream, e, p.request.ID, charge)
}

// fail sends the end of a stream with an error and its charge, if the client still reads.
func (r *response) fail(stream dialect.Stream, e *app.Error, requestID string, charge *llm.Charge) {
	b := getBuffer()
	defer putBuffer(b)
	*b = stream.Fail(*b, e, requestID, charge)
	_, _ = r.writer.send(http.StatusOK, eventStream, *b, true)
}

// drain reads the rest of the stream after the end of an answer, so that the connection can be used again. The connection is
// closed when the upstream does not end the stream.
func (a *attempt) drain() {
	if a.frames == nil || !a.answer.Stream || a.exchange.HasStopWatcher() {
		return
	}
	a.deadlines.wait(a.call.gateway.o.Now(), drainMax, provider.ErrIdle)
	_, _ = a.frames.Next() // The frame is the end, or one that the answer does not need.
	a.deadlines.stopWaiting()
}
