package gateway

import (
	"umg/app"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/meter"
	"umg/billing"
)

const (
	bytesPerToken = 5 // The bytes of an output token, for estimates.
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
	bytes, frames := s.ContentBytes, s.ContentFrames
	if frames > 0 && 2*bytes >= frames*halfBytesPerFrameMin && bytes <= frames*bytesPerFrameMax {
		return frames
	}
	return (bytes + bytesPerToken - 1) / bytesPerToken
}

// outputUsed is the output so far: the larger of the gateway's own count and a plausible count of the upstream.
func (f *funding) outputUsed(s *dialect.StreamStats) int64 {
	n := countOutput(s)
	if s.Reported && s.Usage.Output > n && f.outputPlausible(s, s.Usage) {
		n = s.Usage.Output
	}
	return n
}

// outputFunded is the gateway's count of the output, but not more than the hold pays for.
func (f *funding) outputFunded(s *dialect.StreamStats) int64 {
	return min(countOutput(s), f.fundedTokens)
}

// inputPlausible reports whether an upstream's count of the input is possible for this call. Zero is not plausible for an answer with
// content, since every answer has an input.
func (f *funding) inputPlausible(s *dialect.StreamStats, u llm.Usage) bool {
	total := u.InputTotal()
	return u.Doubts&llm.InputUnknown == 0 && total <= f.estimate.inputBelieved && (total > 0 || s.ContentBytes == 0)
}

// outputPlausible reports whether an upstream's count of the output is possible for this call.
func (f *funding) outputPlausible(s *dialect.StreamStats, u llm.Usage) bool {
	return u.Doubts&llm.OutputUnknown == 0 && u.Output <= f.estimate.outputMost()*boundSlackTenths/10+boundSlackTokens &&
		(u.Output > 0 || s.ContentBytes == 0)
}

// plausibleUsage is the usage that the upstream has reported, with estimates in place of implausible counts. It is sound when all
// counts are plausible and the report does not contradict itself.
func (f *funding) plausibleUsage(s *dialect.StreamStats) (u llm.Usage, sound bool) {
	u = s.Usage
	sound = u.Doubts == 0
	if !f.inputPlausible(s, u) {
		u.Input, u.CacheRead, u.CacheWrite, sound = f.estimate.inputLikely, 0, 0, false
	}
	if !f.outputPlausible(s, u) {
		u.Output, u.Reasoning, sound = f.outputFunded(s), 0, false
	}
	u.Doubts = 0
	return u, sound
}

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
}

// charge computes the charge of the call by a row of the settlement table.
func (f *funding) charge(rule billing.Rule, s *dialect.StreamStats) (c charge) {
	switch rule.Charge {
	case billing.ChargeUsage, billing.ChargeReserve:
		c = charge{charged: true, usage: s.Usage}
	case billing.ChargeDelivered, billing.ChargeReceived:
		c = charge{charged: true, usage: f.deliveredUsage(s), counted: true}
	default:
		return charge{counted: true}
	}
	var err error
	if c.cost, err = f.card.Cost(c.meters(), c.usage.Terms); err != nil {
		c.cost = f.hold.Amount // The cost exceeds the largest amount.
	}
	if most := f.payable(); most < f.hold.Amount {
		c.cost = min(c.cost, most)
	}
	return c
}

// payable is the most that the account can be charged: the hold, but without the part that was held for more expensive fallback
// models.
func (f *funding) payable() app.Amount {
	if f.coversFallbacks {
		return min(f.hold.Amount, f.estimate.most)
	}
	return f.hold.Amount
}

// meters returns the charged usage on the meters of the ledger.
func (c charge) meters() meter.Counts {
	if !c.charged {
		return meter.Counts{}
	}
	return c.usage.Counts()
}
