package gateway

import (
	"context"
	"time"

	"umg/app"
	"umg/billing"
)

// funding is the credit side of a call: its price, its hold, and the extensions of the hold while a stream runs.
type funding struct {
	credit    CreditManager
	hold      billing.Hold
	startedAt time.Time // StartedAt is when the call began, which decides about prices by the hour.
	pricing
	creditLow   bool           // The smallest slice was refused; the gateway asks once more when the funded tokens end.
	outOfCredit bool           // The hold could not be extended: no credit was left.
	extension   *holdExtension // Extension is the one in progress; nil when there is none.
}

// pricing is the part of the funding that depends on the model that serves the call.
type pricing struct {
	card             *billing.RateCard // Card is that of the model, with its conditions.
	estimate         estimate
	costIsPrice      bool  // The cost that the provider states is the price of the call.
	maxTokensLowered bool  // The hold affords less output than the call asked for.
	fundedTokens     int64 // FundedTokens is the output tokens of all choices that the hold pays for.
	sliceTokens      int64 // SliceTokens is how many tokens an extension adds; zero when all output is funded.
}

// reserve takes a hold for the estimated cost of the call, or for a part of it that is still useful. Want is the amount for the most
// expensive fallback model, which may be more than that of the requested model.
func (f *funding) reserve(ctx context.Context, c *Call, want app.Amount) (err error) {
	f.hold, err = f.credit.Hold(ctx, billing.HoldRequest{
		ID: c.ID, AccountID: c.Principal.AccountID, BudgetID: c.Principal.BudgetID, Uncharged: c.Principal.Uncharged,
		Want: max(f.estimate.want, want), Min: f.estimate.min, // Less credit may pay for the own model.
	})
	if err == nil {
		f.bound()
	}
	return err
}

// bound lowers the maximum output when the hold is smaller than the estimate, and notes how many tokens are funded.
func (f *funding) bound() {
	e := &f.estimate
	if f.hold.Amount >= e.want {
		f.fundedTokens = min(e.slice*e.choices, countMax)
	} else {
		e.output = max(1, e.card.Affordable(f.hold.Amount, e.inputUsage, e.outMeter)/e.choices)
		f.maxTokensLowered = true
		f.fundedTokens = e.outputMost()
	}
	if f.fundedTokens < e.outputMost() {
		f.sliceTokens = f.fundedTokens
	}
}

// raise raises the hold to the estimate of another model, or to the least useful part of it.
func (f *funding) raise(ctx context.Context) error {
	e := &f.estimate
	if f.hold.Amount < e.want {
		err := f.credit.Extend(ctx, &f.hold, e.want-f.hold.Amount)
		if app.KindOf(err) == app.Unfunded {
			err = nil
			if f.hold.Amount < e.min {
				err = f.credit.Extend(ctx, &f.hold, e.min-f.hold.Amount)
			}
		}
		if err != nil {
			return err
		}
	}
	f.bound()
	return nil
}
