package billing

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"umg/app"
	"umg/app/meter"
)

// These limits apply to conditions.
const (
	conditionsMax = 32 // A mask of 32 bits says which conditions of a card applied.
	timesOne      = 10_000
	timesMax      = 100 * timesOne
	dayMinutes    = 24 * 60
)

// unitPriceMax is the highest price of one unit after all conditions, in millionths of a nano-dollar: a million dollars, as for a rate.
var unitPriceMax = wide{lo: priceNanosMax}.times(perMax)

// Condition changes the prices of the calls to which it applies: those for which all of its members hold that are set. It gives prices
// of its own, or multiplies those that hold so far.
type Condition struct {
	// PromptOver applies to calls with more input tokens than this, cached ones included. All of the call has the other price.
	PromptOver int64
	// EachOver applies to the units of each meter of Rates beyond this many. The units up to it keep their price.
	EachOver int64
	// These members apply to calls that were served on these terms.
	ServiceTier, Region, Speed, Size, Quality string
	// Schedule applies to calls that began at these times; nil means any time.
	Schedule *Schedule

	// Rates replace the prices of their meters.
	Rates []Rate
	// Times multiplies the prices that hold so far, in ten-thousandths, rounded up; zero means no change. It holds for the meters of
	// Meters, and for all meters of tokens when there are none.
	Times  int64
	Meters []meter.Meter
}

// Schedule is a set of times, in UTC.
type Schedule struct {
	// Weekdays has the days; every day when it is empty.
	Weekdays []time.Weekday
	// Hours has the parts of the days; the whole day when it is empty.
	Hours []Hours
	// Except has days, written like 2026-10-01, that do not belong to the schedule.
	Except []string
}

// Hours are the minutes of a day from From up to, but without, To.
type Hours struct{ From, To int }

// Holds reports whether a time belongs to the schedule.
func (s *Schedule) Holds(at time.Time) bool {
	at = at.UTC()
	if len(s.Weekdays) > 0 && !slices.Contains(s.Weekdays, at.Weekday()) {
		return false
	}
	minute := at.Hour()*60 + at.Minute()
	if len(s.Hours) > 0 && !slices.ContainsFunc(s.Hours, func(h Hours) bool { return h.From <= minute && minute < h.To }) {
		return false
	}
	return len(s.Except) == 0 || !slices.Contains(s.Except, at.Format(time.DateOnly))
}

// mayHold reports whether a time of the range belongs to the schedule.
func (s *Schedule) mayHold(from, to time.Time) bool {
	for at := from.UTC().Truncate(time.Minute); !at.After(to); at = at.Add(time.Minute) {
		if s.Holds(at) || at.Sub(from) > 24*time.Hour {
			return true
		}
	}
	return false
}

// onTerms reports whether the members about terms hold, apart from the schedule.
func (c *Condition) onTerms(t meter.Terms) bool {
	return (c.ServiceTier == "" || c.ServiceTier == t.ServiceTier) && (c.Region == "" || c.Region == t.Region) &&
		(c.Speed == "" || c.Speed == t.Speed) && (c.Size == "" || c.Size == t.Size) && (c.Quality == "" || c.Quality == t.Quality)
}

// applies reports whether the condition applies to a call.
func (c *Condition) applies(prompt int64, t meter.Terms) bool {
	return (c.PromptOver == 0 || prompt > c.PromptOver) && c.onTerms(t) && (c.Schedule == nil || c.Schedule.Holds(t.At))
}

// multiplies reports whether the condition multiplies the price of a meter.
func (c *Condition) multiplies(m meter.Meter) bool {
	if c.Times == 0 {
		return false
	}
	if len(c.Meters) > 0 {
		return slices.Contains(c.Meters, m)
	}
	return m.Info().Unit == meter.UnitToken
}

// rate returns the condition's own price of a meter.
func (c *Condition) rate(m meter.Meter) (Rate, bool) {
	i := slices.IndexFunc(c.Rates, func(r Rate) bool { return r.Meter == m })
	if i < 0 {
		return Rate{}, false
	}
	return c.Rates[i], true
}

// segment is a part of the quantity of a meter that has one price.
type segment struct {
	quantity int64
	unit     wide
	priced   bool   // A part without a price is free.
	applied  uint32 // Applied has a bit for each condition that made the price.
	invalid  error
}

// segments yields the parts of a quantity with their prices, in the order of the units.
func (c *RateCard) segments(m meter.Meter, quantity, prompt int64, t meter.Terms) iter.Seq[segment] {
	return func(yield func(segment) bool) {
		now := c.price(m, prompt, t)
		if now.invalid != nil {
			yield(now)
			return
		}
		from := int64(0)
		for i := range c.Conditions {
			d := &c.Conditions[i]
			rate, has := d.rate(m)
			if d.EachOver == 0 || !has || d.EachOver >= quantity || !d.applies(prompt, t) {
				continue
			}
			now.quantity = d.EachOver - from
			if !yield(now) {
				return
			}
			from = d.EachOver
			now.unit, now.priced, now.applied = rate.weight(), true, 1<<i
		}
		now.quantity = quantity - from
		yield(now)
	}
}

