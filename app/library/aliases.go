package library

import (
	"regexp"
	"slices"
	"strings"
)

// aliasForm is what the catalog takes as an alias, without capitals.
var aliasForm = regexp.MustCompile(`^[a-z0-9@][a-z0-9@._:+-]*(/[a-z0-9@][a-z0-9@._:+-]*)*$`)

// setAliases gives each offer the provider's spellings, and those of the maker of the model, as far as they mean no other model.
func (l *Library) setAliases() {
	means := map[string]string{}
	for i := range l.Models {
		means[l.Models[i].ID] = l.Models[i].ID
	}
	each := func(do func(m *Model, o *Offer, alias string)) {
		for i := range l.Models {
			m := &l.Models[i]
			for j := range m.Offers {
				o := &m.Offers[j]
				for _, name := range spellings(m, o) {
					do(m, o, name)
				}
			}
		}
	}
	const several = "*"
	each(func(m *Model, _ *Offer, alias string) {
		if id, ok := means[alias]; ok && id != m.ID {
			means[alias] = several
		} else {
			means[alias] = m.ID
		}
	})
	found := map[*Offer][]string{}
	each(func(m *Model, o *Offer, alias string) {
		if means[alias] == m.ID && alias != m.ID && !slices.Contains(found[o], alias) {
			found[o] = append(found[o], alias)
		}
	})
	for i := range l.Models {
		m := &l.Models[i]
		for j := range m.Offers {
			m.Offers[j].Aliases = found[&m.Offers[j]]
		}
	}
}

// spellings are the names that may be aliases of an offer.
func spellings(m *Model, o *Offer) []string {
	names := slices.Concat(o.Aliases, []string{o.Model}, m.Offers[0].Aliases, []string{m.Offers[0].Model})
	var out []string
	for _, name := range names {
		name = strings.ToLower(name)
		if !aliasForm.MatchString(name) {
			continue
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
		if long := "models/" + name; o.Preset == "gemini" && !strings.Contains(name, "/") && !slices.Contains(out, long) {
			out = append(out, long)
		}
	}
	slices.Sort(out)
	return out
}
