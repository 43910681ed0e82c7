package catalog

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
)

// Dollars prints an amount exactly, with at least two decimals and a sign for the currency: $2.50, $0.0375, $1,000.00.
func Dollars(a app.Amount) string {
	whole, fraction, _ := strings.Cut(a.String(), ".")
	const centPlaces = 2
	for len(fraction) < centPlaces {
		fraction += "0"
	}
	sign := ""
	if digits, negative := strings.CutPrefix(whole, "-"); negative {
		sign, whole = "-", digits
	}
	return sign + "$" + app.GroupThousands(whole) + "." + fraction
}

// Quote is a rate as price lists quote it: an amount, and the quantity that it is for, such as 1M tokens.
func Quote(r billing.Rate) (app.Amount, string) {
	price := PriceOf(r)
	amount, quantity := r.Meter.Quote(int64(price.Amount), price.Per)
	return app.Amount(amount), quantity
}

// ConditionWords says which calls a condition of a card is for and what they cost: "Prompts over 200,000 tokens: $2.50 input, $15.00
// output per 1M tokens".
func ConditionWords(card *billing.RateCard, i int) string {
	calls, effect := conditionParts(card, i)
	return calls + ": " + effect
}

// ConditionEffect says what the calls cost that a condition of a card is for: "half price".
func ConditionEffect(card *billing.RateCard, i int) string {
	c := &card.Conditions[i]
	if c.Times == 0 {
		return ratesWords(c.Rates)
	}
	text := timesWords(Factor(c.Times))
	if len(c.Meters) > 0 {
		names := make([]string, len(c.Meters))
		for i, m := range c.Meters {
			names[i] = lowerLabel(m)
		}
		return text + " for " + conjunction(names)
	}
	isFee := func(r billing.Rate) bool { return r.Meter.Info().Unit != meter.UnitToken }
	if slices.ContainsFunc(card.Rates, isFee) {
		return text + " for tokens"
	}
	return text
}

func conditionParts(card *billing.RateCard, i int) (calls, effect string) {
	return ConditionCalls(&card.Conditions[i]), ConditionEffect(card, i)
}

// ConditionCalls says which calls a condition is for: "Flex tier, prompts over 200,000 tokens".
func ConditionCalls(c *billing.Condition) string {
	var parts []string
	for _, term := range []struct{ word, before, after string }{
		{c.ServiceTier, "", " tier"}, {c.Speed, "", " mode"}, {c.Region, "region ", ""}, {c.Size, "size ", ""}, {c.Quality, "", " quality"},
	} {
		if term.word != "" {
			parts = append(parts, term.before+term.word+term.after)
		}
	}
	if c.PromptOver > 0 {
		parts = append(parts, "prompts over "+app.GroupThousands(strconv.FormatInt(c.PromptOver, 10))+" tokens")
	}
	if c.EachOver > 0 && len(c.Rates) > 0 {
		info := c.Rates[0].Meter.Info()
		_, many := c.Rates[0].Meter.Nouns()
		parts = append(parts, "after the first "+app.GroupThousands(strconv.FormatInt(c.EachOver/info.Unit.Scale(), 10))+" "+many)
	}
	if c.Schedule != nil {
		parts = append(parts, scheduleWords(c.Schedule))
	}
	text := strings.Join(parts, ", ")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// scheduleWords are the times of a schedule: "01:00–04:00 and 06:00–10:00 UTC on working days".
func scheduleWords(s *billing.Schedule) string {
	ranges := make([]string, len(s.Hours))
	for i, h := range s.Hours {
		ranges[i] = clockText(h.From) + "–" + clockText(h.To)
	}
	var text string
	days := daysWords(s.Weekdays)
	switch {
	case len(ranges) == 0 && days == "":
		text = "every day, in UTC"
	case len(ranges) == 0:
		text = days + ", in UTC"
	case days == "":
		text = conjunction(ranges) + " UTC"
	default:
		text = conjunction(ranges) + " UTC on " + days
	}
	if len(s.Except) > 0 {
		text += ", except " + conjunction(s.Except)
	}
	return text
}

// daysWords are days of the week; empty for all of them.
func daysWords(days []time.Weekday) string {
	if len(days) == 0 {
		return ""
	}
	var has [7]bool
	for _, d := range days {
		has[d] = true
	}
	for words, week := range map[string][7]bool{
		"": {true, true, true, true, true, true, true}, "working days": {1: true, 2: true, 3: true, 4: true, 5: true},
		"weekends": {0: true, 6: true},
	} {
		if has == week {
			return words
		}
	}
	var names []string
	for i := range has {
		if day := time.Weekday((i + 1) % len(has)); has[day] { // A week begins on Monday.
			names = append(names, day.String()+"s")
		}
	}
	return conjunction(names)
}

// timesWords says what a factor makes of a price.
func timesWords(f Factor) string {
	const half, twice = factorOne / 2, factorOne * 2
	switch f {
	case half:
		return "half price"
	case factorOne:
		return "the same price"
	case twice:
		return "twice the price"
	}
	return f.String() + " times the price"
}

// ratesWords are prices grouped by their quantities: "$2.50 input, $15.00 output per 1M tokens; $10.00 per 1,000 web searches".
func ratesWords(rates []billing.Rate) string {
	var quantities []string
	amounts := map[string][]string{}
	for _, r := range rates {
		amount, quantity := Quote(r)
		text := Dollars(amount)
		if r.Meter.Info().Unit == meter.UnitToken {
			text += " " + lowerLabel(r.Meter)
		}
		if amounts[quantity] == nil {
			quantities = append(quantities, quantity)
		}
		amounts[quantity] = append(amounts[quantity], text)
	}
	groups := make([]string, len(quantities))
	for i, quantity := range quantities {
		groups[i] = strings.Join(amounts[quantity], ", ") + " per " + quantity
	}
	return strings.Join(groups, "; ")
}

// lowerLabel is the label of a meter within a sentence. Abbreviations stay as they are.
func lowerLabel(m meter.Meter) string {
	label := m.Info().Label
	const abbreviation = 2
	if label[:abbreviation] == strings.ToUpper(label[:abbreviation]) {
		return label
	}
	return strings.ToLower(label[:1]) + label[1:]
}

// conjunction joins words as a sentence does: "a, b and c".
func conjunction(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
