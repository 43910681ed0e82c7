package catalog

import (
	"time"

	"umg/app/meter"
	"umg/billing"
)

// listedPrice is one price in the list of models: dollars as an exact decimal, for a quantity of a unit.
type listedPrice struct {
	Meter string `json:"meter"`
	Price string `json:"price"`
	Per   int64  `json:"per"`
	Unit  string `json:"unit"`
	// Size is set for the price of one size of the output.
	Size string `json:"size,omitempty"`
	// Text is the price as a person reads it.
	Text string `json:"text"`
}

// listedCondition is other prices for some calls: those for which all of the members before Text hold. It has prices, or a factor for
// the prices that hold so far.
type listedCondition struct {
	PromptOver  int64    `json:"prompt_over,omitempty"`
	EachOver    int64    `json:"each_over,omitempty"`
	ServiceTier string   `json:"service_tier,omitempty"`
	Region      string   `json:"region,omitempty"`
	Speed       string   `json:"speed,omitempty"`
	Size        string   `json:"size,omitempty"`
	Quality     string   `json:"quality,omitempty"`
	Hours       []string `json:"hours,omitempty"`
	Days        []string `json:"days,omitempty"`
	Except      []string `json:"except,omitempty"`

	Text   string        `json:"text"`
	Prices []listedPrice `json:"prices,omitempty"`
	Times  string        `json:"times,omitempty"`
	Meters []string      `json:"meters,omitempty"`
}

// PriceText is a price as a person reads it: "input $2.50 per 1M tokens", or "$10.00 per 1,000 web searches".
func PriceText(r billing.Rate) string {
	amount, quantity := Quote(r)
	text := Dollars(amount) + " per " + quantity
	if r.Meter.Info().Unit == meter.UnitToken {
		text = lowerLabel(r.Meter) + " " + text
	}
	return text
}

// PriceLines is the price list of the model as a person reads it: a line for each price, and one for each condition. Prices of sizes
// are not among them.
func (m *Model) PriceLines() []string {
	lines := make([]string, 0, len(m.RateCard.Rates)+len(m.RateCard.Conditions))
	for _, r := range m.RateCard.Rates {
		lines = append(lines, PriceText(r))
	}
	for i := range m.RateCard.Conditions {
		lines = append(lines, ConditionWords(&m.RateCard, i))
	}
	return lines
}

func listedPricesOf(rates []billing.Rate, size string) []listedPrice {
	list := make([]listedPrice, len(rates))
	for i, r := range rates {
		price := PriceOf(r)
		list[i] = listedPrice{
			Meter: r.Meter.String(), Price: price.Amount.String(), Per: price.Per, Unit: string(r.Meter.Info().Unit), Size: size, Text: PriceText(r),
		}
	}
	return list
}

func (m *Model) listedPrices() []listedPrice {
	list := listedPricesOf(m.RateCard.Rates, "")
	for _, size := range sortedKeys(m.SizeRateCards) {
		list = append(list, listedPricesOf(m.SizeRateCards[size].Rates, size)...)
	}
	return list
}

func (m *Model) listedConditions() []listedCondition {
	var list []listedCondition
	for i := range m.RateCard.Conditions {
		c := &m.RateCard.Conditions[i]
		l := listedCondition{
			PromptOver: c.PromptOver, EachOver: c.EachOver, ServiceTier: c.ServiceTier, Region: c.Region, Speed: c.Speed, Size: c.Size,
			Quality: c.Quality, Text: ConditionWords(&m.RateCard, i), Prices: listedPricesOf(c.Rates, ""),
		}
		if c.EachOver > 0 && len(c.Rates) > 0 {
			l.EachOver /= c.Rates[0].Meter.Info().Unit.Scale()
		}
		if c.Times > 0 {
			l.Times = Factor(c.Times).String()
		}
		for _, counted := range c.Meters {
			l.Meters = append(l.Meters, counted.String())
		}
		if s := c.Schedule; s != nil {
			for _, h := range s.Hours {
				l.Hours = append(l.Hours, HourRange(h).String())
			}
			for _, day := range s.Weekdays {
				l.Days = append(l.Days, dayWords[day])
			}
			l.Except = s.Except
		}
		list = append(list, l)
	}
	return list
}

// ConditionTerms are terms of a call for which a condition of a card holds, as far as it depends on terms, and as few others as
// possible. For a negative number they are those of the usual service, outside of the hours of conditions where there is such a time.
func ConditionTerms(card *billing.RateCard, i int) meter.Terms {
	var t meter.Terms
	var schedules []*billing.Schedule
	for j := range card.Conditions {
		if s := card.Conditions[j].Schedule; s != nil {
			schedules = append(schedules, s)
		}
	}
	var own *billing.Schedule
	if i >= 0 {
		c := &card.Conditions[i]
		t = meter.Terms{ServiceTier: c.ServiceTier, Region: c.Region, Speed: c.Speed, Size: c.Size, Quality: c.Quality}
		own = c.Schedule
	}
	if len(schedules) == 0 {
		return t
	}
	fewest := len(schedules) + 1
	for _, at := range distinctTimes(schedules) {
		if own != nil && !own.Holds(at) {
			continue
		}
		if n := countHolding(schedules, at); n < fewest {
			fewest, t.At = n, at
		}
	}
	return t
}

func countHolding(schedules []*billing.Schedule, at time.Time) (n int) {
	for _, s := range schedules {
		if s.Holds(at) {
			n++
		}
	}
	return n
}
