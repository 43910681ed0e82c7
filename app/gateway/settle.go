package gateway

import (
	"context"
	"time"

	"umg/app"
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

// alarm logs what an operator must act on: a cost that could not be held, and usage without a price. Of a route the latter is logged once.
func (p *pipeline) alarm() {
	o := p.end()
	route := ""
	if p.attempt != nil {
		route = p.attempt.route.Provider.ID
	}
	if over := o.charge.cost - p.funding.hold.Amount; over > 0 {
		p.gateway.o.Log.Error("text call cost more than could be held", "request_id", p.request.ID, "model", p.model.ID, "provider", route,
			"cost_usd", o.charge.cost.String(), "overrun_usd", over.String())
	}
	if !o.notes.unpriced {
		return
	}
	if _, logged := p.gateway.unpriced.LoadOrStore(route+" "+p.model.ID, true); !logged {
		p.gateway.o.Log.Error("usage without a price", "request_id", p.request.ID, "model", p.model.ID, "provider", route)
	}
}

// decideCharge chooses the row of the settlement table for the end of the call, and computes its charge.
func (p *pipeline) decideCharge(ctx context.Context, ended error) {
	o := p.end()
	o.rule = billing.RuleOf(p.reason(ctx, ended))
	o.charge = p.charge(o.rule, p.stats())
	o.notes = p.notesOf(o.rule, &o.charge)
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
