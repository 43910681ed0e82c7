package gateway

import (
	"umg/app"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/meter"
	"umg/billing"
)

const (
	bytesPerToken = 5 // An output token has this many bytes in estimates.
	// When the frames of a stream have 1.5 to 12 bytes on average, each of them is counted as one token, since most upstreams send
	// their tokens singly. Shorter frames have single characters, and longer ones several tokens.
	halfBytesPerFrameMin = 3
	bytesPerFrameMax     = 12

	// A reported usage may exceed its bound by a tenth and boundSlackTokens, since providers count differently. More is not plausible.
	boundSlackTokens = 64
	boundSlackTenths = 11
)

// countOutput estimates the output tokens from the received bytes and frames.
func countOutput(s *dialect.StreamStats) int64 {
	if countsFrames(s) {
		return s.ContentFrames
	}
	return (s.ContentBytes + bytesPerToken - 1) / bytesPerToken
}

// countsFrames reports whether each frame counts as a token.
func countsFrames(s *dialect.StreamStats) bool {
	bytes, frames := s.ContentBytes, s.ContentFrames
	return frames > 0 && 2*bytes >= frames*halfBytesPerFrameMin && bytes <= frames*bytesPerFrameMax
}

// outputFunded is the gateway's count of the output, but not more than the hold pays for.
func (f *funding) outputFunded(s *dialect.StreamStats) int64 {
	return min(countOutput(s), f.fundedTokens)
}

// inputPlausible reports whether an upstream's count of the input is possible for this call. Zero is not plausible for an answer with
// content, since every answer has an input.
func (f *funding) inputPlausible(s *dialect.StreamStats, u llm.Usage) bool {
	total := u.InputTotal()
	return u.Doubts&llm.InputUnknown == 0 && total <= f.estimate.inputBelieved && (total > f.estimate.inputLeast || s.ContentBytes == 0)
}

// outputPlausible reports whether an upstream's count of the output is possible for this call.
func (f *funding) outputPlausible(s *dialect.StreamStats, u llm.Usage) bool {
	return u.Doubts&llm.OutputUnknown == 0 && u.Output <= f.outputBelieved() && u.Output >= outputLeast(s)
}

// outputBelieved is the largest plausible count of the output.
func (f *funding) outputBelieved() int64 {
	return f.estimate.outputMost()*boundSlackTenths/10 + boundSlackTokens
}

// outputLeast is the smallest plausible count of the output. It is zero only for an answer without content.
func outputLeast(s *dialect.StreamStats) int64 {
	return (s.ContentBytes + bytesPerToken*likelyPerLeast - 1) / (bytesPerToken * likelyPerLeast)
}

// plausibleUsage is the usage that the upstream has reported, with each implausible count replaced by what is known about it. It is
// sound when all counts are plausible and the report does not contradict itself.
func (f *funding) plausibleUsage(s *dialect.StreamStats) (u llm.Usage, sound bool) {
	u = s.Usage
	sound = u.Doubts == 0
	if !f.inputPlausible(s, u) {
		f.boundInput(&u)
		sound = false
	}
	if !f.outputPlausible(s, u) {
		u.Output, u.Reasoning, sound = max(f.outputFunded(s), outputLeast(s)), 0, false
	}
	for _, m := range feeMeters {
		if most := f.feeBelieved(m); u.Parts[m] > most {
			u.Parts[m], sound = most, false
		}
	}
	u.Doubts = 0
	return u, sound
}

// boundInput replaces counts of the input that cannot be true by the likely input. Of several counts it keeps those that are possible,
// and cuts cached input first.
func (f *funding) boundInput(u *llm.Usage) {
	likely := f.estimate.inputLikely
	if u.Doubts&llm.InputUnknown != 0 || u.InputTotal() <= likely || u.Input >= likely {
		u.Input, u.CacheRead, u.CacheWrite = likely, 0, 0
		return
	}
	u.CacheRead = min(u.CacheRead, likely-u.Input)
	u.CacheWrite = 0
	u.Input = likely - u.CacheRead
}

