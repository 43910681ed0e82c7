package gateway

import (
	"context"

	"umg/app/dialect"
	"umg/billing"
)

// keep hands a whole answer to whoever keeps it for a repetition, before its charge is durable: a crash between the two leaves
// an answer that costs nothing, never a charge whose answer is lost. Where it cannot be kept the call ends uncharged. A client
// that left before a whole answer was sent pays for it, and is given it when it repeats the call.
func (r *run) keep(ctx context.Context, ended error) error {
	if r.call.Keep == nil || r.body == nil || ended != nil && r.rule.Reason != billing.ReasonClientLeftAtEnd {
		return ended
	}
	err := r.call.Keep(ctx, r.body.Append(nil, r.shown()))
	if err != nil {
		r.rule = billing.RuleOf(billing.ReasonUnrecorded)
		r.bill = r.charge(r.rule)
		return err
	}
	r.answerKept = true
	return ended
}

// shown is what the client is told of the charge.
func (r *run) shown() dialect.Bill {
	return dialect.Bill{
		Usage: r.bill.usage, Estimated: r.bill.counted, Cost: r.hold.Charge(r.bill.cost), CutShort: r.cutShort,
	}
}
