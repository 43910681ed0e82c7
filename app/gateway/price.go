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
	// What a token takes of a text at least, for the upper bound of the input, and usually, for estimates.
	bytesPerTokenLeast = 2
	bytesPerToken      = 4
	// Frames with fewer bytes than this on average bring one token each, as most upstreams do.
	bytesPerFrameMax = 12

	promptOverheadTokens = 64 // what a protocol may add to a prompt
	imageTokensMost      = 4096
	imageTokens          = 1024

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
	input     int64 // tokens
	output    int64 // tokens of each choice
	fixed     billing.Usage
	inMeter   billing.Meter // the dearest that an input token can be counted on
	outMeter  billing.Meter
	slice     int64 // output tokens of each choice that are reserved at first
	want, min app.Amount
	most      app.Amount // for all of the output
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

func (r *run) inputEstimate() int64 {
	return min(r.head.TextBytes/bytesPerToken+1+r.head.Images*imageTokens, r.reserve.input)
}

// outputCount counts the output by what was seen of it. Where frames are as short as tokens they are tokens.
func (r *run) outputCount() int64 {
	bytes, frames := r.tally.ContentBytes, r.tally.ContentFrames
	if frames > 0 && bytes <= frames*bytesPerFrameMax {
		return frames
	}
	return (bytes + bytesPerToken - 1) / bytesPerToken
}

// used is the output so far, by the upstream's reading where that is more and can be true.
func (r *run) used() int64 {
	n := r.outputCount()
	if r.tally.Reported && r.tally.Usage.Output > n && r.plausible(r.tally.Usage) {
		n = r.tally.Usage.Output
	}
	return n
}

// outputEstimate is the count as far as the hold pays for it.
func (r *run) outputEstimate() int64 { return min(r.outputCount(), r.paid) }

// plausible reports whether an upstream's count can be true of this call. Nobody has answered something out of
// nothing.
func (r *run) plausible(u llm.Usage) bool {
	if r.tally.ContentBytes > 0 && (u.Output == 0 || u.InputTotal() == 0) {
		return false
	}
	return u.Output <= r.outputMost()*boundSlackTenths/10+boundSlackTokens
}

// billed is what a call is charged with.
type billed struct {
	charged bool
	usage   llm.Usage
	counted bool       // here, whatever the upstream said
	cost    app.Amount // what it costs; the account pays no more than its hold
}

func (b billed) tokens() int64 { return b.usage.InputTotal() + b.usage.Output }

func (b billed) readings() billing.Usage {
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

// delivered is the usage up to here: by the upstream's own reading, when there is one that nothing came after and that
// can be true, else by what was seen.
func (r *run) delivered() llm.Usage {
	if r.tally.Reported && r.plausible(r.tally.Usage) {
		return r.tally.Usage
	}
	u := llm.Usage{Input: r.inputEstimate()}
	if said := r.tally.Usage; !r.tally.Reported && said.InputTotal() > 0 && said.InputTotal() <= r.reserve.input {
		u = llm.Usage{Input: said.Input, CacheRead: said.CacheRead, CacheWrite: said.CacheWrite} // as far as it goes
	}
	u.Output = r.outputEstimate()
	return u
}

// charge is what a row of the settlement table takes for the call.
func (r *run) charge(rule billing.Rule) (b billed) {
	switch rule.Charge {
	case billing.ChargeUsage, billing.ChargeReserve:
		b = billed{charged: true, usage: r.tally.Usage}
	case billing.ChargeDelivered:
		b = billed{charged: true, usage: r.delivered(), counted: true}
	default:
		return billed{counted: true}
	}
	var err error
	if b.cost, err = r.model.RateCard.Cost(b.readings()); err != nil {
		b.cost = r.hold.Amount // it is more than an amount can say
	}
	if most := r.payable(); most < r.hold.Amount {
		b.cost = min(b.cost, most)
	}
	return b
}