// price is the price of a meter's first unit in a call. A meter without a price of its own has that of the meter that the table of
// meters names.
func (c *RateCard) price(m meter.Meter, prompt int64, t meter.Terms) (p segment) {
	if rate, has := c.ownRate(m); has {
		if p.invalid = rate.check(); p.invalid != nil {
			return p
		}
		p.unit, p.priced = rate.weight(), true
	}
	for i := range c.Conditions {
		d := &c.Conditions[i]
		rate, has := d.rate(m)
		if changes := has || p.priced && d.multiplies(m); d.EachOver > 0 || !changes || !d.applies(prompt, t) {
			continue
		}
		if has {
			p.unit, p.priced = rate.weight(), true
		} else {
			p.unit = p.unit.multiplied(d.Times)
		}
		p.applied |= 1 << i
	}
	if as := m.Info().PricedAs; !p.priced && as != m {
		return c.price(as, prompt, t)
	}
	return p
}

// ownRate returns the card's own rate of a meter.
func (c *RateCard) ownRate(m meter.Meter) (Rate, bool) {
	i := slices.IndexFunc(c.Rates, func(r Rate) bool { return r.Meter == m })
	if i < 0 {
		return Rate{}, false
	}
	return c.Rates[i], true
}

// Highest is a card without conditions that prices no call lower than this card does, of all calls with at most so large a prompt that
// are served on these terms, or on the usual ones, and begin from t.At to until. A hold that is computed with it covers the call on
// either side of each edge.
func (c *RateCard) Highest(promptMax int64, t meter.Terms, until time.Time) *RateCard {
	if len(c.Conditions) == 0 {
		return c
	}
	high := &RateCard{ID: c.ID, Rates: make([]Rate, 0, meter.Count)}
	for m := range meter.Count {
		if unit, priced := c.highest(m, promptMax, t, until); priced {
			high.Rates = append(high.Rates, unit.rate(m))
		}
	}
	return high
}

// highest is the highest price of one unit of a meter.
func (c *RateCard) highest(m meter.Meter, promptMax int64, t meter.Terms, until time.Time) (wide, bool) {
	var unit wide
	rate, own := c.ownRate(m)
	priced := own
	if own {
		unit = rate.weight()
	}
	for i := range c.Conditions {
		d := &c.Conditions[i]
		if d.PromptOver > 0 && promptMax <= d.PromptOver || !d.onTerms(t) || d.Schedule != nil && !d.Schedule.mayHold(t.At, until) {
			continue
		}
		if rate, has := d.rate(m); has {
			if priced = true; unit.less(rate.weight()) {
				unit = rate.weight()
			}
		} else if priced && d.multiplies(m) && d.Times > timesOne {
			unit = unit.multiplied(d.Times)
		}
	}
	if as := m.Info().PricedAs; !own && as != m {
		if other, has := c.highest(as, promptMax, t, until); has {
			if priced = true; unit.less(other) {
				unit = other
			}
		}
	}
	return unit, priced
}

// rateQuantities are all quantities that a rate can be per, from the largest to the smallest.
var rateQuantities = func() (all []uint64) {
	for per := uint64(perMax); per > 0; per-- {
		if perMax%per == 0 {
			all = append(all, per)
		}
	}
	return all
}()

// rate is the rate with exactly this price of one unit, for the largest quantity that a rate can have.
func (a wide) rate(m meter.Meter) Rate {
	for _, per := range rateQuantities {
		quantity := perMax / per
		amount := a.dividedUp(quantity)
		if amount.hi == 0 && amount.lo <= priceNanosMax && amount.times(quantity) == a {
			return Rate{Meter: m, Amount: app.Amount(amount.lo), Per: int64(per)}
		}
	}
	return Rate{Meter: m, Amount: app.Amount(a.dividedUp(perMax).lo), Per: 1}
}

// multiplied is the price times a factor in ten-thousandths. It is rounded up to a nano-dollar per million units, or to one per unit
// when a unit costs more than a dollar, so that a rate can have it.
func (a wide) multiplied(times int64) wide {
	unit := a.times(uint64(times)).dividedUp(timesOne)
	if unit.hi == 0 && unit.lo <= priceNanosMax {
		return unit
	}
	return unit.dividedUp(perMax).times(perMax)
}

