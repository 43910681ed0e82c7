package gateway

import (
	"context"

	"umg/app/dialect"
	"umg/billing"
)

// keep passes a whole answer to the caller's StoreResponse, which stores it for a repetition, before its charge is durable. A
// crash between the two leaves an answer that costs nothing, never a charge whose answer is lost. When the answer cannot
// be stored, the call ends uncharged. A client that left before the whole answer was sent pays for it and gets it when
// it repeats the call.
func (r *run) keep(ctx context.Context, ended error) error {
	if r.call.StoreResponse == nil || r.body == nil || ended != nil && r.rule.Reason != billing.ReasonClientLeftAtEnd {
		return ended
	}
	err := r.call.StoreResponse(ctx, r.body.Append(nil, r.shown()))
	if err != nil {
		r.rule = billing.RuleOf(billing.ReasonUnrecorded)
		r.bill = r.charge(r.rule)
		return err
	}
	r.answerKept = true
	return ended
}

// shown is the charge as the client sees it.
func (r *run) shown() dialect.Bill {
	return dialect.Bill{
		Usage: r.bill.usage, Estimated: r.bill.counted, Cost: r.hold.Charge(r.bill.cost), CutShort: r.cutShort,
	}
}
