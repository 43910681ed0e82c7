package billing

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"umg/app"
)

// These bounds keep every product and sum within 128 bits: nine lines of at most 2^31 × 10^15 × 10^6 < 2^101 each.
const (
	priceNanosMax = 1_000_000_000_000_000 // This is a million dollars per Per.
	quantityMax   = 1 << 31
	perMax        = 1_000_000
)

// Meter is something a call consumes and a rate card may price.
type Meter uint8

// These are the meters of a call. Tokens are disjoint: input excludes tokens read from or written to a cache, and output
// excludes reasoning. Seconds are counted in milliseconds, so a price per second is a rate per 1,000.
const (
	InputTokens Meter = iota
	CacheReadTokens
	CacheWriteTokens
	OutputTokens
	ReasoningTokens
	Images
	Seconds
	Characters
	Requests
	MeterCount // MeterCount is the number of meters and not a meter itself.
)

var meterNames = [MeterCount]string{
	"input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
	"images", "seconds", "characters", "requests",
}

// String is the meter's name in the catalog, in tables and in the API.
func (m Meter) String() string {
	if m >= MeterCount {
		return fmt.Sprintf("meter(%d)", uint8(m))
	}
	return meterNames[m]
}

// ParseMeter finds a meter by its name.
func ParseMeter(name string) (Meter, error) {
	for m, known := range meterNames {
		if name == known {
			return Meter(m), nil
		}
	}
	return 0, fmt.Errorf("%q is not a meter; meters are %v", name, meterNames)
}

// Usage is the meter readings of one call.
type Usage [MeterCount]int64

// Rate is the price of a quantity of a meter: {InputTokens, 150_000_000, 1_000_000} is $0.15 per million input tokens.
type Rate struct {
	Meter  Meter
	Amount app.Amount
	Per    int64 // Per is 1, 1,000, 1,000,000 or another divisor of a million.
}

// RateCard is one version of a model's prices. A meter without a rate is free, except that cached input falls back to
// the rate of input and reasoning to that of output.
type RateCard struct {
	ID    string
	Rates []Rate
}

// fallbacks maps a meter without its own rate to the meter whose rate prices it.
var fallbacks = [...]struct{ meter, priced Meter }{
	{CacheReadTokens, InputTokens},
	{CacheWriteTokens, InputTokens},
	{ReasoningTokens, OutputTokens},
}

// These errors of prices and quantities mean a broken catalog or a broken count, never a caller's mistake.
var (
	errQuantity = errors.New("billing: a quantity is negative or beyond 2^31")
	errOverflow = errors.New("billing: the cost is more than an amount can hold")
)

// Rate returns the rate that prices a meter, fallbacks included, and whether there is one.
func (c RateCard) Rate(m Meter) (Rate, bool) {
	for _, r := range c.Rates {
		if r.Meter == m {
			return r, true
		}
	}
	for _, f := range fallbacks {
		if f.meter == m {
			r, ok := c.Rate(f.priced)
			r.Meter = m
			return r, ok
		}
	}
	return Rate{}, false
}

// Exceeds reports whether the card prices any meter higher than the other card does.
func (c RateCard) Exceeds(other RateCard, meters ...Meter) bool {
	for _, m := range meters {
		rate, priced := c.Rate(m)
		if !priced || rate.Amount == 0 {
			continue
		}
		limit, priced := other.Rate(m)
		if !priced || limit.weight().less(rate.weight()) {
			return true
		}
	}
	return false
}

// Check returns what is wrong with a rate card, or nil. A card that passes prices every usage within bounds, apart from costs
// beyond nine billion dollars.
func (c RateCard) Check() error {
	if len(c.Rates) == 0 {
		return errors.New("a rate card needs at least one rate")
	}
	var seen [MeterCount]bool
	for _, r := range c.Rates {
		if err := r.check(); err != nil {
			return err
		}
		if seen[r.Meter] {
			return fmt.Errorf("%s has two rates", r.Meter)
		}
		seen[r.Meter] = true
	}
	return nil
}

