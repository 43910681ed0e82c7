package gateway

import (
	"slices"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/meter"
	"umg/billing"
)

const (
	bytesPerTokenMost = 8   // A token has at most this many bytes, for the lower bound of the input.
	imageTokens       = 256 // A small image counts this many tokens in estimates.

	// The largest plausible count of the input has a token for each byte of the request, the prompts that the provider adds itself,
	// for tools above all, and all images at the highest resolution.
	hiddenTokensMost       = 16_384
	imageTokensBelievedMax = 49_152
	// A count below this part of the likely one is not plausible.
	likelyPerLeast = 64

	sliceTokens    = 2048 // A stream without a maximum reserves this many tokens of each choice at a time.
	usefulTokens   = 256  // A call is refused when its credit pays neither for this many tokens nor for all that it asked for.
	countMax       = 1 << 31
	outputStandard = 16_384 // A model without a maximum in the catalog has this maximum.
	// An answer is endless when it is longer than cutFactor times its maximum and cutSlackTokens more.
	cutSlackTokens = 256
	cutFactor      = 4
)

// estimate is what a call may use and cost at one model.
type estimate struct {
	input         int64 // Input is the upper bound of the input tokens.
	inputLikely   int64 // InputLikely is charged when no count is known, so it stays below the usual counts.
	inputBelieved int64 // InputBelieved is the largest plausible count of a provider.
	inputLeast    int64 // InputLeast is the smallest plausible count of a provider.
	output        int64 // Output is the most output tokens of each choice.
	choices       int64
	inputUsage    meter.Counts // InputUsage is the most of everything beside the output: the input, and the fees of tools.
	inMeter       meter.Meter  // InMeter is the most expensive meter of an input token.
	outMeter      meter.Meter  // OutMeter is the most expensive meter of an output token.
	// Card prices no possible call lower than the model's card does. It has no conditions.
	card      *billing.RateCard
	slice     int64 // Slice is the number of output tokens of each choice that is reserved first.
	want, min app.Amount
	most      app.Amount // Most is the amount for all of the output.
}

// newEstimate computes what a call that begins at a time may use and cost. The output is as long as the request and the model allow.
// It fails when the cost is higher than the largest amount.
func newEstimate(head *dialect.Head, m *catalog.Model, at time.Time) (e estimate, err error) {
	e.choices = head.Choices
	extras := extrasOf(head)
	e.boundInput(head, m)
	e.output = m.MaxOutputTokens
	if e.output <= 0 {
		e.output = outputStandard
	}
	if head.MaxTokens > 0 {
		least := int64(1) // Some upstreams raise a lower maximum to this.
		if slices.ContainsFunc(m.Routes, func(route catalog.Route) bool { return route.Style == llm.Responses }) {
			least = dialect.ResponseLeast
		}
		e.output = min(e.output, max(head.MaxTokens, least))
	}
	// The charge has the prices of the time at which the call began, so no later time matters.
	extras.terms.At = at
	e.card = m.RateCard.Highest(e.input, extras.terms, at)
	e.inputUsage = extras.fees
	e.inMeter = dearest(e.card, inputMeters(head, &extras)...)
	e.inputUsage[e.inMeter] = e.input
	e.inputUsage[meter.Requests] = 1
	e.outMeter = dearest(e.card, outputMeters(m)...)
	e.slice = e.output
	if head.Stream && head.MaxTokens == 0 {
		e.slice = min(e.output, sliceTokens)
	}
	if e.most, err = e.cost(e.output * e.choices); err != nil {
		return e, err
	}
	if e.want, err = e.cost(e.slice * e.choices); err != nil {
		return e, err
	}
	e.min, err = e.cost(min(e.output, usefulTokens) * e.choices)
	return e, err
}

