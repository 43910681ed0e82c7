package gateway

import (
	"context"
	"time"

	"umg/app"
	"umg/app/dialect"
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

// holdExtension is a slice that was asked for while the stream goes on.
type holdExtension struct {
	hold         billing.Hold
	fundedTokens int64 // FundedTokens counts for the output of all choices, once the extension is granted.
	answer       chan error
	stop         context.CancelFunc
}

// keepAhead keeps the hold ahead of an answer that has not ended. It waits only where the answer has come to the end of what
// is funded, and when there is no more credit then the answer has run out of it.
func (f *funding) keepAhead(ctx context.Context, s *dialect.StreamStats) *provider.Fault {
	if f.sliceTokens == 0 || s.Finish != "" && f.estimate.choices == 1 {
		return nil
	}
	used := f.outputUsed(s)
	if used < f.fundedTokens-f.sliceTokens/aheadShare {
		return nil
	}
	if used < f.fundedTokens {
		f.extendAhead(ctx)
		return nil
	}
	for used >= f.fundedTokens && f.fundedTokens < f.estimate.outputMost() && !f.outOfCredit {
		if f.extension == nil {
			f.startExtension(ctx)
		}
		if err := f.endExtension(<-f.extension.answer); err != nil && app.KindOf(err) != app.Unfunded {
			if ctx.Err() != nil {
				return provider.FaultOf(ctx, err)
			}
			return &provider.Fault{Class: provider.ClassEnded, Retry: provider.Nowhere, Err: app.AsError(err)}
		}
		f.outOfCredit = f.creditLow
	}
	return nil
}

// extendAhead asks for the next slice, or looks whether it was granted.
func (f *funding) extendAhead(ctx context.Context) {
	if f.extension == nil {
		if !f.creditLow && f.fundedTokens < f.estimate.outputMost() {
			f.startExtension(ctx)
		}
		return
	}
	select {
	case err := <-f.extension.answer:
		// A refused slice of the smallest size is asked for once more when the funded tokens end.
		f.creditLow = f.endExtension(err) != nil && f.sliceTokens <= f.leastSlice()
	default:
	}
}

// startExtension asks for another slice while the stream goes on. The goroutine is owned by the call, which waits for its
// answer or stops it before it settles; extendMax bounds it.
func (f *funding) startExtension(ctx context.Context) {
	x := &holdExtension{hold: f.hold, answer: make(chan error, 1)}
	f.extension = x
	x.fundedTokens = min(f.fundedTokens+f.sliceTokens, f.estimate.outputMost())
	ctx, x.stop = context.WithCancel(ctx)
	cost, err := f.estimate.cost(f.card, x.fundedTokens)
	if err != nil {
		x.answer <- err
		return
	}
	credit, more := f.credit, cost-f.hold.Amount
	// goroutine: the extension owns it; it ends with the answer of the credit manager or when the extension is stopped.
	go func() { x.answer <- extendHold(ctx, credit, &x.hold, more) }()
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

// endExtension handles the result of extending the hold by a slice. When the credit does not suffice for a whole slice, the
// gateway asks for smaller ones, until the credit does not suffice for those either.
func (f *funding) endExtension(err error) error {
	x := f.extension
	f.extension, f.creditLow = nil, false
	x.stop()
	switch {
	case err == nil:
		f.hold, f.fundedTokens = x.hold, x.fundedTokens
	case app.KindOf(err) == app.Unfunded && f.sliceTokens > f.leastSlice():
		f.sliceTokens = f.leastSlice()
	case app.KindOf(err) == app.Unfunded:
		f.creditLow = true
	}
	return err
}

func (f *funding) leastSlice() int64 { return usefulTokens * f.estimate.choices }

// stopExtension ends the extension that is in progress, if any. What it was for has ended, but a slice that was granted
// belongs to the hold.
func (f *funding) stopExtension() {
	if x := f.extension; x != nil {
		x.stop()
		_ = f.endExtension(<-x.answer)
	}
}

// extendAtEnd raises the hold of a whole answer, when by the upstream's count it has cost more than its slices. Reasoning that
// is not shown cannot be counted earlier. If the extension fails, the platform absorbs the difference.
func (f *funding) extendAtEnd(ctx context.Context, s *dialect.StreamStats) {
	if f.sliceTokens == 0 || !s.Reported {
		return
	}
	used, _ := f.plausibleUsage(s)
	cost, err := f.card.Cost(usageMeters(used))
	if more := min(cost, f.estimate.most) - f.hold.Amount; err == nil && more > 0 {
		_ = f.credit.Extend(ctx, &f.hold, more)
	}
}
