package gateway

import (
	"slices"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/billing"
)

const (
	// A token takes this many bytes of a text at least, for the upper bound of the input.
	bytesPerTokenLeast = 2
	bytesPerTokenMost  = 8 // A token takes no more of any text, for the lower bound of the input.

	promptOverheadTokens = 64 // A protocol may add as many to a prompt.
	imageTokensMost      = 4096
	imageTokens          = 256 // These are the tokens of a small image, for estimates.

	// What is believed of a provider's count of the input: a token for each byte of the request, the prompts that the provider
	// adds itself, for tools above all, and images at the dearest resolution there is.
	hiddenTokensMost       = 16_384
	imageTokensBelievedMax = 49_152

	sliceTokens    = 2048 // A stream without a maximum reserves so many tokens of each choice at a time.
	usefulTokens   = 256  // An answer of fewer is not worth a call that asked for more.
	countMax       = 1 << 31
	outputStandard = 16_384 // This is the bound for models that name no maximum.
	cutSlackTokens = 256    // An answer beyond four times its bound and this is endless.
	cutFactor      = 4
)

// estimate is what a call may use and cost at one model.
type estimate struct {
	input         int64 // Input is the most input tokens.
	inputLikely   int64 // InputLikely stays below what a provider counts, since it is charged where no count is known.
	inputBelieved int64 // InputBelieved is the most input tokens that a provider's count is believed for.
	output        int64 // Output is the most output tokens of each choice.
	choices       int64
	inputUsage    billing.Usage
	inMeter       billing.Meter // InMeter is the most expensive meter that an input token can count on.
	outMeter      billing.Meter
	slice         int64 // Slice is the output tokens of each choice that are reserved at first.
	want, min     app.Amount
	most          app.Amount // Most is the amount for all of the output.
}

// newEstimate works out what a call may use and cost: input by an upper bound, output as far as the request and the model
// allow. It fails when the cost is more than any amount.
func newEstimate(head *dialect.Head, m *catalog.Model) (e estimate, err error) {
	e.choices = head.Choices
	e.input = min(head.TextBytes/bytesPerTokenLeast+promptOverheadTokens+head.Images*imageTokensMost, countMax)
	if head.Documents > 0 { // Their length is unknown, but the model reads no more than it can.
		e.input = max(e.input, min(m.ContextTokens, countMax))
	}
	e.inputLikely = min(head.TextTokens+head.MediaTokens+head.Images*imageTokens+1, e.input)
	e.inputBelieved = countMax
	if head.Opaque == 0 { // What was sent can be no more tokens.
		e.inputBelieved = head.BodyBytes + hiddenTokensMost + head.Images*imageTokensBelievedMax
	}
	if limit := m.ContextTokens; limit > 0 { // The model reads no more, but catalogs round the context of models.
		e.inputBelieved = min(e.inputBelieved, limit*boundSlackTenths/10+boundSlackTokens)
	}
	e.inputBelieved = min(e.inputBelieved*max(1, e.choices), countMax)
	e.output = m.MaxOutputTokens
	if e.output <= 0 {
		e.output = outputStandard
	}
	if head.MaxTokens > 0 {
		least := int64(1) // Some upstream may answer with at least so many tokens, whatever bound it is given.
		if slices.ContainsFunc(m.Routes, func(route catalog.Route) bool { return route.Style == llm.Responses }) {
			least = dialect.ResponseLeast
		}
		e.output = min(e.output, max(head.MaxTokens, least))
	}
	card := &m.RateCard
	e.inMeter = dearest(card, billing.InputTokens, billing.CacheReadTokens, billing.CacheWriteTokens)
	e.outMeter = dearest(card, billing.OutputTokens, billing.ReasoningTokens)
	e.inputUsage[e.inMeter] = e.input
	e.inputUsage[billing.Requests] = 1
	e.slice = e.output
	if head.Stream && head.MaxTokens == 0 {
		e.slice = min(e.output, sliceTokens)
	}
	if e.most, err = e.cost(card, e.output*e.choices); err != nil {
		return e, err
	}
	if e.want, err = e.cost(card, e.slice*e.choices); err != nil {
		return e, err
	}
	e.min, err = e.cost(card, min(e.output, usefulTokens)*e.choices)
	return e, err
}

// dearest is the meter whose million costs most.
func dearest(card *billing.RateCard, meters ...billing.Meter) billing.Meter {
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

// leastInput is the fewest tokens that the input can have, media aside. A model is only passed over for its length where even
// these are too many: else its provider decides.
func leastInput(head *dialect.Head) int64 { return head.TextBytes / bytesPerTokenMost }

// cost is the price of the largest input and so many output tokens of all choices.
func (e *estimate) cost(card *billing.RateCard, output int64) (app.Amount, error) {
	u := e.inputUsage
	u[e.outMeter] = min(output, countMax)
	return card.Cost(u)
}

// inputCost is what the likely input alone costs.
func (e *estimate) inputCost(card *billing.RateCard) (app.Amount, error) {
	var input billing.Usage
	input[billing.InputTokens] = e.inputLikely
	input[billing.Requests] = 1
	return card.Cost(input)
}

// outputMost is the output all choices may have together.
func (e *estimate) outputMost() int64 { return min(e.output*e.choices, countMax) }

// endless reports whether an answer has become longer than any upstream makes one that respects the bound.
func (e *estimate) endless(contentBytes int64) bool {
	return contentBytes/bytesPerToken > cutFactor*e.outputMost()+cutSlackTokens
}
