package catalog

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"umg/app/meter"
	"umg/billing"
)

// BelowCost lists the prices of a file that are below the cost of a route, with the model, the meter and the condition. It compares
// every meter on every combination of conditions. Prices that are announced count too.
func BelowCost(f File) []string {
	var all []string
	for i := range f.Models {
		m := &f.Models[i]
		card, ok := m.card()
		if !ok {
			continue
		}
		all = append(all, m.belowCost(&card, "")...)
		if a := m.Announced; a != nil {
			if next, err := newCard("", a.Rates, a.Conditions); err == nil {
				all = append(all, m.belowCost(&next, " from "+time.Time(a.From).Format(time.DateOnly))...)
			}
		}
	}
	return all
}

// belowCost compares a card of the model with the costs of its routes. The words say from when the card is in force.
func (m *FileModel) belowCost(card *billing.RateCard, when string) (all []string) {
	for i := range m.Routes {
		r := &m.Routes[i]
		if r.Cost == nil {
			continue
		}
		cost, err := newCard("", r.Cost.Rates, r.Cost.Conditions)
		if err != nil {
			continue
		}
		for _, s := range shortfalls(card, &cost) {
			all = append(all, fmt.Sprintf("model %s: %s costs %s at %s, and its price%s is %s%s",
				m.ID, s.meter, PriceOf(s.cost), r.Provider, when, PriceOf(s.price), s.condition))
		}
	}
	return all
}

// shortfall is a price below its cost.
type shortfall struct {
	meter       meter.Meter
	price, cost billing.Rate
	// condition says in which calls, in brackets after a space; it is empty for the usual ones.
	condition string
}

// situation is the kind of calls in which prices are compared.
type situation struct {
	prompt int64
	terms  meter.Terms
}

// shortfalls are the first price of each meter that is below its cost.
func shortfalls(price, cost *billing.RateCard) (all []shortfall) {
	situations := situationsOf(price, cost)
	most := int64(1)
	for _, c := range slices.Concat(price.Conditions, cost.Conditions) {
		most = max(most, c.EachOver+1)
	}
	for m := range meter.Count {
		if !cost.Prices(m) || isOptional(m) && !hasOwnPrice(price, m) {
			continue
		}
		for _, s := range situations {
			if short, found := s.shortfall(price, cost, m, most); found {
				all = append(all, short)
				break
			}
		}
	}
	return all
}

// isOptional reports whether calls cannot cause the meter when the card has no price for it, because the gateway leaves out or refuses
// what does.
func isOptional(m meter.Meter) bool {
	return m.Info().Side == meter.SideFee && m != meter.Requests || m == meter.CacheWriteHourTokens || m == meter.CacheWriteLongTokens
}

// hasOwnPrice reports whether a card prices a meter itself, and not as another one.
func hasOwnPrice(card *billing.RateCard, m meter.Meter) bool {
	has := func(r billing.Rate) bool { return r.Meter == m }
	return slices.ContainsFunc(card.Rates, has) ||
		slices.ContainsFunc(card.Conditions, func(c billing.Condition) bool { return slices.ContainsFunc(c.Rates, has) })
}

// shortfall compares the prices of up to so many units of a meter.
func (s situation) shortfall(price, cost *billing.RateCard, m meter.Meter, most int64) (shortfall, bool) {
	var u meter.Counts
	u[meter.InputTokens], u[m] = s.prompt, most
	if m.Info().Side == meter.SideInput {
		u[meter.InputTokens] = 0
		u[m] = s.prompt
	}
	prices, costs := linesOf(price, u, s.terms, m), linesOf(cost, u, s.terms, m)
	// The lines of both cards are parts of the same quantity. The loop walks over the units at which one of them changes.
	for len(prices) > 0 && len(costs) > 0 {
		p, c := &prices[0], &costs[0]
		if unitPrice(p.Rate).Cmp(unitPrice(c.Rate)) < 0 {
			return shortfall{meter: m, price: rateIn(p.Rate, m), cost: rateIn(c.Rate, m), condition: conditionNote(cost, c, price, p)}, true
		}
		step := min(p.Quantity, c.Quantity)
		if p.Quantity -= step; p.Quantity == 0 {
			prices = prices[1:]
		}
		if c.Quantity -= step; c.Quantity == 0 {
			costs = costs[1:]
		}
	}
	return shortfall{}, false
}

