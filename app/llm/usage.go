package llm

import (
	"umg/app"
	"umg/app/meter"
)

// Usage is what one text call used, in tokens. Input, CacheRead and CacheWrite are disjoint: each input token is in
// exactly one of them. Reasoning is a part of Output. Styles differ in both, so each reader converts its counts to this form.
type Usage struct {
	Input      int64
	CacheRead  int64
	CacheWrite int64
	Output     int64
	Reasoning  int64

	// Parts are the counts of meters of their own: kinds of the tokens above, such as sound in Input, and fees, such as searches. Counts
	// of kinds are included in the totals above.
	Parts meter.Counts
	// Terms are those on which the provider served the call, without the time.
	Terms meter.Terms
	// ProviderCost is what the provider says it takes for the call, rounded up; nil when it does not say.
	ProviderCost *app.Amount
	// Unread means that the provider reported a positive count that no reader knows.
	Unread bool

	// Doubts are the faults of the provider's report. Zero is a sound report.
	Doubts Doubts
}

// Doubts are the faults of a provider's report of usage.
type Doubts uint8

// These are the faults of a report.
const (
	// InputUnknown means that the input counts are missing or invalid. They are zero in the usage.
	InputUnknown Doubts = 1 << iota
	// OutputUnknown means that the output counts are missing or invalid. They are zero in the usage.
	OutputUnknown
	// PartUnknown means that the count of a part is invalid or larger than that of its whole. A larger count of cached input is reduced
	// to the whole input, which is the cheapest reading. Other parts are zero.
	PartUnknown
)

// Unknown stands for a missing or invalid count.
const Unknown = -1

// Report is the usage that a provider reports. A missing total is Unknown, a missing part is zero, and an invalid part is Unknown.
type Report struct {
	Input      int64
	CacheRead  int64
	CacheWrite int64
	Output     int64
	Reasoning  int64
	// Inclusive means that Input includes CacheRead and CacheWrite.
	Inclusive bool

	// Parts, Terms, ProviderCost and Unread are as in Usage.
	Parts        meter.Counts
	Terms        meter.Terms
	ProviderCost *app.Amount
	Unread       bool
}

// tokenKinds lists the meters of kinds of tokens with the total that includes them.
var tokenKinds = [...]struct {
	total  meter.Meter
	meters []meter.Meter
}{
	{meter.InputTokens, []meter.Meter{meter.InputAudioTokens, meter.InputImageTokens, meter.InputVideoTokens}},
	{meter.CacheReadTokens, []meter.Meter{meter.CacheReadAudioTokens, meter.CacheReadImageTokens}},
	{meter.CacheWriteTokens, []meter.Meter{meter.CacheWriteHourTokens, meter.CacheWriteLongTokens}},
	{meter.OutputTokens, []meter.Meter{meter.OutputAudioTokens, meter.OutputImageTokens}},
}

// total is the total that includes the kinds of a meter, without reasoning.
func (u *Usage) total(m meter.Meter) int64 {
	switch m {
	case meter.InputTokens:
		return u.Input
	case meter.CacheReadTokens:
		return u.CacheRead
	case meter.CacheWriteTokens:
		return u.CacheWrite
	default:
		return u.Output - u.Reasoning
	}
}

// Counts divides the usage among the meters, which do not overlap. The call counts as one request.
func (u *Usage) Counts() meter.Counts {
	c := u.Parts
	for _, k := range tokenKinds {
		rest := u.total(k.total)
		for _, m := range k.meters {
			c[m] = min(c[m], rest)
			rest -= c[m]
		}
		c[k.total] = rest
	}
	c[meter.ReasoningTokens] = u.Reasoning
	c[meter.Requests] = 1
	return c
}

// UsageReader reads the usage that one provider reports in one style.
type UsageReader interface {
	// ReadUsage adds the members of a usage object to a report. Members that the object does not have keep their values. It reports
	// whether the object has the output.
	ReadUsage(r *Report, object []byte) bool
	// ReadAnswer adds what stands beside the usage object in a whole answer, or in the frame of a stream. It reports whether the document
	// has a usage object in another place than answers of the style, which it has then read.
	ReadAnswer(r *Report, document []byte) bool
}

// Usage returns the valid counts of the report, and its faults. It reports false when neither the input nor the output is known.
func (r Report) Usage() (u Usage, known bool) {
	if isCount(r.Input) {
		u.Input = r.Input
		room := TokensMax - r.Input
		if r.Inclusive {
			room = r.Input
		}
		if u.CacheRead = r.CacheRead; !u.fits(r.CacheRead, room) {
			u.CacheRead = min(max(r.CacheRead, 0), room)
		}
		if u.fits(r.CacheWrite, room-u.CacheRead) {
			u.CacheWrite = r.CacheWrite
		}
		if r.Inclusive {
			u.Input -= u.CacheRead + u.CacheWrite
		}
	} else {
		u.Doubts |= InputUnknown
	}
	if !isCount(r.Output) {
		u.Doubts |= OutputUnknown
	} else if u.Output = r.Output; u.fits(r.Reasoning, r.Output) {
		u.Reasoning = r.Reasoning
	}
	if u.Doubts&InputUnknown != 0 && u.Doubts&OutputUnknown != 0 {
		return Usage{}, false
	}
	u.Terms, u.ProviderCost, u.Unread = r.Terms, r.ProviderCost, r.Unread
	u.takeParts(&r.Parts)
	return u, true
}

// takeParts takes the counts of parts that are not larger than their totals. Other counts are zero.
func (u *Usage) takeParts(parts *meter.Counts) {
	u.Parts = *parts
	for _, k := range tokenKinds {
		rest := u.total(k.total)
		for _, m := range k.meters {
			if !u.fits(u.Parts[m], rest) {
				u.Parts[m] = 0
			}
			rest -= u.Parts[m]
		}
	}
	for m := range meter.Count {
		if !isCount(u.Parts[m]) {
			u.Parts[m] = 0
			u.Doubts |= PartUnknown
		}
	}
}

// fits reports whether a part is not larger than its whole. Otherwise it notes the fault.
func (u *Usage) fits(n, whole int64) bool {
	if n < 0 || n > whole {
		u.Doubts |= PartUnknown
		return false
	}
	return true
}

// Sum adds two counts. The sum is Unknown when one of them is.
func Sum(a, b int64) int64 {
	if a < 0 || b < 0 {
		return Unknown
	}
	return a + b
}

func isCount(n int64) bool { return n >= 0 && n <= TokensMax }

// InputTotal counts every input token, cached or not.
func (u Usage) InputTotal() int64 { return u.Input + u.CacheRead + u.CacheWrite }

// TokensMax is the largest valid count of tokens.
const TokensMax = 1 << 31

// Valid reports whether no count is negative or above TokensMax, and reasoning is not more than the output.
func (u Usage) Valid() bool {
	for _, n := range [...]int64{u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning} {
		if n < 0 || n > TokensMax {
			return false
		}
	}
	return u.InputTotal() <= TokensMax && u.Reasoning <= u.Output
}
