package gateway

import (
	"context"
	"time"

	"umg/app"
	"umg/app/dialect"
	"umg/app/provider"
	"umg/billing"
)

// A stream without a maximum reserves the credit for one slice of its output at a time. The gateway asks for the next slice
// early, so that the stream does not wait for it.
const (
	aheadShare  = 4               // The next slice is asked for when one part in aheadShare of the current slice is left.
	extendMax   = 5 * time.Second // A stream waits so long for its next slice while the database is unavailable.
	extendPause = 100 * time.Millisecond
)

// holdExtension is a slice that was asked for while the stream goes on.
type holdExtension struct {
	hold         billing.Hold
	fundedTokens int64 // FundedTokens counts for the output of all choices, once the extension is granted.
	answer       chan error
	stop         context.CancelFunc
}

// keepAhead extends the hold before the answer uses all of its funded tokens. It waits for an extension only when the answer has
// used them all. When the account has no more credit then, it sets outOfCredit.
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

// outputUsed is the output so far: the larger of the gateway's own count and a plausible count of the upstream.
func (f *funding) outputUsed(s *dialect.StreamStats) int64 {
	n := countOutput(s)
	if s.Reported && s.Usage.Output > n && f.outputPlausible(s, s.Usage) {
		n = s.Usage.Output
	}
	return n
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

// startExtension asks for another slice while the stream goes on, and tries again while the database is unavailable. The call
// waits for the answer or stops the extension before it settles.
func (f *funding) startExtension(ctx context.Context) {
	x := &holdExtension{hold: f.hold, answer: make(chan error, 1)}
	f.extension = x
	x.fundedTokens = min(f.fundedTokens+f.sliceTokens, f.estimate.outputMost())
	ctx, x.stop = context.WithCancel(ctx)
	cost, err := f.estimate.cost(x.fundedTokens)
	if err != nil {
		x.answer <- err
		return
	}
	credit, more := f.credit, cost-f.hold.Amount
	if more <= 0 {
		x.answer <- nil
		return
	}
	// goroutine: the extension owns it; it ends with the answer of the credit manager or when the extension is stopped.
	go func() {
		ctx, cancel := context.WithTimeout(ctx, extendMax)
		defer cancel()
		err := credit.Extend(ctx, &x.hold, more)
		for err != nil && app.KindOf(err) == app.Unavailable && app.Sleep(ctx, extendPause) == nil {
			err = credit.Extend(ctx, &x.hold, more)
		}
		x.answer <- err
	}()
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