// boundInput computes the bounds of the input.
func (e *estimate) boundInput(head *dialect.Head, m *catalog.Model) {
	e.inputBelieved = countMax
	if head.Opaque == 0 { // The size of all parts is known.
		e.inputBelieved = head.BodyBytes + hiddenTokensMost + head.Images*imageTokensBelievedMax
	}
	if limit := m.ContextTokens; limit > 0 { // Catalogs round the context of models, so a little more is plausible.
		e.inputBelieved = min(e.inputBelieved, limit*boundSlackTenths/10+boundSlackTokens)
	}
	// Tools that the provider runs make it read the prompt again.
	e.inputBelieved = min(head.Allowed().PromptMost(e.inputBelieved, m.ContextTokens)*max(1, e.choices), countMax)
	e.input = inputMost(head, m)
	if head.Documents > 0 { // Their length is unknown, but bounded by the context of the model.
		e.input = max(e.input, m.ContextTokens)
	}
	e.input = min(head.Allowed().PromptMost(e.input, m.ContextTokens), e.inputBelieved)
	e.inputLikely = min(head.TextTokens+head.MediaTokens+head.Images*imageTokens+1, e.input)
	e.inputLeast = min(head.TextTokens/likelyPerLeast, e.inputLikely)
}

// price estimates what the call uses and costs at a model.
func (f *funding) price(head *dialect.Head, m *catalog.Model) (err error) {
	f.card = &m.RateCard
	f.estimate, err = newEstimate(head, m, f.startedAt)
	return err
}

// inputMeters are the meters of which one may count each token of the input.
func inputMeters(head *dialect.Head, extras *requestedExtras) []meter.Meter {
	meters := []meter.Meter{meter.InputTokens, meter.CacheReadTokens, meter.CacheWriteTokens}
	if head.Images > 0 || head.Opaque > 0 {
		meters = append(meters, meter.InputImageTokens, meter.CacheReadImageTokens)
	}
	if head.Opaque > 0 {
		meters = append(meters, meter.InputAudioTokens, meter.CacheReadAudioTokens, meter.InputVideoTokens)
	}
	return append(meters, extras.inputs...)
}

// outputMeters are the meters of which one may count each token of the output.
func outputMeters(m *catalog.Model) []meter.Meter {
	meters := []meter.Meter{meter.OutputTokens, meter.ReasoningTokens}
	if slices.Contains(m.OutputModalities, "audio") {
		meters = append(meters, meter.OutputAudioTokens)
	}
	if slices.Contains(m.OutputModalities, "image") {
		meters = append(meters, meter.OutputImageTokens)
	}
	return meters
}

// dearest is the meter with the highest price of a token.
func dearest(card *billing.RateCard, meters ...meter.Meter) meter.Meter {
	best, most := meters[0], app.Amount(-1)
	for _, m := range meters {
		rate, ok := card.Rate(m)
		if !ok || rate.Per <= 0 {
			continue
		}
		if perMillion := rate.Amount * app.Amount(1_000_000/rate.Per); perMillion > most {
			best, most = m, perMillion
		}
	}
	return best
}

// leastInput is the lower bound of the input tokens, without media. A fallback model is skipped only when even this is more than its
// context. Otherwise its provider decides.
func leastInput(head *dialect.Head) int64 { return head.TextBytes / bytesPerTokenMost }

// cost is the highest price of the largest input with this output of all choices together.
func (e *estimate) cost(output int64) (app.Amount, error) {
	u := e.inputUsage
	u[e.outMeter] = min(output, countMax)
	return e.card.Cost(u, meter.Terms{})
}

// inputCost is the price of the likely input alone, by the card of the model.
func (e *estimate) inputCost(card *billing.RateCard, at time.Time) (app.Amount, error) {
	var input meter.Counts
	input[meter.InputTokens] = e.inputLikely
	input[meter.Requests] = 1
	return card.Cost(input, meter.Terms{At: at})
}

// outputMost is the maximum output of all choices together.
func (e *estimate) outputMost() int64 { return min(e.output*e.choices, countMax) }

// endless reports whether an answer is so long that the upstream cannot have respected its maximum.
func (e *estimate) endless(contentBytes int64) bool {
	return contentBytes/bytesPerToken > cutFactor*e.outputMost()+cutSlackTokens
}