func (r Rate) check() error {
	switch {
	case r.Meter >= MeterCount:
		return fmt.Errorf("%s is not a meter", r.Meter)
	case r.Amount < 0 || r.Amount > priceNanosMax:
		return fmt.Errorf("the rate of %s must be between $0 and $%s, not $%s", r.Meter, app.Amount(priceNanosMax), r.Amount)
	case r.Per < 1 || perMax%r.Per != 0:
		return fmt.Errorf("the rate of %s is per %d; it must be per a divisor of 1,000,000, such as 1, 1,000 or 1,000,000", r.Meter, r.Per)
	}
	return nil
}

// Cost is the exact price of a usage: all lines are added in 128 bits as millionths of a nano-dollar, and the sum is rounded
// up once. Every replica and every check therefore computes the same amount.
func (c RateCard) Cost(u Usage) (app.Amount, error) {
	sum, err := c.millionths(u)
	if err != nil {
		return 0, err
	}
	sum = sum.plus(wide{lo: perMax - 1})
	if sum.hi >= perMax {
		return 0, errOverflow
	}
	nanos, _ := bits.Div64(sum.hi, sum.lo, perMax)
	if nanos > math.MaxInt64 {
		return 0, errOverflow
	}
	return app.Amount(nanos), nil
}

// Affordable is the largest quantity of m that can be added to fixed while the total cost stays within budget, or zero when
// fixed alone exceeds it. It is exact: one more would exceed the budget or the limit of a count.
func (c RateCard) Affordable(budget app.Amount, fixed Usage, m Meter) int64 {
	if m >= MeterCount || budget < 0 {
		return 0
	}
	rate, priced := c.Rate(m)
	base, err := c.millionths(fixed)
	if err != nil || priced && rate.check() != nil {
		return 0
	}
	limit := wide{lo: uint64(budget)}.times(perMax)
	if limit.less(base) {
		return 0
	}
	var weight wide // A meter without a rate is free.
	if priced {
		weight = rate.weight()
	}
	low, high := int64(0), quantityMax-fixed[m] //nolint:gosec // m is below MeterCount
	for low < high {                            // The loop halves the range at most 31 times.
		middle := low + (high-low+1)/2
		if limit.less(base.plus(weight.times(uint64(middle)))) {
			high = middle - 1
		} else {
			low = middle
		}
	}
	return low
}

// millionths is the price of a usage in millionths of a nano-dollar, unrounded.
func (c RateCard) millionths(u Usage) (wide, error) {
	var sum wide
	for m := range MeterCount {
		quantity := u[m]
		if quantity < 0 || quantity > quantityMax {
			return wide{}, errQuantity
		}
		if quantity == 0 {
			continue
		}
		rate, priced := c.Rate(m)
		if !priced {
			continue
		}
		if err := rate.check(); err != nil {
			return wide{}, fmt.Errorf("billing: rate card %s: %w", c.ID, err)
		}
		sum = sum.plus(rate.weight().times(uint64(quantity)))
	}
	return sum, nil
}

// weight is the price of one unit of the meter in millionths of a nano-dollar. The rate has passed its check.
func (r Rate) weight() wide {
	return wide{lo: uint64(r.Amount)}.times(uint64(perMax / r.Per))
}

// wide is an unsigned integer of 128 bits.
type wide struct{ hi, lo uint64 }

// plus adds. The bounds on prices and quantities keep the sum within 128 bits.
func (a wide) plus(b wide) wide {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, _ := bits.Add64(a.hi, b.hi, carry)
	return wide{hi, lo}
}

// times multiplies. The bounds on prices and quantities keep the product within 128 bits.
func (a wide) times(n uint64) wide {
	hi, lo := bits.Mul64(a.lo, n)
	return wide{hi + a.hi*n, lo}
}

func (a wide) less(b wide) bool {
	return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo)
}
