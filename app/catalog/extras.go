package catalog

import (
	"slices"

	"umg/app/llm"
	"umg/app/meter"
	"umg/billing"
)

// Extra is a request of a client for something that a provider does beside answering. The gateway sends it to a provider only when the
// provider does it and the rate card of the model has a price for it.
type Extra struct {
	// Field is the path of the member in a request, with the values that ask for the extra.
	Field string
	// What names the extra in documents and errors.
	What string
	// Fate is what the gateway does with the member: it leaves the member out, or refuses the request.
	Fate string

	// At is the path of the member in the form that package dialect uses.
	At string
	// Refused means that every request with it is refused.
	Refused bool
	// Limited means that only some types or values at the path ask for it.
	Limited bool
	// Free are the values that do not ask for it.
	Free []string
	// Advice is what to do instead, as a sentence.
	Advice string

	// Words are the types or values that ask for the extra, as clients write them, with # for digits. There are none when the member
	// alone asks for it.
	Words []string
	// By has the names of the usage readers of the providers that do this. Without any it is never offered.
	By []string
	// Meters are those for which a rate card must have prices of its own, and Terms those for which it must have a condition.
	Meters []meter.Meter
	Terms  meter.Terms
	// NoFee means that the prices of Meters must be zero, because the provider takes no fee and counts no uses.
	NoFee bool
}

// Offerable reports whether a model can offer the extra.
func (x *Extra) Offerable() bool { return len(x.By) > 0 }

// offered returns the rows that a provider with a usage reader does and a rate card prices.
func offered(rows []Extra, reader string, card *billing.RateCard) (set llm.ExtraSet) {
	for i := range rows {
		x := &rows[i]
		if slices.Contains(x.By, reader) && x.isPriced(card) && hasTerms(card, &x.Terms) {
			set.Add(i)
		}
	}
	return set
}

// isPriced reports whether a card has prices of its own for all of the meters. A price that a meter shares with another one does not
// count, since the provider has another price for it.
func (x *Extra) isPriced(card *billing.RateCard) bool {
	for _, m := range x.Meters {
		of := func(r billing.Rate) bool { return r.Meter == m && (!x.NoFee || r.Amount == 0) }
		inCondition := func(c billing.Condition) bool { return slices.ContainsFunc(c.Rates, of) }
		if !slices.ContainsFunc(card.Rates, of) && !slices.ContainsFunc(card.Conditions, inCondition) {
			return false
		}
	}
	return true
}

// hasTerms reports whether a card has a condition for terms that holds for calls of any size and at any time.
func hasTerms(card *billing.RateCard, t *meter.Terms) bool {
	if *t == (meter.Terms{}) {
		return true
	}
	return slices.ContainsFunc(card.Conditions, func(c billing.Condition) bool {
		return c.ServiceTier == t.ServiceTier && c.Region == t.Region && c.Speed == t.Speed && c.Size == t.Size && c.Quality == t.Quality &&
			c.PromptOver == 0 && c.EachOver == 0 && c.Schedule == nil
	})
}

// usageReader is the name of the reader of the provider's usage in a style.
func (p *Provider) usageReader(style llm.Style) string {
	if p.UsageReader != "" {
		return p.UsageReader
	}
	return styleReaders[style]
}

// Extras are the rows of the table of extras of a style that at least one route of the model serves.
func (m *Model) Extras(style llm.Style) llm.ExtraSet { return m.extras[style] }

// prepareExtras notes for each route what its provider does beside answering and the model has a price for. It returns what the routes
// offer in each style, also those that cannot be used now.
func (m *Model) prepareExtras(rowsOf func(llm.Style) []Extra) map[llm.Style]llm.ExtraSet {
	m.extras = map[llm.Style]llm.ExtraSet{}
	all := map[llm.Style]llm.ExtraSet{}
	note := func(sets map[llm.Style]llm.ExtraSet, r *Route) {
		set := sets[r.Style]
		set.AddAll(r.Extras)
		sets[r.Style] = set
	}
	for _, routes := range [][]Route{m.Routes, m.IdleRoutes} {
		for i := range routes {
			r := &routes[i]
			if !slices.Contains(llm.Styles(), r.Style) {
				continue
			}
			r.Extras = offered(rowsOf(r.Style), r.Provider.usageReader(r.Style), &m.RateCard)
			note(all, r)
		}
	}
	for i := range m.Routes {
		note(m.extras, &m.Routes[i])
	}
	return all
}

// Offering returns the ids of at most so many models that can be called, offer one of the rows of a style and meet a condition.
func (s *Snapshot) Offering(style llm.Style, rows llm.ExtraSet, most int, may func(id string) bool) (ids []string) {
	for _, m := range s.models {
		if len(ids) == most {
			break
		}
		if m.Available && !m.Paused && m.Serves(style) && m.Extras(style).Meets(rows) && m.IsAllowed(may) {
			ids = append(ids, m.ID)
		}
	}
	return ids
}
