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
	// What a token takes of a text at least, for the upper bound of the input, and at most, for estimates of the output.
	bytesPerTokenLeast = 2
	bytesPerTokenMost  = 8 // of any text, for the lower bound of the input
	bytesPerToken      = 5
	// Frames with fewer bytes than this on average bring one token each, as most upstreams do. Frames with fewer than
	// one and a half bring less: their upstream sends single characters.
	halfBytesPerFrameMin = 3
	bytesPerFrameMax     = 12

	promptOverheadTokens = 64 // what a protocol may add to a prompt
	imageTokensMost      = 4096
	imageTokens          = 256 // of a small image, for estimates

	// What is believed of a provider's count of the input: a token for each byte of the request, the prompts that the provider
	// adds itself, for tools above all, and images at the dearest resolution there is.
	hiddenTokensMost       = 16_384
	imageTokensBelievedMax = 49_152

	sliceTokens    = 2048 // of each choice, that a stream without a maximum reserves at a time
	usefulTokens   = 256  // an answer of fewer is not worth a call that asked for more
	countMax       = 1 << 31
	outputStandard = 16_384 // for models that name no maximum
	cutSlackTokens = 256    // an answer beyond four times its bound and this is endless
	cutFactor      = 4

	// An output a little above its bound is a count that was made otherwise; more is no count.
	boundSlackTokens = 64
	boundSlackTenths = 11
)

// reserve is what a call may use and cost at most.
type reserve struct {
	input     int64 // Input is in tokens.
	output    int64 // Output is in tokens of each choice.
	fixed     billing.Usage
	inMeter   billing.Meter // InMeter is the most expensive meter that an input token can count on.
	outMeter  billing.Meter
	slice     int64 // Slice is the output tokens of each choice that are reserved at first.
	want, min app.Amount
	most      app.Amount // Most is the amount for all of the output.
}

// price works out the reserve of a call: input by an upper bound, output as far as the request and the model allow.
func (r *run) price(card billing.RateCard) (err error) {
	s := &r.reserve
	s.input = min(r.head.TextBytes/bytesPerTokenLeast+promptOverheadTokens+r.head.Images*imageTokensMost, countMax)
	s.output = r.model.MaxOutputTokens
	if s.output <= 0 {
		s.output = outputStandard
	}
	if r.head.MaxTokens > 0 {
		s.output = min(s.output, max(r.head.MaxTokens, leastOutput(r.model)))
	}
	if r.head.Documents > 0 { // of unknown length, but the model reads no more than it can
		s.input = max(s.input, min(r.model.ContextTokens, countMax))
	}
	s.inMeter = dearest(card, billing.InputTokens, billing.CacheReadTokens, billing.CacheWriteTokens)
	s.outMeter = dearest(card, billing.OutputTokens, billing.ReasoningTokens)
	s.fixed[s.inMeter] = s.input
	s.fixed[billing.Requests] = 1
	s.slice = s.output
	if r.head.Stream && r.head.MaxTokens == 0 {
		s.slice = min(s.output, sliceTokens)
	}
	if s.most, err = s.cost(card, s.output*r.head.Choices); err != nil {
		return err
	}
	if s.want, err = s.cost(card, s.slice*r.head.Choices); err != nil {
		return err
	}
	s.min, err = s.cost(card, min(s.output, usefulTokens)*r.head.Choices)
	return err
}

// leastOutput is what some upstream of the model may answer with at least, whatever bound it is given.
func leastOutput(m *catalog.Model) int64 {
	if slices.ContainsFunc(m.Routes, func(route catalog.Route) bool { return route.Style == llm.Responses }) {
		return dialect.ResponseLeast
	}
	return 1
}

func (s *reserve) cost(card billing.RateCard, output int64) (app.Amount, error) {
	u := s.fixed
	u[s.outMeter] = min(output, countMax)
	return card.Cost(u)
}

