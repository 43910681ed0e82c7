package library

import (
	"fmt"
	"slices"
	"time"

	"umg/app/catalog"
)

// announcedAhead is how long before a price rises it is announced. Customers get a mail two weeks before.
const announcedAhead = 15 * 24 * time.Hour

// Follow returns the catalog with the costs of a newer library, and a line for each change. Only routes whose cost is that of the older
// library get a new one, because any other cost is the operator's own. A price that a markup makes and that would rise stays until
// announcedAhead after now, and the rise is announced. A price that only falls does so at once.
func Follow(f catalog.File, old, next *Library, now time.Time) (catalog.File, []string, error) {
	providers := map[string]*catalog.FileProvider{}
	for i := range f.Providers {
		providers[f.Providers[i].ID] = &f.Providers[i]
	}
	before, after := old.costs(), next.costs()
	f.Models = slices.Clone(f.Models)
	var lines []string
	for i := range f.Models {
		m := &f.Models[i]
		priced := *m
		priced.Routes = slices.Clone(m.Routes)
		changed := false
		for j := range priced.Routes {
			r := &priced.Routes[j]
			p := providers[r.Provider]
			if p == nil || r.Cost == nil {
				continue
			}
			was, err := before.at(p, r.Model)
			if err != nil {
				return f, nil, err
			}
			is, err := after.at(p, r.Model)
			if err != nil {
				return f, nil, err
			}
			if was == nil || is == nil || !sameCost(r.Cost, was) || sameCost(was, is) {
				continue
			}
			for _, c := range costChanges(was, is) {
				lines = append(lines, fmt.Sprintf("%s: cost at %s: %s: %s → %s", m.ID, r.Provider, c.What, orNone(c.Old), orNone(c.New)))
			}
			r.Cost, changed = clone(is), true
		}
		if !changed {
			continue
		}
		line, err := followPrice(m, &priced, now)
		if err != nil {
			return f, nil, err
		}
		*m = priced
		if line != "" {
			lines = append(lines, line)
		}
	}
	return f, lines, nil
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// offerKey is a name of a model in calls to the providers of a preset.
type offerKey struct{ preset, model string }

// offerCosts are the known costs of offers, with the ids of their models.
type offerCosts map[offerKey]struct {
	id   string
	cost *catalog.FileCost
}

// at is the cost of a model at a provider; nil when it is not known.
func (c offerCosts) at(p *catalog.FileProvider, model string) (*catalog.FileCost, error) {
	o := c[offerKey{p.Preset, model}]
	return costAt(p, o.id, o.cost)
}

// costs are the known costs of all offers.
func (l *Library) costs() offerCosts {
	all := offerCosts{}
	for i := range l.Models {
		for j := range l.Models[i].Offers {
			if o := &l.Models[i].Offers[j]; o.Cost != nil {
				all[offerKey{o.Preset, o.Model}] = struct {
					id   string
					cost *catalog.FileCost
				}{l.Models[i].ID, o.Cost}
			}
		}
	}
	return all
}

// followPrice keeps the price of a model with a markup until a rise is announced. It returns a line about the price; empty when the price
// stays.
func followPrice(before, after *catalog.FileModel, now time.Time) (string, error) {
	if before.Markup == 0 {
		return "", nil
	}
	old, err := before.Prices()
	if err != nil {
		return "", err
	}
	next, err := after.Prices()
	if err != nil || sameCost(&old, &next) {
		return "", err
	}
	if before.Announced != nil {
		after.Rates, after.Conditions, after.Markup = old.Rates, old.Conditions, 0
		return fmt.Sprintf("%s: the price stays, because another one is announced for %s", after.ID, dayText(before.Announced.From)), nil
	}
	if !rises(&old, &next) {
		return fmt.Sprintf("%s: the price falls at once", after.ID), nil
	}
	from := now.UTC().Truncate(24 * time.Hour).Add(announcedAhead)
	after.Rates, after.Conditions, after.Markup = old.Rates, old.Conditions, 0
	after.Announced = &catalog.FileAnnounced{
		From: catalog.Date(from), Rates: next.Rates, Conditions: next.Conditions, Markup: before.Markup,
	}
	return fmt.Sprintf("%s: the price rises, which is announced for %s; until then it stays", after.ID, from.Format(time.DateOnly)), nil
}

// rises reports whether a price of next may be higher than before. Other conditions count as a rise.
func rises(old, next *catalog.FileCost) bool {
	for name, price := range next.Rates {
		was, ok := old.Rates[name]
		if !ok || price.PerMillion() > was.PerMillion() {
			return true
		}
	}
	if len(old.Conditions) != len(next.Conditions) {
		return len(next.Conditions) > 0
	}
	for i := range next.Conditions {
		a, b := old.Conditions[i], next.Conditions[i]
		rates, others := catalog.FileCost{Rates: a.Rates}, catalog.FileCost{Rates: b.Rates}
		a.Rates, b.Rates = nil, nil
		if conditionText(&a) != conditionText(&b) || rises(&rates, &others) {
			return true
		}
	}
	return false
}
