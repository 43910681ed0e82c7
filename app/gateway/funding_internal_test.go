package gateway

import (
	"context"
	"testing"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/meter"
	"umg/app/provider"
	"umg/billing"
)

// account is a lease manager with one account, whose available credit is left.
type account struct {
	book
	left app.Amount
	away bool // The store cannot be reached.
}

func (a *account) Hold(_ context.Context, q billing.HoldRequest) (billing.Hold, error) {
	amount := min(q.Want, a.left)
	if amount < q.Min {
		return billing.Hold{}, app.Errorf(app.Unfunded, "insufficient_quota", "x")
	}
	a.left -= amount
	return billing.Hold{ID: q.ID, Amount: amount}, nil
}

func (a *account) Extend(_ context.Context, h *billing.Hold, more app.Amount) error {
	switch {
	case a.away:
		return app.Errorf(app.Internal, "internal_error", "x")
	case more > a.left:
		return app.Errorf(app.Unfunded, "insufficient_quota", "x")
	}
	a.left -= more
	h.Amount += more
	return nil
}

func (a *account) ExtendUpTo(ctx context.Context, h *billing.Hold, more app.Amount) error {
	return a.Extend(ctx, h, min(more, a.left))
}

// funded is the funding of a stream that names no maximum, at a model with 16,384 output tokens.
func funded(t *testing.T, credit *account) *funding {
	t.Helper()
	f := &funding{credit: credit}
	m := &catalog.Model{RateCard: card, Abilities: catalog.Abilities{MaxOutputTokens: 16_384}}
	if err := f.price(&dialect.Head{Stream: true, Choices: 1, TextBytes: 1000, TextTokens: 200, BodyBytes: 1000}, m); err != nil {
		t.Fatal(err)
	}
	return f
}

// words are the statistics of a stream of so many tokens.
func words(n int64) *dialect.StreamStats {
	return &dialect.StreamStats{ContentBytes: 5 * n, ContentFrames: n}
}

func TestFundingReservesASliceAtATime(t *testing.T) {
	t.Parallel()
	credit := &account{left: app.Dollar}
	f := funded(t, credit)
	if err := f.reserve(t.Context(), &Call{ID: "c"}, 0); err != nil {
		t.Fatal(err)
	}
	if f.fundedTokens != sliceTokens || f.sliceTokens != sliceTokens || f.maxTokensLowered || f.hold.Amount != f.estimate.want {
		t.Fatalf("%d tokens funded, in slices of %d, lowered %t, %s held", f.fundedTokens, f.sliceTokens, f.maxTokensLowered, f.hold.Amount)
	}
	if fault := f.keepAhead(t.Context(), words(sliceTokens/2)); fault != nil || f.extension != nil {
		t.Errorf("half of the slice is left, and more was asked for: %v", fault)
	}
	if fault := f.keepAhead(t.Context(), words(sliceTokens)); fault != nil || f.fundedTokens != 2*sliceTokens || f.outOfCredit {
		t.Errorf("at the end of the slice %d tokens are funded, %v", f.fundedTokens, fault)
	}
	if f.hold.Amount+credit.left != app.Dollar {
		t.Errorf("%s are held and %s left", f.hold.Amount, credit.left)
	}
}

func TestFundingRunsOutOfCreditAtTheSmallestSlice(t *testing.T) {
	t.Parallel()
	f := funded(t, &account{})
	credit, _ := f.credit.(*account)
	small, err := f.estimate.cost(sliceTokens+usefulTokens)
	if err != nil {
		t.Fatal(err)
	}
	credit.left = small
	if err := f.reserve(t.Context(), &Call{ID: "c"}, 0); err != nil {
		t.Fatal(err)
	}
	fault := f.keepAhead(t.Context(), words(sliceTokens))
	if fault != nil || f.outOfCredit || f.fundedTokens != sliceTokens+usefulTokens || f.sliceTokens != usefulTokens {
		t.Errorf("%d tokens are funded in slices of %d, out of credit %t, %v", f.fundedTokens, f.sliceTokens, f.outOfCredit, fault)
	}
	if fault := f.keepAhead(t.Context(), words(sliceTokens+usefulTokens)); fault != nil || !f.outOfCredit || credit.left != 0 {
		t.Errorf("out of credit %t, %s left, %v", f.outOfCredit, credit.left, fault)
	}
}

func TestFundingThatFailsEndsTheStream(t *testing.T) {
	t.Parallel()
	credit := &account{left: app.Dollar}
	f := funded(t, credit)
	if err := f.reserve(t.Context(), &Call{ID: "c"}, 0); err != nil {
		t.Fatal(err)
	}
	credit.away = true
	fault := f.keepAhead(t.Context(), words(sliceTokens))
	if fault == nil || fault.Class != provider.ClassEnded || fault.Retry != provider.Nowhere || f.outOfCredit {
		t.Errorf("%v, out of credit %t", fault, f.outOfCredit)
	}
}

func TestFundingLowersTheOutputToTheHold(t *testing.T) {
	t.Parallel()
	f := funded(t, &account{})
	credit, _ := f.credit.(*account)
	credit.left = f.estimate.min
	if err := f.reserve(t.Context(), &Call{ID: "c"}, 0); err != nil {
		t.Fatal(err)
	}
	if !f.maxTokensLowered || f.estimate.output != usefulTokens || f.fundedTokens != usefulTokens || f.sliceTokens != 0 {
		t.Errorf("lowered %t to %d, %d funded in slices of %d", f.maxTokensLowered, f.estimate.output, f.fundedTokens, f.sliceTokens)
	}
	f.hold.Amount, credit.left, f.maxTokensLowered = 0, f.estimate.min-1, false
	if err := f.raise(t.Context()); app.KindOf(err) != app.Unfunded {
		t.Errorf("a hold below the minimum: %v", err)
	}
}

func TestAChargeIsWhatTheRuleTakes(t *testing.T) {
	t.Parallel()
	f := funded(t, &account{left: app.Dollar})
	if err := f.reserve(t.Context(), &Call{ID: "c"}, app.Dollar/2); err != nil {
		t.Fatal(err)
	}
	stats := words(10)
	stats.Usage, stats.Reported = llm.Usage{Input: 100, Output: 12}, true
	if c := f.charge(billing.RuleOf(billing.ReasonCompleted), stats); !c.charged || c.counted || c.usage != stats.Usage {
		t.Errorf("a whole answer: %+v", c)
	}
	stats.Reported = false
	if c := f.charge(billing.RuleOf(billing.ReasonCrashed), stats); !c.charged || !c.counted || c.usage != (llm.Usage{Input: 100, Output: 10}) {
		t.Errorf("what was delivered: %+v", c)
	}
	if c := f.charge(billing.RuleOf(billing.ReasonUpstreamFailed), stats); c.charged || c.cost != 0 || c.meters() != (meter.Counts{}) {
		t.Errorf("nothing: %+v", c)
	}
	stats.Usage, stats.Reported = llm.Usage{Input: 900, Output: 1 << 30}, true
	if c := f.charge(billing.RuleOf(billing.ReasonUsageImplausible), stats); c.cost > f.estimate.most || c.usage.Output != 10 {
		t.Errorf("a hold for dearer models pays %s, and the model costs %s at most", c.cost, f.estimate.most)
	}
}