// feeMeters are the meters of what a provider takes a fee for by the piece.
var feeMeters = func() (meters []meter.Meter) {
	for m := range meter.Count {
		if info := m.Info(); info.Side == meter.SideFee && info.Unit == meter.UnitEach {
			meters = append(meters, m)
		}
	}
	return meters
}()

// feesUnasked is how many searches or calls of a provider's own tools are plausible in one call that did not ask for any, as some
// providers search unasked.
const feesUnasked = 64

// feeBelieved is the largest plausible count of what a provider takes a fee for.
func (f *funding) feeBelieved(m meter.Meter) int64 { return max(feesUnasked, f.estimate.inputUsage[m]) }

// deliveredUsage is the usage of the answer up to now: the plausible part of the upstream's report if that is the final one, or else
// the gateway's own count of the output. The input that an upstream has reported at the start of the answer is used in any case.
func (f *funding) deliveredUsage(s *dialect.StreamStats) llm.Usage {
	u, _ := f.plausibleUsage(s)
	if s.Reported {
		return u
	}
	if s.Usage.InputTotal() == 0 { // Without a report there is only the estimate.
		u.Input, u.CacheRead, u.CacheWrite = f.estimate.inputLikely, 0, 0
	}
	u.Output, u.Reasoning = f.outputFunded(s), 0
	return u
}

// charge is what a call is charged.
type charge struct {
	charged bool
	usage   llm.Usage
	counted bool       // The usage is the gateway's own count.
	cost    app.Amount // Cost is the computed price; the account pays no more than its hold.
	// stated means that the price is the cost that the provider has stated.
	stated bool
}

// charge computes the charge of the call by a row of the settlement table.
func (f *funding) charge(rule billing.Rule, s *dialect.StreamStats) (c charge) {
	switch rule.Charge {
	case billing.ChargeUsage, billing.ChargeReserve:
		c = charge{charged: true}
		c.usage, _ = f.plausibleUsage(s)
	case billing.ChargeDelivered, billing.ChargeReceived:
		c = charge{charged: true, usage: f.deliveredUsage(s), counted: true}
	default:
		return charge{counted: true}
	}
	c.usage.Terms.At = f.startedAt
	var err error
	if c.cost, c.stated, err = f.costOf(&c.usage, s.Reported && !c.counted); err != nil {
		c.cost = f.hold.Amount // The cost exceeds the largest amount.
	}
	return c
}

// costOf is the price of a usage: that of the card, or the cost that the provider has stated for a whole answer when that is the price.
// A stated cost is believed up to the highest price of the largest plausible counts. A cost of zero is not a price, since some providers
// state it for keys with a contract of their own.
func (f *funding) costOf(u *llm.Usage, whole bool) (cost app.Amount, stated bool, err error) {
	if f.costIsPrice && whole && u.ProviderCost != nil && *u.ProviderCost > 0 {
		if most, tooMuch := f.estimate.costBelieved(f.outputBelieved()); tooMuch == nil && *u.ProviderCost <= most {
			return *u.ProviderCost, true, nil
		}
	}
	cost, err = f.card.Cost(u.Counts(), u.Terms)
	return cost, false, err
}

// costBelieved is the highest price of the largest plausible counts.
func (e *estimate) costBelieved(output int64) (app.Amount, error) {
	u := e.inputUsage
	u[e.inMeter], u[e.outMeter] = e.inputBelieved, min(output, countMax)
	return e.card.Cost(u, meter.Terms{})
}

// meters returns the charged usage on the meters of the ledger.
func (c charge) meters() meter.Counts {
	if !c.charged {
		return meter.Counts{}
	}
	return c.usage.Counts()
}

// charge computes the charge of the call by a row of the settlement table.
func (p *pipeline) charge(rule billing.Rule, stats *dialect.StreamStats) charge {
	p.funding.costIsPrice = p.attempt != nil && p.attempt.route.Provider.CostIsPrice
	return p.funding.charge(rule, stats)
}
