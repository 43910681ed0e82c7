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

// ParsePrice reads "0.15 per 1M".
func ParsePrice(s string) (Price, error) {
	dollars, word, ok := strings.Cut(s, " per ")
	if ok {
		amount, err := app.ParseAmount(dollars)
		if err != nil {
			return Price{}, fmt.Errorf("%w; a finer price is written per 1K or per 1M", err)
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

// PerMillion is the price of a million units, by which prices compare. It is zero for no price.
func (p Price) PerMillion() app.Amount {
	const million = 1_000_000
	if p.Per <= 0 {
		return 0
	}
	return p.Amount * app.Amount(million/p.Per)
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

// UnmarshalYAML reads the prices of all meters. Errors name the line and the meter.
func (r *Rates) UnmarshalYAML(v *yaml.Node) error {
	var prices map[string]yaml.Node
	if err := v.Decode(&prices); err != nil {
		return err
	}
	*r = make(Rates, len(prices))
	for _, name := range sortedKeys(prices) {
		node := prices[name]
		var text string
		if err := node.Decode(&text); err != nil {
			return fmt.Errorf("line %d: %s: a price is a text such as 0.15 per 1M", node.Line, name)
		}
		price, err := ParsePrice(text)
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", node.Line, name, err)
		}
		(*r)[name] = price
	}
	return nil
}

// MarshalYAML prints the price as text.
func (p Price) MarshalYAML() (any, error) { return p.String(), nil }

// card converts prices to a rate card without conditions, in the order of the meters.
func (r Rates) card(id string) (billing.RateCard, error) { return newCard(id, r, nil) }

// newCard converts prices and conditions of a file to a rate card.
func newCard(id string, r Rates, conditions []FileCondition) (billing.RateCard, error) {
	card := billing.RateCard{ID: id}
	var err error
	if card.Rates, err = r.rates(); err != nil {
		return card, err
	}
	for i := range conditions {
		c, err := conditions[i].condition()
		if err != nil {
			return card, fmt.Errorf("condition %d: %w", i+1, err)
		}
		card.Conditions = append(card.Conditions, c)
	}
	return card, card.Check()
}

// perMax is the largest quantity of a rate, in stored units of its meter.
const perMax = 1_000_000

// rates converts prices to the rates that billing computes with, in the order of the meters.
func (r Rates) rates() ([]billing.Rate, error) {
	var rates []billing.Rate
	for name, price := range r {
		counted, err := meter.Parse(name)
		if err != nil {
			return nil, err
		}
		per := price.Per * counted.Info().Unit.Scale()
		if per > perMax {
			return nil, fmt.Errorf("%s is counted in thousandths, so its price must be per 1 or 1K, not %s", name, price)
		}
		rates = append(rates, billing.Rate{Meter: counted, Amount: price.Amount, Per: per})
	}
	slices.SortFunc(rates, func(a, b billing.Rate) int { return int(a.Meter) - int(b.Meter) })
	return rates, nil
}

// PriceOf returns a rate as the file has it: billing counts thousandths of the units that have a scale, such as milliseconds.
func PriceOf(r billing.Rate) Price {
	scale := r.Meter.Info().Unit.Scale()
	if r.Per < scale {
		return Price{Amount: r.Amount * app.Amount(scale/r.Per), Per: 1}
	}
	return Price{Amount: r.Amount, Per: r.Per / scale}
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
	all, err := m.Rates.stored("")
	for _, size := range sortedKeys(m.SizeRates) {
		if err != nil {
			break
		}
		var more []storedRate
		more, err = m.SizeRates[size].stored(size)
		all = append(all, more...)
	}
	return all, err
}

// stored are the rates as the database keeps them.
func (r Rates) stored(size string) ([]storedRate, error) {
	rates, err := r.rates()
	all := make([]storedRate, len(rates))
	for i, rate := range rates {
		all[i] = storedRate{Size: size, Meter: rate.Meter.String(), Amount: nanos(rate.Amount), Per: rate.Per}
	}
	return all, err
}

// takeRates is the opposite of storedRates.
func (m *FileModel) takeRates(stored []storedRate) error {
	for _, s := range stored {
		counted, err := meter.Parse(s.Meter)
		if err != nil {
			return err
		}
		if s.Per < 1 {
			return fmt.Errorf("the rate of %s is per %d", s.Meter, s.Per)
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
