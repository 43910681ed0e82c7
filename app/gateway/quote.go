package gateway

import (
	"context"

	"umg/app"
	"umg/app/ratelimit"
	"umg/billing"
)

// quotesPerMinuteMax bounds the quotes of an account and model, apart from the limits of its calls.
const quotesPerMinuteMax = 600

// Quote is what a call may cost. It is what the call itself would be held to.
type Quote struct {
	Model         string
	RateCardID    string
	InputEstimate int64 // InputEstimate is in tokens.
	InputMost     int64
	OutputMost    int64      // OutputMost is in tokens of each choice.
	Choices       int64      // Choices is the number of requested answers.
	Least         app.Amount // Least is the price of the estimated input alone.
	Most          app.Amount // Most is the price of the largest possible input and output.
	Reserve       app.Amount // Reserve is the hold when the call begins.
	LeastReserve  app.Amount // LeastReserve is the least credit that starts the call; below Reserve its output is bounded.
	Available     app.Amount // Available is the account's available credit.
	Funded        bool       // The credit is enough for the call to begin.
	Dropped       string     // Dropped lists the members that would not go upstream, as a header value.
}

// Quote goes the way of Generate as far as the hold: a call that is wrong is refused in the same words, and one that is
// right is priced. Nothing is written, no limit of calls is used up and no provider is asked.
func (g *Gateway) Quote(ctx context.Context, call Call) (Quote, error) {
	r := newRun(g, call)
	defer r.asked.giveBack()
	if g.o.Balance == nil {
		return Quote{}, app.Errorf(app.Unavailable, "service_unavailable", "Prices are not quoted here.")
	}
	if err := r.admit(); err != nil {
		return Quote{}, err
	}
	slot, err := g.o.Limits.Take(ratelimit.Request{
		AccountID: call.Principal.AccountID, Model: "quotes of " + r.model.ID,
		RequestsPerMinute: quotesPerMinuteMax * int64(max(call.LimitFactor, 1)), Concurrency: quotesPerMinuteMax,
	})
	if err != nil {
		return Quote{}, err
	}
	defer slot.Release(0)
	least, err := r.leastCost()
	if err != nil {
		return Quote{}, err
	}
	credit, err := g.o.Balance(ctx, call.Principal.AccountID)
	if err != nil {
		return Quote{}, err
	}
	s, f, available := r.reserve, r.fallbacks, credit.Spendable()
	if f.any {
		least = min(least, f.least)
	}
	return Quote{
		Model: r.model.ID, RateCardID: r.model.RateCard.ID, InputEstimate: r.inputEstimate(), InputMost: max(s.input, f.input),
		OutputMost: max(s.output, f.output), Choices: r.head.Choices, Least: least, Most: max(s.most, f.most), Reserve: max(s.want, f.want),
		LeastReserve: s.min, Available: available, Funded: available >= s.min, Dropped: r.way.Dropped(),
	}, nil
}

// leastCost is what the input alone costs, by the estimate.
func (r *run) leastCost() (app.Amount, error) {
	var input billing.Usage
	input[billing.InputTokens] = r.inputEstimate()
	input[billing.Requests] = 1
	return r.model.RateCard.Cost(input)
}
