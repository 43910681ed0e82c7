package change

import (
	"umg/app"
	"umg/app/catalog"
)

// Price is one way to price a model: exactly one of Markup, Rates and Announced is set.
type Price struct {
	// Markup makes the prices from the cost of the first route. It replaces rates, size rates and conditions.
	Markup catalog.Factor
	// Rates are the prices from now on. They replace a markup.
	Rates catalog.Rates
	// Conditions are other prices for some calls, beside Rates.
	Conditions []catalog.FileCondition
	// SizeRates are rates that differ by output size, beside Rates.
	SizeRates map[string]catalog.Rates
	// Announced are the prices from a later day on. The others stay until then.
	Announced *catalog.FileAnnounced
}

// SetPrice sets or announces the prices of a model. Announced prices stay announced when the present ones change.
func SetPrice(f catalog.File, id string, p Price) (catalog.File, error) {
	ways := 0
	for _, isSet := range []bool{p.Markup != 0, len(p.Rates) > 0, p.Announced != nil} {
		if isSet {
			ways++
		}
	}
	switch {
	case ways == 0:
		return f, app.InvalidValue("price", "The price of %s is missing: set a markup, rates, or announced rates.", id)
	case ways > 1:
		return f, app.InvalidValue("price", "The price of %s is set in %d ways: set a markup, rates, or announced rates.", id, ways)
	case len(p.Rates) == 0 && (len(p.Conditions) > 0 || len(p.SizeRates) > 0):
		return f, app.InvalidValue("rates", "The price of %s has conditions or sizes, which need rates.", id)
	}
	return withModel(f, id, func(m *catalog.FileModel) error {
		switch {
		case p.Announced != nil:
			m.Announced = p.Announced
		case p.Markup != 0:
			m.Markup, m.Rates, m.Conditions, m.SizeRates = p.Markup, nil, nil, nil
		default:
			m.Markup, m.Rates, m.Conditions, m.SizeRates = 0, p.Rates, p.Conditions, p.SizeRates
		}
		return nil
	})
}

// WithdrawAnnounced removes the announced prices of a model.
func WithdrawAnnounced(f catalog.File, id string) (catalog.File, error) {
	return withModel(f, id, func(m *catalog.FileModel) error {
		if m.Announced == nil {
			return app.Errorf(app.Conflict, "nothing_announced", "No prices of %s are announced.", id).At("announced")
		}
		m.Announced = nil
		return nil
	})
}
