package llm

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Usage is what one text call used, in tokens. Input, CacheRead and CacheWrite are disjoint: each input token is in
// exactly one of them. Reasoning is a part of Output. Wires disagree on both, so each dialect settles it at its edge.
type Usage struct {
	Input      int64
	CacheRead  int64
	CacheWrite int64
	Output     int64
	Reasoning  int64

	// Doubts says what of the provider's report could not be taken as it was. Zero is a sound report.
	Doubts Doubts
}

// Doubts are the faults of a provider's report of usage.
type Doubts uint8

// The faults.
const (
	// InputUnknown means that the input counts are missing or are no counts of tokens. They are zero in the usage.
	InputUnknown Doubts = 1 << iota
	// OutputUnknown means the same of the output and its reasoning.
	OutputUnknown
	// PartUnknown means that the report says more of a part than of its whole, or something that is no count of tokens. Of
	// cached input the usage then has as much as there is input, which is the cheapest reading, and of other parts nothing.
	PartUnknown
)

// Unknown stands for a count that is missing or is no count of tokens.
const Unknown = -1

// Report is what a provider says that an answer has used. A missing total is Unknown, a missing part is zero, and a part
// that is no count of tokens is Unknown.
type Report struct {
	Input      int64
	CacheRead  int64
	CacheWrite int64
	Output     int64
	Reasoning  int64
	// Inclusive means that Input includes CacheRead and CacheWrite.
	Inclusive bool
}

// Usage takes over every count of the report that can be true, and notes its faults. It reports false when neither the
// input nor the output is known.
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
	return u, true
}

// fits reports whether a part can be one of its whole, and notes when it cannot.
func (u *Usage) fits(n, whole int64) bool {
	if n < 0 || n > whole {
		u.Doubts |= PartUnknown
		return false
	}
	return true
}

// Sum adds two counts. The sum of a count that is not known is not known either.
func Sum(a, b int64) int64 {
	if a < 0 || b < 0 {
		return Unknown
	}
	return a + b
}

func isCount(n int64) bool { return n >= 0 && n <= TokensMax }

// InputTotal counts every input token, cached or not.
func (u Usage) InputTotal() int64 { return u.Input + u.CacheRead + u.CacheWrite }

// TokensMax bounds every count of tokens that is believed.
const TokensMax = 1 << 31

// Valid reports whether the counts can be true: none negative, none beyond TokensMax, reasoning within the output.
func (u Usage) Valid() bool {
	for _, n := range [...]int64{u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning} {
		if n < 0 || n > TokensMax {
			return false
		}
	}
	return u.InputTotal() <= TokensMax && u.Reasoning <= u.Output
}

// Count is a count of tokens in a usage object, or Unknown. One that is missing or null keeps what the reader has put in it.
type Count int64

// UnmarshalJSONFrom never fails: what is no count of tokens must lose neither the other counts nor the answer.
func (c *Count) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	if err != nil || v.Kind() == 'n' {
		return err
	}
	n, bad := strconv.ParseUint(string(v), 10, 64)
	if *c = Count(n); bad != nil || n > TokensMax {
		*c = Unknown
	}
	return nil
}