func linesOf(card *billing.RateCard, u meter.Counts, t meter.Terms, m meter.Meter) []billing.Line {
	return slices.DeleteFunc(card.Lines(u, t), func(l billing.Line) bool { return l.Meter != m })
}

// rateIn is a rate of a line; lines without a price have none.
func rateIn(r billing.Rate, m meter.Meter) billing.Rate {
	if r.Per == 0 {
		return billing.Rate{Meter: m, Per: perMax}
	}
	return r
}

// unitPrice is the price of one unit in millionths of a nano-dollar. It is zero for a rate that is none.
func unitPrice(r billing.Rate) *big.Int {
	if r.Per == 0 {
		return new(big.Int)
	}
	return new(big.Int).Mul(big.NewInt(int64(r.Amount)), big.NewInt(perMax/r.Per))
}

// conditionNote says on which conditions two lines have their prices.
func conditionNote(cost *billing.RateCard, costLine *billing.Line, price *billing.RateCard, priceLine *billing.Line) string {
	var words []string
	add := func(card *billing.RateCard, line *billing.Line) {
		for i := range card.Conditions {
			if word := ConditionCalls(&card.Conditions[i]); slices.Contains(line.Conditions, &card.Conditions[i]) && !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	add(cost, costLine)
	add(price, priceLine)
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, "; ") + ")"
}

// situationsOf are all combinations of what the conditions of two cards tell apart.
func situationsOf(cards ...*billing.RateCard) []situation {
	prompts, times := []int64{1}, []time.Time{{}}
	words := [5][]string{{""}, {""}, {""}, {""}, {""}}
	var schedules []*billing.Schedule
	for _, card := range cards {
		for i := range card.Conditions {
			c := &card.Conditions[i]
			for _, edge := range []int64{c.PromptOver, c.EachOver} {
				if edge > 0 {
					prompts = append(prompts, edge, edge+1)
				}
			}
			for w, word := range []string{c.ServiceTier, c.Region, c.Speed, c.Size, c.Quality} {
				words[w] = append(words[w], word)
			}
			if c.Schedule != nil {
				schedules = append(schedules, c.Schedule)
			}
		}
	}
	if len(schedules) > 0 {
		times = distinctTimes(schedules)
	}
	slices.Sort(prompts)
	prompts = slices.Compact(prompts)
	all := []situation{{}}
	for w := range words {
		slices.Sort(words[w])
		all = multiplied(all, slices.Compact(words[w]), func(s *situation, word string) {
			*[]*string{&s.terms.ServiceTier, &s.terms.Region, &s.terms.Speed, &s.terms.Size, &s.terms.Quality}[w] = word
		})
	}
	all = multiplied(all, times, func(s *situation, at time.Time) { s.terms.At = at })
	return multiplied(all, prompts, func(s *situation, prompt int64) { s.prompt = prompt })
}

func multiplied[T any](all []situation, values []T, set func(*situation, T)) []situation {
	next := make([]situation, 0, len(all)*len(values))
	for _, s := range all {
		for _, v := range values {
			set(&s, v)
			next = append(next, s)
		}
	}
	return next
}

// distinctTimes are times of which each belongs to another set of the schedules.
func distinctTimes(schedules []*billing.Schedule) []time.Time {
	const weeks = 2 // Two weeks have a day of each kind, even when one of them has the days that are excepted.
	monday := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	var days []time.Time
	for day := range weeks * 7 {
		days = append(days, monday.AddDate(0, 0, day))
	}
	minutes := []int{0}
	for _, s := range schedules {
		for _, h := range s.Hours {
			minutes = append(minutes, h.From, h.To%minutesPerDay)
		}
		for _, text := range s.Except {
			if day, err := time.Parse(time.DateOnly, text); err == nil {
				days = append(days, day)
			}
		}
	}
	slices.Sort(minutes)
	seen := map[string]bool{}
	var times []time.Time
	for _, day := range days {
		for _, minute := range slices.Compact(minutes) {
			at := day.Add(time.Duration(minute) * time.Minute)
			var mark strings.Builder
			for _, s := range schedules {
				fmt.Fprint(&mark, s.Holds(at), " ")
			}
			if !seen[mark.String()] {
				seen[mark.String()] = true
				times = append(times, at)
			}
		}
	}
	return times
}
