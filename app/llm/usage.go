package llm

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Usage is what one text call used, in tokens. Input, CacheRead and CacheWrite are disjoint: each input token is in
// exactly one of them. Reasoning is a part of Output. Styles differ in both, so each codec converts its counts to this form.
type Usage struct {
	Input      int64
	CacheRead  int64
	CacheWrite int64
	Output     int64
	Reasoning  int64

	// Doubts are the faults of the provider's report. Zero is a sound report.
	Doubts Doubts
}

// Doubts are the faults of a provider's report of usage.
type Doubts uint8

// The faults.
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
	return u, true
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

// Count is a count of tokens in a usage object, or Unknown. When the member is missing or null, it keeps its value.
type Count int64

// UnmarshalJSONFrom never fails, so that an invalid count does not affect the other counts and the answer.
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