// Line is a part of a bill: a quantity of one meter at one price.
type Line struct {
	Meter    meter.Meter
	Quantity int64
	// Rate is the price. It has no Per when the quantity is free.
	Rate Rate
	// Amount is the price of the quantity, rounded up to a nano-dollar. The cost of a call is rounded once and can be less than the sum
	// of its lines.
	Amount app.Amount
	// Conditions are those of the card that made the price.
	Conditions []*Condition
}

// Lines explains the cost of a usage line by line, in the order of the meters.
func (c *RateCard) Lines(u meter.Counts, t meter.Terms) (lines []Line) {
	prompt := u.Prompt()
	for m := range meter.Count {
		if u[m] <= 0 {
			continue
		}
		for s := range c.segments(m, u[m], prompt, t) {
			line := Line{Meter: m, Quantity: s.quantity}
			if s.priced {
				line.Rate = s.unit.rate(m)
			}
			if sum := s.unit.times(uint64(s.quantity)).dividedUp(perMax); sum.hi == 0 {
				line.Amount = app.Amount(sum.lo)
			}
			for i := range c.Conditions {
				if s.applied&(1<<i) != 0 {
					line.Conditions = append(line.Conditions, &c.Conditions[i])
				}
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// Prices reports whether the card has a price for a meter, in the usual service or on some condition.
func (c *RateCard) Prices(m meter.Meter) bool {
	if _, priced := c.Rate(m); priced {
		return true
	}
	return slices.ContainsFunc(c.Conditions, func(d Condition) bool { _, has := d.rate(m); return has })
}

// Discounts reports whether a condition of the card makes a price lower than it is without the condition.
func (c *RateCard) Discounts() bool {
	return slices.ContainsFunc(c.Conditions, func(d Condition) bool {
		return d.Times > 0 && d.Times < timesOne || slices.ContainsFunc(d.Rates, func(r Rate) bool {
			usual, priced := c.Rate(r.Meter)
			return priced && r.weight().less(usual.weight())
		})
	})
}

func (c *RateCard) checkConditions() error {
	if len(c.Conditions) > conditionsMax {
		return fmt.Errorf("a rate card has at most %d conditions", conditionsMax)
	}
	var edges [meter.Count]int64
	for i := range c.Conditions {
		d := &c.Conditions[i]
		if err := d.check(); err != nil {
			return fmt.Errorf("condition %d: %w", i+1, err)
		}
		if d.EachOver == 0 {
			continue
		}
		for _, r := range d.Rates {
			if edges[r.Meter] >= d.EachOver {
				return fmt.Errorf("condition %d: each_over must be above that of the condition before for %s", i+1, r.Meter)
			}
			edges[r.Meter] = d.EachOver
		}
	}
	for m := range meter.Count {
		unit := wide{}
		if rate, has := c.ownRate(m); has {
			unit = rate.weight()
		}
		for i := range c.Conditions {
			d := &c.Conditions[i]
			if rate, has := d.rate(m); has && unit.less(rate.weight()) {
				unit = rate.weight()
			}
			if d.multiplies(m) && d.Times > timesOne {
				unit = unit.multiplied(d.Times)
			}
			if unitPriceMax.less(unit) {
				return fmt.Errorf("condition %d makes the price of %s more than can be charged", i+1, m)
			}
		}
	}
	return nil
}

func (c *Condition) check() error {
	if err := checkRates(c.Rates); err != nil {
		return err
	}
	switch {
	case c.PromptOver < 0 || c.PromptOver > quantityMax || c.EachOver < 0 || c.EachOver > quantityMax:
		return fmt.Errorf("prompt_over and each_over must be between 1 and %d", quantityMax)
	case c.PromptOver == 0 && c.EachOver == 0 && c.Schedule == nil && c.onTerms(meter.Terms{}):
		return errors.New("it must say to which calls it applies, such as prompt_over, service_tier or hours")
	case c.Times < 0 || c.Times > timesMax:
		return fmt.Errorf("times must be above 0 and at most %d", timesMax/timesOne)
	case (c.Times == 0) == (len(c.Rates) == 0):
		return errors.New("it must have either rates or times")
	case c.EachOver > 0 && len(c.Rates) == 0:
		return errors.New("each_over needs rates, and not times")
	case len(c.Meters) > 0 && c.Times == 0:
		return errors.New("meters goes with times")
	}
	if c.Schedule != nil {
		return c.Schedule.check()
	}
	return nil
}

func (s *Schedule) check() error {
	for _, h := range s.Hours {
		if h.From < 0 || h.From >= h.To || h.To > dayMinutes {
			return errors.New("hours must be within a day, such as 01:00-04:00")
		}
	}
	for _, d := range s.Except {
		if _, err := time.Parse(time.DateOnly, d); err != nil {
			return fmt.Errorf("%q is not a date like 2026-10-01", d)
		}
	}
	if len(s.Weekdays) == 0 && len(s.Hours) == 0 {
		return errors.New("a schedule needs days or hours")
	}
	return nil
}
