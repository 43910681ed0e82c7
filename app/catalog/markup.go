package catalog

import (
	"fmt"
	"math/big"
	"slices"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
)

const (
	// priceMax is the highest amount of a price: a million dollars.
	priceMax = 1_000_000 * app.Dollar
	// markupMax bounds the markup, as billing bounds the factor of a condition.
	markupMax = 100 * factorOne
	// thousand is the factor between the quantities of prices.
	thousand = 1_000
)

// firstRoute is the route that is tried first; nil for a model without routes.
func (m *FileModel) firstRoute() *FileRoute {
	var first *FileRoute
	for i := range m.Routes {
		if first == nil || m.Routes[i].Order < first.Order {
			first = &m.Routes[i]
		}
	}
	return first
}

// withMarkups is the file with the prices that markups make, as it is in force.
func (f File) withMarkups() (File, error) {
	if !slices.ContainsFunc(f.Models, func(m FileModel) bool { return m.Markup > 0 }) {
		return f, nil
	}
	f.Models = slices.Clone(f.Models)
	for i := range f.Models {
		if err := f.Models[i].applyMarkup(); err != nil {
			return f, fmt.Errorf("catalog: model %s: %w", f.Models[i].ID, err)
		}
	}
	return f, nil
}

// withoutMarkupPrices is the file as an operator writes it: a model with a markup has no prices of its own.
func (f File) withoutMarkupPrices() File {
	f.Models = slices.Clone(f.Models)
	for i := range f.Models {
		if m := &f.Models[i]; m.Markup > 0 {
			m.Rates, m.Conditions = nil, nil
		}
	}
	return f
}

// applyMarkup sets the prices of a model with a markup.
func (m *FileModel) applyMarkup() error {
	if m.Markup == 0 {
		return nil
	}
	route := m.firstRoute()
	if route == nil || route.Cost == nil || len(route.Cost.Rates) == 0 {
		return fmt.Errorf("a markup needs the cost of the first route")
	}
	var err error
	if m.Rates, err = route.Cost.Rates.markedUp(m.Markup); err != nil {
		return err
	}
	m.Conditions = slices.Clone(route.Cost.Conditions)
	for i := range m.Conditions {
		if m.Conditions[i].Rates, err = m.Conditions[i].Rates.markedUp(m.Markup); err != nil {
			return err
		}
	}
	return nil
}

// Prices are the prices of the model, in the form of a cost. Those that a markup makes are computed.
func (m *FileModel) Prices() (FileCost, error) {
	priced := *m
	err := priced.applyMarkup()
	return FileCost{Rates: priced.Rates, Conditions: priced.Conditions}, err
}

// markedUp multiplies all prices. Nil stays nil.
func (r Rates) markedUp(by Factor) (Rates, error) {
	if r == nil {
		return nil, nil
	}
	up := make(Rates, len(r))
	for name, price := range r {
		m, err := meter.Parse(name)
		if err != nil {
			return nil, err
		}
		marked, fits := price.markedUp(by, perMax/m.Info().Unit.Scale())
		if !fits {
			return nil, fmt.Errorf("the markup makes the price of %s more than can be charged", name)
		}
		up[name] = marked
	}
	return up, nil
}

// markedUp multiplies a price. The result is for the same quantity when it is exact there, and otherwise for the largest possible one,
// at which it is rounded up to a nano-dollar.
func (p Price) markedUp(by Factor, perMost int64) (Price, bool) {
	product := new(big.Int).Mul(big.NewInt(int64(p.Amount)), big.NewInt(int64(by)))
	one := big.NewInt(int64(factorOne))
	at := func(per int64) (amount, rest *big.Int) {
		return new(big.Int).DivMod(new(big.Int).Mul(product, big.NewInt(per/p.Per)), one, new(big.Int))
	}
	most := big.NewInt(int64(priceMax))
	if amount, rest := at(p.Per); rest.Sign() == 0 && amount.Cmp(most) <= 0 {
		return Price{Amount: app.Amount(amount.Int64()), Per: p.Per}, true
	}
	for per := perMost; per >= p.Per; per /= thousand {
		amount, rest := at(per)
		if rest.Sign() > 0 {
			amount.Add(amount, big.NewInt(1))
		}
		if amount.Cmp(most) <= 0 {
			return Price{Amount: app.Amount(amount.Int64()), Per: per}, true
		}
	}
	return Price{}, false
}

// checkMarkup adds the problems of a markup, and of the prices that it makes.
func (m *FileModel) checkMarkup(p problems) {
	route := m.firstRoute()
	switch {
	case m.Markup == 0:
		return
	case m.Markup < 0 || m.Markup > markupMax:
		p.addf("markup", "%s is not between 0 and %s", m.Markup, markupMax)
		return
	case route == nil:
		p.addf("markup", "needs a route with a cost")
		return
	case route.Cost == nil || len(route.Cost.Rates) == 0:
		p.addf("markup", "needs the cost of the first route, which is %s at %s", route.Model, route.Provider)
		return
	}
	priced := *m
	if err := priced.applyMarkup(); err != nil {
		p.addf("markup", "%v", err)
		return
	}
	card, err := newCard("", priced.Rates, priced.Conditions)
	if err != nil {
		p.addf("markup", "%v", err)
		return
	}
	m.checkMeters(p, card)
}

// card is the rate card of the file's prices, those of a markup included. It reports false when they have problems.
func (m *FileModel) card() (billing.RateCard, bool) {
	priced := *m
	if err := priced.applyMarkup(); err != nil || len(priced.Rates) == 0 {
		return billing.RateCard{}, false
	}
	card, err := newCard("", priced.Rates, priced.Conditions)
	return card, err == nil
}
