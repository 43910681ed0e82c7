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

	usefulTokens   = 256 // an answer of fewer is not worth a call that asked for more
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
	want, min app.Amount
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
	if s.want, err = s.cost(card, s.output*r.head.Choices); err != nil {
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
	return billing.HoldRequest{ID: c.ID, AccountID: c.Principal.AccountID, Want: s.want, Min: s.min}
}

// bound lowers the output to what the hold affords, when it is less than what was wanted.
func (r *run) bound() {
	if r.hold.Amount < r.reserve.want {
		affordable := r.model.RateCard.Affordable(r.hold.Amount, r.reserve.fixed, r.reserve.outMeter)
		r.reserve.output = max(1, affordable/r.head.Choices)
		r.lowered = true
	}
}

// sentBound is the bound on output that goes upstream, zero when the request's own is right.
func (r *run) sentBound() int64 {
	unsaid := r.head.MaxTokens == 0
	required := r.way.Upstream() == llm.Messages // the style has no request without a bound
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

// outputEstimate counts the output by what was seen of it. Where frames are as short as tokens they are tokens.
func (r *run) outputEstimate() int64 {
	bytes, frames := r.tally.ContentBytes, r.tally.ContentFrames
	tokens := (bytes + bytesPerToken - 1) / bytesPerToken
	if frames > 0 && bytes <= frames*bytesPerFrameMax {
		tokens = frames
	}
	return min(tokens, r.outputMost())
}

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
	charged   bool
	usage     llm.Usage
	estimated bool
	cost      app.Amount // what it costs; the account pays no more than its hold
}

func (b billed) tokens() int64 { return b.usage.InputTotal() + b.usage.Output }

// readings are the usage on the ledger's meters, which are disjoint.
func (b billed) readings() billing.Usage {
	var u billing.Usage
	if !b.charged {
		return u
	}
	u[billing.InputTokens] = b.usage.Input
	u[billing.CacheReadTokens] = b.usage.CacheRead
	u[billing.CacheWriteTokens] = b.usage.CacheWrite
	u[billing.OutputTokens] = b.usage.Output - b.usage.Reasoning
	u[billing.ReasoningTokens] = b.usage.Reasoning
	u[billing.Requests] = 1
	return u
}

// charge counts the answer: by the upstream's own reading when the answer is whole and the reading can be true, else
// by what was seen of it.
func (r *run) charge(whole bool) error {
	b := &r.bill
	b.charged = true
	if b.usage = r.tally.Usage; !r.tally.Reported || !r.plausible(b.usage) {
		b.usage = llm.Usage{Input: r.inputEstimate(), Output: r.outputEstimate()}
		b.estimated = true
	}
	b.estimated = b.estimated || !whole
	var err error
	b.cost, err = r.model.RateCard.Cost(b.readings())
	return err
}
