package billing

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"umg/app"
	"umg/app/meter"
)

// These bounds keep every product and sum within 128 bits: a line is at most 2^31 × unitPriceMax < 2^102, and a usage has fewer than
// 2^7 lines.
const (
	priceNanosMax = 1_000_000_000_000_000 // This is a million dollars per Per.
	quantityMax   = 1 << 31
	perMax        = 1_000_000
)

// Rate is the price of a quantity of a meter: {meter.InputTokens, 150_000_000, 1_000_000} is $0.15 per million input tokens.
type Rate struct {
	Meter  meter.Meter
	Amount app.Amount
	Per    int64 // Per is 1, 1,000, 1,000,000 or another divisor of a million.
}

// RateCard is one version of a model's prices. A meter without a rate has the price of the meter that its row of the table of meters
// names, and is free when that has none either.
type RateCard struct {
	ID    string
	Rates []Rate
	// Conditions change the prices of some calls, in this order.
	Conditions []Condition
}

// These errors of prices and quantities mean a broken catalog or a broken count, never a caller's mistake.
var (
	errQuantity = errors.New("billing: a quantity is negative or beyond 2^31")
	errOverflow = errors.New("billing: the cost is more than an amount can hold")
)

// Rate returns the rate that prices a meter in a call to which no condition applies, and whether there is one. The rate of a meter
// that shares the price of another has the meter that was asked for.
func (c *RateCard) Rate(m meter.Meter) (Rate, bool) {
	return rateOf(c.Rates, m)
}

func rateOf(rates []Rate, m meter.Meter) (Rate, bool) {
	for asked := m; ; m = m.Info().PricedAs {
		for _, r := range rates {
			if r.Meter == m {
				r.Meter = asked
				return r, true
			}
		}
		if m.Info().PricedAs == m {
			return Rate{}, false
		}
	}
}

// Exceeds reports whether the card prices any of the meters higher than the other card does, in calls to which no condition applies.
func (c *RateCard) Exceeds(other *RateCard, meters ...meter.Meter) bool {
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
func (c *RateCard) Check() error {
	if len(c.Rates) == 0 {
		return errors.New("a rate card needs at least one rate")
	}
	if err := checkRates(c.Rates); err != nil {
		return err
	}
	return c.checkConditions()
}

func checkRates(rates []Rate) error {
	var seen [meter.Count]bool
	for _, r := range rates {
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
	case r.Meter >= meter.Count:
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
func (c *RateCard) Cost(u meter.Counts, t meter.Terms) (app.Amount, error) {
	sum, err := c.millionths(&u, t)
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

// Affordable is the largest quantity of m that can be added to fixed while the total cost stays within budget, or zero when fixed alone
// exceeds it. It is exact for a card without conditions, as Highest returns it: one more would exceed the budget or the limit of a count.
func (c *RateCard) Affordable(budget app.Amount, fixed meter.Counts, m meter.Meter) int64 {
	if m >= meter.Count || budget < 0 || len(c.Conditions) > 0 {
		return 0
	}
	rate, priced := c.Rate(m)
	base, err := c.millionths(&fixed, meter.Terms{})
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
	low, high := int64(0), quantityMax-fixed[m] //nolint:gosec // m is below meter.Count
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
func (c *RateCard) millionths(u *meter.Counts, t meter.Terms) (wide, error) {
	var sum wide
	prompt := int64(0)
	if len(c.Conditions) > 0 {
		prompt = u.Prompt()
	}
	for m := range meter.Count {
		quantity := u[m]
		if quantity < 0 || quantity > quantityMax {
			return wide{}, errQuantity
		}
		if quantity == 0 {
			continue
		}
		line, err := c.line(m, quantity, prompt, t)
		if err != nil {
			return wide{}, fmt.Errorf("billing: rate card %s: %w", c.ID, err)
		}
		sum = sum.plus(line)
	}
	return sum, nil
}

// line is the price of a quantity of one meter in millionths of a nano-dollar.
func (c *RateCard) line(m meter.Meter, quantity, prompt int64, t meter.Terms) (wide, error) {
	if len(c.Conditions) == 0 {
		rate, priced := c.Rate(m)
		if !priced {
			return wide{}, nil
		}
		if err := rate.check(); err != nil {
			return wide{}, err
		}
		return rate.weight().times(uint64(quantity)), nil
	}
	var sum wide
	for s := range c.segments(m, quantity, prompt, t) {
		if s.invalid != nil {
			return wide{}, s.invalid
		}
		sum = sum.plus(s.unit.times(uint64(s.quantity)))
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

// dividedUp divides and rounds up.
func (a wide) dividedUp(n uint64) wide {
	hi, rest := a.hi/n, a.hi%n
	lo, rest := bits.Div64(rest, a.lo, n)
	if rest > 0 {
		return wide{hi, lo}.plus(wide{lo: 1})
	}
	return wide{hi, lo}
}

func (a wide) less(b wide) bool {
	return a.hi < b.hi || (a.hi == b.hi && a.lo < b.lo)
}
