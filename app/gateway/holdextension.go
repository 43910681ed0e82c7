package gateway

import (
	"context"
	"time"

	"umg/app"
	"umg/app/provider"
	"umg/billing"
)

// A stream that names no maximum reserves a slice of its output at a time. The next one is asked for when this part of
// the current one is left, so that the stream does not wait for it.
const (
	aheadShare  = 4
	extendMax   = 5 * time.Second // A stream waits so long for its next slice when the database is away.
	extendPause = 100 * time.Millisecond
)

// holdExtension is a slice that was asked for, beside the stream.
type holdExtension struct {
	hold   billing.Hold
	paid   int64 // Paid is in output tokens of all choices, once the extension is granted.
	answer chan error
	stop   context.CancelFunc
}

// fund keeps the reserve ahead of the answer. It waits only where the answer has come to the end of what is paid for,
// and when there is no more credit then the answer has run out of it.
func (r *run) fund(ctx context.Context) *provider.Fault {
	if r.slice == 0 || r.done || r.tally.Finish != "" && r.head.Choices == 1 {
		return nil
	}
	used := r.used()
	if used < r.paid-r.slice/aheadShare {
		return nil
	}
	if used < r.paid {
		r.fundAhead(ctx)
		return nil
	}
	for used >= r.paid && r.paid < r.outputMost() && !r.ranOut {
		if r.more == nil {
			r.more = r.extend(ctx)
		}
		if err := r.extended(<-r.more.answer); err != nil && app.KindOf(err) != app.Unfunded {
			return unfunded(ctx, err)
		}
		r.ranOut = r.short
	}
	return nil
}

// fundAhead asks for the next slice, or looks whether it has come.
func (r *run) fundAhead(ctx context.Context) {
	if r.more == nil {
		if !r.short && r.paid < r.outputMost() {
			r.more = r.extend(ctx)
		}
		return
	}
	select {
	case err := <-r.more.answer:
		r.short = r.extended(err) != nil && r.slice <= r.leastSlice() // then at the end of this one once more
	default:
	}
}

func (r *run) leastSlice() int64 { return usefulTokens * r.head.Choices }

// extended handles the result of extending the hold by a slice. When the credit does not suffice for a whole slice, the
// gateway asks for smaller ones, until the credit does not suffice for those either.
func (r *run) extended(err error) error {
	e := r.more
	r.more, r.short = nil, false
	e.stop()
	switch {
	case err == nil:
		r.hold, r.paid = e.hold, e.paid
	case app.KindOf(err) == app.Unfunded && r.slice > r.leastSlice():
		r.slice = r.leastSlice()
	case app.KindOf(err) == app.Unfunded:
		r.short = true
	}
	return err
}

// next is how much output one more slice pays for, and what it costs.
func (r *run) nextSlice() (paid int64, more app.Amount, err error) {
	paid = min(r.paid+r.slice, r.outputMost())
	cost, err := r.reserve.cost(r.model.RateCard, paid)
	return paid, cost - r.hold.Amount, err
}

// unfunded is how a stream ends that must wait for credit and cannot.
func unfunded(ctx context.Context, err error) *provider.Fault {
	if ctx.Err() != nil {
		return provider.FaultOf(ctx, err)
	}
	return &provider.Fault{Class: provider.ClassEnded, Retry: provider.Nowhere, Err: app.AsError(err)}
}

// extendHold raises a hold, and tries again while the store is away.
func extendHold(ctx context.Context, credit CreditManager, h *billing.Hold, more app.Amount) error {
	if more <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, extendMax)
	defer cancel()
	for {
		err := credit.Extend(ctx, h, more)
		if err == nil || app.KindOf(err) != app.Unavailable || pause(ctx, extendPause) != nil {
			return err
		}
	}
}

// extendHoldAtEnd raises the hold at the end, when by the upstream's count the answer has cost more than its slices. Reasoning
// that is not shown cannot be counted earlier. If the extension fails, the platform absorbs the difference.
func (r *run) extendHoldAtEnd(ctx context.Context, ended error) {
	if e := r.more; e != nil { // what it was for has ended
		e.stop()
		_ = r.extended(<-e.answer)
	}
	if r.slice == 0 || ended != nil || r.cutShort || !r.tally.Reported {
		return
	}
	used, _ := r.believed()
	cost, err := r.model.RateCard.Cost(readings(used))
	if more := min(cost, r.reserve.most) - r.hold.Amount; err == nil && more > 0 {
		_ = r.gateway.o.CreditManager.Extend(ctx, &r.hold, more)
	}
}