// dearest is the meter whose million costs most.
func dearest(card billing.RateCard, meters ...billing.Meter) billing.Meter {
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

func (s *reserve) request(c Call) billing.HoldRequest {
	return billing.HoldRequest{
		ID: c.ID, AccountID: c.Principal.AccountID, BudgetID: c.Principal.BudgetID, Want: s.want, Min: s.min,
	}
}

// bound lowers the output to what the hold affords, when it is less than what was wanted, and notes how much of the
// output is paid for.
func (r *run) bound() {
	if r.hold.Amount >= r.reserve.want {
		r.paid = min(r.reserve.slice*r.head.Choices, countMax)
	} else {
		affordable := r.model.RateCard.Affordable(r.hold.Amount, r.reserve.fixed, r.reserve.outMeter)
		r.reserve.output = max(1, affordable/r.head.Choices)
		r.lowered = true
		r.paid = r.outputMost()
	}
	if r.paid < r.outputMost() {
		r.slice = r.paid
	}
}

// sentBound is the bound on output that goes upstream, zero when the request's own is right.
func (r *run) sentBound() int64 {
	unsaid := r.head.MaxTokens == 0
	required := r.way.Upstream() == llm.Messages // the style has no request without a bound
	if v := r.recovery; v != nil && v.prefilled && (r.lowered || !unsaid || required) {
		return max(1, r.reserve.output-r.outputCount()) // the beginning counts, too
	}
	if r.lowered || r.head.MaxTokens > r.reserve.output || unsaid && (required || r.model.MaxOutputTokens <= 0) {
		return r.reserve.output
	}
	return 0
}

// outputMost is the output all choices may have together.
func (r *run) outputMost() int64 { return min(r.reserve.output*r.head.Choices, countMax) }

// endless reports whether an answer has become longer than any upstream makes one that respects the bound.
func (r *run) endless(contentBytes int64) bool {
	return contentBytes/bytesPerToken > cutFactor*r.outputMost()+cutSlackTokens
}

// inputEstimate is meant to stay below what a provider counts, since it is charged where no provider's count is known.
func (r *run) inputEstimate() int64 {
	return min(r.head.TextTokens+r.head.MediaTokens+r.head.Images*imageTokens+1, r.reserve.input)
}

// inputLeast is the fewest tokens that the input can have, media aside. A model is only passed over for its length where even
// these are too many: else its provider decides.
func (r *run) inputLeast() int64 { return r.head.TextBytes / bytesPerTokenMost }

// inputBelieved is the most input that a provider's count is believed for: what was sent can come to no more, and the model
// has no room for more.
func (r *run) inputBelieved() int64 {
	most := int64(countMax)
	if r.head.Opaque == 0 {
		most = r.head.BodyBytes + hiddenTokensMost + r.head.Images*imageTokensBelievedMax
	}
	if room := r.model.ContextTokens; room > 0 {
		most = min(most, room*boundSlackTenths/10+boundSlackTokens) // catalogs round the room that models have
	}
	return min(most*max(1, r.head.Choices), countMax)
}

// outputCount counts the output by what was seen of it. Where frames are as short as tokens they are tokens.
func (r *run) outputCount() int64 {
	bytes, frames := r.tally.ContentBytes, r.tally.ContentFrames
	if frames > 0 && 2*bytes >= frames*halfBytesPerFrameMin && bytes <= frames*bytesPerFrameMax {
		return frames
	}
	return (bytes + bytesPerToken - 1) / bytesPerToken
}

// used is the output so far, by the upstream's reading where that is more and can be true.
func (r *run) used() int64 {
	n := r.outputCount()
	if r.tally.Reported && r.tally.Usage.Output > n && r.outputPlausible(r.tally.Usage) {
		n = r.tally.Usage.Output
	}
	return n
}

// outputEstimate is the count as far as the hold pays for it.
func (r *run) outputEstimate() int64 { return min(r.outputCount(), r.paid) }

// inputPlausible reports whether an upstream's count of the input can be true of this call. A count of zero is never
// plausible, since every answer has an input.
func (r *run) inputPlausible(u llm.Usage) bool {
	total := u.InputTotal()
	return u.Doubts&llm.InputUnknown == 0 && total <= r.inputBelieved() && (total > 0 || r.tally.ContentBytes == 0)
}

// outputPlausible reports the same of the output.
func (r *run) outputPlausible(u llm.Usage) bool {
	return u.Doubts&llm.OutputUnknown == 0 && u.Output <= r.outputMost()*boundSlackTenths/10+boundSlackTokens &&
		(u.Output > 0 || r.tally.ContentBytes == 0)
}

// believed is what the upstream has reported, with an estimate in place of what cannot be true of this call. It is sound when
// there was no need for one, and the report did not contradict itself.
func (r *run) believed() (u llm.Usage, sound bool) {
	u = r.tally.Usage
	sound = u.Doubts == 0
	if !r.inputPlausible(u) {
		u.Input, u.CacheRead, u.CacheWrite, sound = r.inputEstimate(), 0, 0, false
	}
	if !r.outputPlausible(u) {
		u.Output, u.Reasoning, sound = r.outputEstimate(), 0, false
	}
	u.Doubts = 0
	return u, sound
}

// implausible reports whether the upstream has reported a usage that cannot be true as it stands.
func (r *run) implausible() bool {
	_, sound := r.believed()
	return r.tally.Reported && !sound
}

// charge is what a call is charged with.
type charge struct {
	charged bool
	usage   llm.Usage
	counted bool       // The gateway counted the usage itself, whatever the upstream reported.
	cost    app.Amount // Cost is the computed price; the account pays no more than its hold.
}

func (b charge) tokens() int64 { return b.usage.InputTotal() + b.usage.Output }

func (b charge) readings() billing.Usage {
	if !b.charged {
		return billing.Usage{}
	}
	return readings(b.usage)
}

// readings are a usage on the ledger's meters, which are disjoint.
func readings(used llm.Usage) (u billing.Usage) {
	u[billing.InputTokens] = used.Input
	u[billing.CacheReadTokens] = used.CacheRead
	u[billing.CacheWriteTokens] = used.CacheWrite
	u[billing.OutputTokens] = used.Output - used.Reasoning
	u[billing.ReasoningTokens] = used.Reasoning
	u[billing.Requests] = 1
	return u
}

// delivered is the usage up to here: by the upstream's own reading, as far as there is one that nothing came after and that
// can be true, else by what was seen. An input that the upstream has reported before the output counts, too.
func (r *run) delivered() llm.Usage {
	u, _ := r.believed()
	if r.tally.Reported {
		return u
	}
	if r.tally.Usage.InputTotal() == 0 { // believed has replaced one that cannot be true
		u.Input, u.CacheRead, u.CacheWrite = r.inputEstimate(), 0, 0
	}
	u.Output, u.Reasoning = r.outputEstimate(), 0
	return u
}

// charge is what a row of the settlement table takes for the call.
func (r *run) charge(rule billing.Rule) (b charge) {
	switch rule.Charge {
	case billing.ChargeUsage, billing.ChargeReserve:
		b = charge{charged: true, usage: r.tally.Usage}
	case billing.ChargeDelivered, billing.ChargeReceived:
		b = charge{charged: true, usage: r.delivered(), counted: true}
	default:
		return charge{counted: true}
	}
	var err error
	if b.cost, err = r.model.RateCard.Cost(b.readings()); err != nil {
		b.cost = r.hold.Amount // The cost exceeds the largest amount.
	}
	if most := r.payable(); most < r.hold.Amount {
		b.cost = min(b.cost, most)
	}
	return b
}
