package library

import (
	"slices"
	"strings"

	"umg/app"
	"umg/app/catalog"
)

// applyRules changes the offers by the rules of the facts.
func (b *builder) applyRules() {
	for i := range b.facts.Rules {
		r := &b.facts.Rules[i]
		b.drafts = slices.DeleteFunc(b.drafts, func(d draft) bool { return r.Skip && r.holds(&d) })
		for j := range b.drafts {
			if d := &b.drafts[j]; r.holds(d) {
				b.applyRule(r, d)
			}
		}
	}
}

// costAt is what a provider charges for an offer. A field whose value is not known counts as one with the surcharge.
func costAt(p *catalog.FileProvider, modelID string, cost *catalog.FileCost) (*catalog.FileCost, error) {
	known, err := loadFacts()
	if err != nil || cost == nil {
		return cost, err
	}
	for i := range known.Surcharges {
		s := &known.Surcharges[i]
		if s.Preset == p.Preset && s.Models.MatchString(modelID) && !slices.Contains(s.Except, p.With[s.Field]) {
			cost = times(cost, s.Times)
		}
	}
	return cost, nil
}

func (r *factRule) holds(d *draft) bool {
	return slices.Contains(r.Presets, d.offer.Preset) && r.Models.MatchString(d.model.ID) &&
		(r.Input == "" || slices.Contains(d.model.Input, r.Input))
}

func (b *builder) applyRule(r *factRule, d *draft) {
	if r.Cost != nil && (d.offer.Cost == nil || b.day <= b.facts.Date) {
		d.offer.Cost = clone(r.Cost)
	}
	if !r.Shutdown.IsZero() {
		d.offer.Shutdown = r.Shutdown
	}
	if d.offer.Cost == nil {
		return
	}
	if r.Regional > 0 {
		plain, _, _ := strings.Cut(d.model.ID, ":")
		at := slices.IndexFunc(b.drafts, func(o draft) bool {
			return o.offer.Preset == d.offer.Preset && o.model.ID == plain && o.offer.Cost != nil
		})
		if at >= 0 {
			d.offer.Cost = times(b.drafts[at].offer.Cost, r.Regional)
		}
	}
	for _, m := range r.Multiples {
		addMultiple(d.offer.Cost.Rates, m)
		for i := range d.offer.Cost.Conditions {
			addMultiple(d.offer.Cost.Conditions[i].Rates, m)
		}
	}
	for name, price := range r.Rates {
		if _, ok := d.offer.Cost.Rates[name]; !ok {
			d.offer.Cost.Rates[name] = price
		}
	}
	for _, c := range r.Conditions {
		isThere := slices.ContainsFunc(d.offer.Cost.Conditions, func(o catalog.FileCondition) bool {
			return conditionText(&o) == conditionText(&c)
		})
		if !isThere {
			d.offer.Cost.Conditions = append(d.offer.Cost.Conditions, c)
		}
	}
}

func conditionText(c *catalog.FileCondition) string {
	return costText(&catalog.FileCost{Conditions: []catalog.FileCondition{*c}})
}

// addMultiple adds the price of a meter that has none.
func addMultiple(rates catalog.Rates, m multiple) {
	of, ok := rates[m.Of]
	if _, isPriced := rates[m.Meter]; ok && !isPriced {
		rates[m.Meter] = timesPrice(of, m.Times)
	}
}

func timesPrice(p catalog.Price, by catalog.Factor) catalog.Price {
	return catalog.Price{Amount: p.Amount * app.Amount(by) / app.Amount(atCost), Per: p.Per}
}

// times multiplies all prices of a cost.
func times(c *catalog.FileCost, by catalog.Factor) *catalog.FileCost {
	out := clone(c)
	for name, price := range out.Rates {
		out.Rates[name] = timesPrice(price, by)
	}
	for i := range out.Conditions {
		for name, price := range out.Conditions[i].Rates {
			out.Conditions[i].Rates[name] = timesPrice(price, by)
		}
	}
	return out
}
