package gateway

import (
	"context"
	"time"

	"umg/app"
	"umg/app/dialect"
	"umg/app/meter"
	"umg/app/ratelimit"
	"umg/billing"
)

// quotesPerMinuteMax bounds the quotes of an account and model, apart from the limits of its calls.
const quotesPerMinuteMax = 600

// Quote is the estimated cost of a call, by the same rules as for the call itself.
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
	Fees          []QuoteFee // Fees are what tools that the provider runs may add; Most includes them.
	ToolInputMost int64      // ToolInputMost is how many tokens of InputMost such tools may add.
}

// QuoteFee is a fee that tools of the provider may cause.
type QuoteFee struct {
	Meter meter.Meter
	Price billing.Rate // Price is that of one unit of the meter, for as many as Per.
	Count int64        // Count is the most units.
	Most  app.Amount
}

// quotedFees lists the fees that the tools of a request may cause.
func quotedFees(head *dialect.Head, card *billing.RateCard, at time.Time) (fees []QuoteFee) {
	if !head.Allowed().RunsTools() {
		return nil
	}
	terms := head.Allowed().Terms
	terms.At = at
	for _, line := range card.Lines(head.Allowed().FeesMost, terms) {
		if line.Meter.Info().Side == meter.SideFee {
			fees = append(fees, QuoteFee{Meter: line.Meter, Price: line.Rate, Count: line.Quantity, Most: line.Amount})
		}
	}
	return fees
}

// Quote takes the steps of Generate before the hold: it refuses an invalid call with the same error, and computes the price of a valid
// one. It stores nothing, counts against no limit of calls and sends nothing to a provider.
func (g *Gateway) Quote(ctx context.Context, call Call) (Quote, error) {
	p := newPipeline(g, call)
	defer p.builder.memory.release()
	if g.o.Balance == nil {
		return Quote{}, app.Errorf(app.Unavailable, "service_unavailable", "Prices are not quoted here.")
	}
	if err := p.admit(); err != nil {
		return Quote{}, err
	}
	slot, err := g.o.Limits.Take(ratelimit.Request{
		AccountID: call.Principal.AccountID, Model: "quotes of " + p.model.ID,
		RequestsPerMinute: quotesPerMinuteMax * int64(max(call.LimitFactor, 1)), Concurrency: quotesPerMinuteMax,
	})
	if err != nil {
		return Quote{}, err
	}
	defer slot.Release(0)
	e, f := &p.funding.estimate, &p.fallbacks
	least, err := e.inputCost(p.funding.card, p.started)
	if err != nil {
		return Quote{}, err
	}
	credit, err := g.o.Balance(ctx, call.Principal.AccountID)
	if err != nil {
		return Quote{}, err
	}
	if f.any {
		least = min(least, f.least)
	}
	available := credit.Spendable()
	return Quote{
		Model: p.model.ID, RateCardID: p.model.RateCard.ID, InputEstimate: e.inputLikely, InputMost: max(e.input, f.input),
		OutputMost: max(e.output, f.output), Choices: e.choices, Least: least, Most: max(e.most, f.most), Reserve: max(e.want, f.want),
		LeastReserve: e.min, Available: available, Funded: available >= e.min || call.Principal.Uncharged, Dropped: p.plan.picked.dropped(),
		Fees: quotedFees(&p.head, p.funding.card, p.started), ToolInputMost: p.head.Allowed().FeesMost[meter.InputTokens],
	}, nil
}
