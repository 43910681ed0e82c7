package gateway

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"umg/app"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/provider"
	"umg/billing"
)

// settleMax is how long a client waits for its answer's end when the charge cannot be made durable.
const settleMax = 5 * time.Second

// settle chooses the row of the settlement table for the way in which the call has ended, and makes its charge durable. It
// returns the error with which the call ends.
func (p *pipeline) settle(ctx context.Context, ended error) error {
	o, a, stats := p.end(), p.attempt, p.stats()
	if a != nil && a.cancel != nil && (ended != nil || p.response.truncated || a.exchange.HasStopWatcher()) {
		a.cancel(nil) // The upstream's answer is not needed any more.
	}
	if p.response.truncated && stats.Finish == "" {
		stats.Finish = "length" // The client gets the same finish reason.
	}
	ended = p.clientGone(ctx, ended)
	lasting := &p.space.lasting
	lasting.begin(ctx, settleMax)
	defer lasting.end()
	p.funding.stopExtension()
	p.decideCharge(ctx, ended)
	if o.charge.cost > p.funding.hold.Amount {
		p.funding.extendToCost(lasting, o.charge.cost)
		p.decideCharge(ctx, ended)
	}
	ended = p.storeResponse(lasting, ended)
	// The lease manager keeps the charge of a delivered answer until it is durable. It keeps that of a client that has left too, as
	// there is no answer that could be withheld instead.
	left := o.rule.Outcome == outcomeLeft && o.charge.charged
	err := p.gateway.o.CreditManager.Settle(lasting, p.funding.hold, billing.Settlement{
		Cost: o.charge.cost, Delivered: p.response.writer.hasDelivered() || left, Record: p.record(o.rule, o.charge, ended),
	})
	o.settled = true
	p.alarm()
	if err == nil || ended != nil {
		return ended // The lease manager keeps a charge of what was delivered until it is durable.
	}
	if !p.response.writer.hasDelivered() {
		o.rule = billing.RuleOf(billing.ReasonUnrecorded)
		o.charge = p.charge(o.rule, stats)
		return err
	}
	o.rule = billing.RuleOf(billing.ReasonUnrecordedEnd)
	return app.Errorf(app.Unavailable, "service_unavailable",
		"The service cannot reach its store right now, so the answer cannot be completed. What was delivered is charged.").Because(err)
}

// decideCharge chooses the row of the settlement table for the end of the call, and computes its charge.
func (p *pipeline) decideCharge(ctx context.Context, ended error) {
	o := p.end()
	o.rule = billing.RuleOf(p.reason(ctx, ended))
	o.charge = p.charge(o.rule, p.stats())
	o.notes = p.notesOf(o.rule, &o.charge)
}

// charge computes the charge of the call by a row of the settlement table.
func (p *pipeline) charge(rule billing.Rule, stats *dialect.StreamStats) charge {
	p.funding.costIsPrice = p.attempt != nil && p.attempt.route.Provider.CostIsPrice
	return p.funding.charge(rule, stats)
}

// clientGone is the fault of a client that left before anything was delivered to it, when the call has no other error.
func (p *pipeline) clientGone(ctx context.Context, ended error) error {
	if ended != nil || p.response.writer.hasDelivered() || ctx.Err() == nil {
		return ended
	}
	if fault := provider.FaultOf(ctx, ctx.Err()); fault.Class == provider.ClassClient {
		return fault
	}
	return nil
}

const outcomeLeft = "client_left"

// storeResponse stores a whole answer for a repetition under the Idempotency-Key of the call, before its charge is durable. A crash
// between the two leaves an answer that costs nothing, never a charge whose answer is lost. When the answer cannot be stored, the call
// ends uncharged. A client that left before the whole answer was sent pays for it and gets it when it repeats the call.
func (p *pipeline) storeResponse(ctx context.Context, ended error) error {
	o := p.end()
	wholeForLeft := o.rule.Reason == billing.ReasonClientLeftAtEnd || o.rule.Reason == billing.ReasonClientLeftContinued
	if p.request.Idempotent == nil || p.attempt == nil || p.attempt.body == nil || ended != nil && !wholeForLeft {
		return ended
	}
	err := p.request.Idempotent.Store(ctx, p.attempt.body.Append(nil, p.clientCharge()))
	if err != nil {
		o.rule = billing.RuleOf(billing.ReasonUnrecorded)
		o.charge = p.charge(o.rule, p.stats())
		return err
	}
	o.responseStored = true
	return ended
}

// clientCharge is the charge as the client sees it.
func (p *pipeline) clientCharge() llm.Charge {
	c := &p.end().charge
	return llm.Charge{Usage: c.usage, Estimated: c.counted, Cost: p.funding.hold.Charge(c.cost), Truncated: p.response.truncated}
}

// settleAfterPanic settles the hold of a call that panicked at what was delivered, as after a crash of the process. The panic
// goes on, but neither the credit nor the space in the journal may stay reserved until the process ends.
func (p *pipeline) settleAfterPanic(ctx context.Context) {
	o := p.end()
	if o.settled || p.funding.hold.ID == "" {
		return
	}
	lasting, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleMax)
	defer cancel()
	p.funding.stopExtension()
	delivered := p.response.writer.hasDelivered()
	o.rule = billing.RuleOf(pickReason(delivered, billing.ReasonCrashed, billing.ReasonCrashedUnanswered))
	o.charge = p.charge(o.rule, p.stats())
	// The lease manager logs an error and keeps the settlement of what was delivered.
	_ = p.gateway.o.CreditManager.Settle(lasting, p.funding.hold, billing.Settlement{
		Cost: o.charge.cost, Delivered: delivered, Record: p.record(o.rule, o.charge, nil),
	})
}

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

// errOutOfCredit tells the client why an answer ends early.
func errOutOfCredit() *app.Error {
	e := app.Errorf(app.Unfunded, "insufficient_quota",
		"The credit ran out while the answer was streaming, so it ends here. Add credit on the billing page of the console (/console/billing).").
		Final()
	e.Doc = "/console/billing"
	return e
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

// finishBody sends a whole answer.
func (r *response) finishBody(body dialect.Body, charge llm.Charge) error {
	b := getBuffer()
	defer putBuffer(b)
	*b = body.Append(*b, charge)
	r.length[0] = strconv.Itoa(len(*b))
	r.writer.header["Content-Length"] = r.length[:]
	r.firstByte = r.now().Sub(r.started)
	_, err := r.writer.send(http.StatusOK, jsonType, *b)
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
	_, err := r.deliver(*b)
	return err
}

// fail sends the end of a stream with an error and its charge, if the client still reads.
func (r *response) fail(stream dialect.Stream, e *app.Error, requestID string, charge *llm.Charge) {
	b := getBuffer()
	defer putBuffer(b)
	*b = stream.Fail(*b, e, requestID, charge)
	_, _ = r.writer.send(http.StatusOK, eventStream, *b)
}

// stopExtension ends the extension that is in progress, if any. What it was for has ended, but a slice that was granted
// belongs to the hold.
func (f *funding) stopExtension() {
	if x := f.extension; x != nil {
		x.stop()
		_ = f.endExtension(<-x.answer)
	}
}

// extendToCost raises the hold of an ended call that costs more than was held, as far as the free credit, the budget of the key and the
// spend limit allow. The platform bears the rest.
func (f *funding) extendToCost(ctx context.Context, cost app.Amount) {
	if more := cost - f.hold.Amount; more > 0 && !f.outOfCredit {
		_ = f.credit.ExtendUpTo(ctx, &f.hold, more) // Without an extension the charge is that of the hold.
	}
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
