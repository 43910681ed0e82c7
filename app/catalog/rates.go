package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
)

// Rates are the prices of a model by meter, such as input_tokens: 0.15 per 1M.
type Rates map[string]Price

// Price is dollars per a quantity of a meter. In the file a quantity of seconds is in seconds.
type Price struct {
	Amount app.Amount
	Per    int64
}

// quantities are the only ones prices may be per, so that every price per unit is a finite decimal.
var quantities = []struct {
	word string
	n    int64
	// zero is how many more decimal places the price of one unit has than an amount.
	zero int
}{{"1", 1, 0}, {"1K", 1_000, 3}, {"1M", 1_000_000, 6}}

// millisecondsPerSecond is what turns a price per second into the rate of a meter that counts milliseconds.
const millisecondsPerSecond = 1_000

// ParsePrice reads "0.15 per 1M".
func ParsePrice(s string) (Price, error) {
	dollars, word, ok := strings.Cut(s, " per ")
	if ok {
		amount, err := app.ParseAmount(dollars)
		if err != nil {
			return Price{}, err
		}
		for _, q := range quantities {
			if q.word == word {
				return Price{Amount: amount, Per: q.n}, nil
			}
		}
	}
	return Price{}, fmt.Errorf("%q is not a price; write dollars per 1, 1K or 1M, such as 0.15 per 1M", s)
}

// String prints the price as the file has it.
func (p Price) String() string {
	for _, q := range quantities {
		if q.n == p.Per {
			return p.Amount.String() + " per " + q.word
		}
	}
	return fmt.Sprintf("%s per %d", p.Amount, p.Per)
}

// PerUnit is the exact price of one unit in decimal dollars, as the model list gives it.
func (p Price) PerUnit() string {
	for _, q := range quantities {
		if q.n == p.Per {
			return shiftRight(p.Amount, q.zero)
		}
	}
	return ""
}

// shiftRight divides an amount by a power of ten without rounding.
func shiftRight(a app.Amount, places int) string {
	whole, fraction, _ := strings.Cut(a.String(), ".")
	whole = strings.Repeat("0", places) + whole
	point := len(whole) - places
	fraction = strings.TrimRight(whole[point:]+fraction, "0")
	whole = strings.TrimLeft(whole[:point], "0")
	if whole == "" {
		whole = "0"
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// UnmarshalYAML reads the scalar as text, so that no price passes through a float.
func (p *Price) UnmarshalYAML(v *yaml.Node) error {
	price, err := ParsePrice(v.Value)
	if err != nil {
		return fmt.Errorf("line %d: %w", v.Line, err)
	}
	*p = price
	return nil
}

// MarshalYAML prints the price as text.
func (p Price) MarshalYAML() (any, error) { return p.String(), nil }

// card converts prices to the rates that billing computes with, in the order of the meters.
func (r Rates) card(id string) (billing.RateCard, error) {
	card := billing.RateCard{ID: id}
	for name, price := range r {
		counted, err := meter.Parse(name)
		if err != nil {
			return card, err
		}
		per := price.Per
		if counted == meter.Seconds {
			per *= millisecondsPerSecond
		}
		card.Rates = append(card.Rates, billing.Rate{Meter: counted, Amount: price.Amount, Per: per})
	}
	slices.SortFunc(card.Rates, func(a, b billing.Rate) int { return int(a.Meter) - int(b.Meter) })
	return card, card.Check()
}

// PriceOf returns a rate as the file has it: billing counts milliseconds where the file has seconds.
func PriceOf(r billing.Rate) Price {
	if r.Meter == meter.Seconds {
		return Price{Amount: r.Amount, Per: r.Per / millisecondsPerSecond}
	}
	return Price{Amount: r.Amount, Per: r.Per}
}

// storedRate is one rate of a rate card in the database: nano-dollars per a quantity of the smallest unit of the meter.
type storedRate struct {
	Size   string `json:"size,omitempty"`
	Meter  string `json:"meter"`
	Amount nanos  `json:"amount"`
	Per    int64  `json:"per"`
}

// nanos is an amount that travels as its integer; app.Amount itself prints dollars.
type nanos int64

// storedRates flattens a model's rates and size rates, in a fixed order, so that equal prices compare equal.
func (m *FileModel) storedRates() ([]storedRate, error) {
	var all []storedRate
	add := func(size string, rates Rates) error {
		if len(rates) == 0 {
			return nil
		}
		card, err := rates.card("")
		if err != nil {
			return err
		}
		for _, r := range card.Rates {
			all = append(all, storedRate{Size: size, Meter: r.Meter.String(), Amount: nanos(r.Amount), Per: r.Per})
		}
		return nil
	}
	if err := add("", m.Rates); err != nil {
		return nil, err
	}
	for _, size := range sortedKeys(m.SizeRates) {
		if err := add(size, m.SizeRates[size]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// takeRates is the opposite of storedRates.
func (m *FileModel) takeRates(stored []storedRate) error {
	for _, s := range stored {
		counted, err := meter.Parse(s.Meter)
		if err != nil {
			return err
		}
		price := PriceOf(billing.Rate{Meter: counted, Amount: app.Amount(s.Amount), Per: s.Per})
		if s.Size == "" {
			if m.Rates == nil {
				m.Rates = Rates{}
			}
			m.Rates[s.Meter] = price
			continue
		}
		if m.SizeRates == nil {
			m.SizeRates = map[string]Rates{}
		}
		if m.SizeRates[s.Size] == nil {
			m.SizeRates[s.Size] = Rates{}
		}
		m.SizeRates[s.Size][s.Meter] = price
	}
	return nil
}

func sortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
