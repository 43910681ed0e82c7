package gateway

import (
	"context"

	"umg/app/dialect"
	"umg/billing"
)

// keep hands a whole answer to whoever keeps it for a repetition, before its charge is durable: a crash between the two leaves
// an answer that costs nothing, never a charge whose answer is lost. Where it cannot be kept the call ends uncharged.
func (r *run) keep(ctx context.Context, ended error) error {
	if r.call.Keep == nil || r.body == nil || ended != nil {
		return ended
	}
	err := r.call.Keep(ctx, r.body.Append(nil, r.shown()))
	if err != nil {
		r.rule = billing.RuleOf(billing.ReasonUnrecorded)
		r.bill = r.charge(r.rule)
	}
	return err
}

// shown is what the client is told of the charge.
func (r *run) shown() dialect.Bill {
	return dialect.Bill{
		Usage: r.bill.usage, Estimated: r.bill.counted, Cost: r.hold.Charge(r.bill.cost), CutShort: r.cutShort,
	}
}
