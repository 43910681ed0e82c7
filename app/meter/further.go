package meter

import (
	"strconv"
	"strings"
)

// FirstFurther is the first of the meters that have no column or member of their own in reports and exports, which list them by name.
const FirstFurther = CacheWriteHourTokens

// Quantity is a count in the unit of its meter, such as seconds, without rounding.
type Quantity struct {
	meter Meter
	count int64
}

// String is the quantity as a decimal number.
func (q Quantity) String() string {
	scale := q.meter.Info().Unit.Scale()
	whole, rest := strconv.FormatInt(q.count/scale, 10), q.count%scale
	if rest == 0 {
		return whole
	}
	return whole + "." + strings.TrimRight(strconv.FormatInt(scale+rest, 10)[1:], "0")
}

// MarshalJSON writes the quantity as a number.
func (q Quantity) MarshalJSON() ([]byte, error) { return []byte(q.String()), nil }

// Further are the counts from FirstFurther on that are not zero, by the name of the meter. It is nil when there are none.
func (c *Counts) Further() (further map[string]Quantity) {
	for m := FirstFurther; m < Count; m++ {
		if c[m] == 0 {
			continue
		}
		if further == nil {
			further = map[string]Quantity{}
		}
		further[m.String()] = Quantity{m, c[m]}
	}
	return further
}

// FurtherText is Further for a cell of a table: name=count, separated by spaces, in the order of the meters.
func (c *Counts) FurtherText() string {
	var words []string
	for m := FirstFurther; m < Count; m++ {
		if c[m] != 0 {
			words = append(words, m.String()+"="+Quantity{m, c[m]}.String())
		}
	}
	return strings.Join(words, " ")
}

// CacheReads are the input tokens of every kind that came from a cache.
func (c *Counts) CacheReads() int64 {
	return c[CacheReadTokens] + c[CacheReadAudioTokens] + c[CacheReadImageTokens]
}

// CacheWrites are the input tokens that were written to a cache for any time.
func (c *Counts) CacheWrites() int64 {
	return c[CacheWriteTokens] + c[CacheWriteHourTokens] + c[CacheWriteLongTokens]
}
