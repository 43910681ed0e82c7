package gateway

import (
	"umg/app"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/billing"
)

const (
	bytesPerToken = 5 // A token of the output takes so many bytes, for estimates.
	// Frames with fewer bytes than this on average bring one token each, as most upstreams do. Frames with fewer than
	// one and a half bring less: their upstream sends single characters.
	halfBytesPerFrameMin = 3
	bytesPerFrameMax     = 12

	// An output a little above its bound is a count that was made otherwise; more is no count.
	boundSlackTokens = 64
	boundSlackTenths = 11
)

// countOutput counts the output by what was seen of it. Where frames are as short as tokens they are tokens.
func countOutput(s *dialect.StreamStats) int64 {
	bytes, frames := s.ContentBytes, s.ContentFrames
	if frames > 0 && 2*bytes >= frames*halfBytesPerFrameMin && bytes <= frames*bytesPerFrameMax {
		return frames
	}
	return (bytes + bytesPerToken - 1) / bytesPerToken
}

// outputUsed is the output so far, by the upstream's reading where that is more and can be true.
func (f *funding) outputUsed(s *dialect.StreamStats) int64 {
	n := countOutput(s)
	if s.Reported && s.Usage.Output > n && f.outputPlausible(s, s.Usage) {
		n = s.Usage.Output
	}
	return n
}

// outputFunded is the counted output as far as the hold pays for it.
func (f *funding) outputFunded(s *dialect.StreamStats) int64 {
	return min(countOutput(s), f.fundedTokens)
}

// inputPlausible reports whether an upstream's count of the input can be true of this call. A count of zero is never
// plausible, since every answer has an input.
func (f *funding) inputPlausible(s *dialect.StreamStats, u llm.Usage) bool {
	total := u.InputTotal()
	return u.Doubts&llm.InputUnknown == 0 && total <= f.estimate.inputBelieved && (total > 0 || s.ContentBytes == 0)
}

// outputPlausible reports the same of the output.
func (f *funding) outputPlausible(s *dialect.StreamStats, u llm.Usage) bool {
	return u.Doubts&llm.OutputUnknown == 0 && u.Output <= f.estimate.outputMost()*boundSlackTenths/10+boundSlackTokens &&
		(u.Output > 0 || s.ContentBytes == 0)
}

// plausibleUsage is what the upstream has reported, with an estimate in place of what cannot be true of this call. It is sound when
// there was no need for one, and the report did not contradict itself.
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

// implausible reports whether the upstream has reported a usage that cannot be true as it stands.
func (f *funding) implausible(s *dialect.StreamStats) bool {
	_, sound := f.plausibleUsage(s)
	return s.Reported && !sound
}

// deliveredUsage is the usage up to here: by the upstream's own reading, as far as there is one that nothing came after and that
// can be true, else by what was seen. An input that the upstream has reported before the output counts, too.
func (f *funding) deliveredUsage(s *dialect.StreamStats) llm.Usage {
	u, _ := f.plausibleUsage(s)
	if s.Reported {
		return u
	}
	if s.Usage.InputTotal() == 0 { // The method believed has replaced one that cannot be true.
		u.Input, u.CacheRead, u.CacheWrite = f.estimate.inputLikely, 0, 0
	}
	u.Output, u.Reasoning = f.outputFunded(s), 0
	return u
}

// charge is what a call is charged with.
type charge struct {
	charged bool
	usage   llm.Usage
	counted bool       // The gateway counted the usage itself, whatever the upstream reported.
	cost    app.Amount // Cost is the computed price; the account pays no more than its hold.
}

// charge is what a row of the settlement table takes for the call.
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
	if c.cost, err = f.card.Cost(c.meters()); err != nil {
		c.cost = f.hold.Amount // The cost exceeds the largest amount.
	}
	if most := f.payable(); most < f.hold.Amount {
		c.cost = min(c.cost, most)
	}
	return c
}

// payable is what the account can be charged for the call: what is held, but not what is held for dearer models than the
// one that answers.
func (f *funding) payable() app.Amount {
	if f.coversFallbacks {
		return min(f.hold.Amount, f.estimate.most)
	}
	return f.hold.Amount
}

// meters are the charged usage on the ledger's meters.
func (c charge) meters() billing.Usage {
	if !c.charged {
		return billing.Usage{}
	}
	return usageMeters(c.usage)
}

// usageMeters puts a usage on the ledger's meters, which are disjoint.
func usageMeters(used llm.Usage) (u billing.Usage) {
	u[billing.InputTokens] = used.Input
	u[billing.CacheReadTokens] = used.CacheRead
	u[billing.CacheWriteTokens] = used.CacheWrite
	u[billing.OutputTokens] = used.Output - used.Reasoning
	u[billing.ReasoningTokens] = used.Reasoning
	u[billing.Requests] = 1
	return u
}
