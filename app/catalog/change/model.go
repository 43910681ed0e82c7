package change

import (
	"slices"

	"umg/app"
	"umg/app/catalog"
)

// AddModels adds models at the end. A model that exists gets the routes that it does not have after its own, in their order; everything
// else of it stays, and so do its prices. A new model loses the aliases that are the id or an alias of another model, and its id is no
// alias of others any more.
func AddModels(f catalog.File, models []catalog.FileModel) (catalog.File, error) {
	next := f
	next.Models = slices.Clone(f.Models)
	names := nameIndex{ids: map[string]int{}, aliases: map[string]int{}}
	for i := range next.Models {
		names.add(i, &next.Models[i])
	}
	for i := range models {
		added := models[i]
		if added.ID == "" {
			return f, app.InvalidValue("id", "Model %d of %d has no id.", i+1, len(models))
		}
		if at, known := names.ids[added.ID]; known {
			next.Models[at].Routes = appendRoutes(next.Models[at].Routes, added.Routes)
			continue
		}
		if at, known := names.aliases[added.ID]; known {
			next.Models[at].Aliases = without(next.Models[at].Aliases, func(alias string) bool { return alias == added.ID })
			delete(names.aliases, added.ID)
		}
		added.Aliases = without(added.Aliases, names.has)
		names.add(len(next.Models), &added)
		next.Models = append(next.Models, added)
	}
	return next, nil
}

// nameIndex has the places of models by their ids and by their aliases.
type nameIndex struct{ ids, aliases map[string]int }

func (n *nameIndex) add(at int, m *catalog.FileModel) {
	n.ids[m.ID] = at
	for _, alias := range m.Aliases {
		n.aliases[alias] = at
	}
}

func (n *nameIndex) has(name string) bool {
	_, isID := n.ids[name]
	_, isAlias := n.aliases[name]
	return isID || isAlias
}

// without is a copy of a list without some texts; nil when none are left.
func without(list []string, is func(string) bool) []string {
	rest := slices.DeleteFunc(slices.Clone(list), is)
	if len(rest) == 0 {
		return nil
	}
	return rest
}

// appendRoutes are routes followed by those of more that are not among them. The new ones are tried after all others.
func appendRoutes(routes, more []catalog.FileRoute) []catalog.FileRoute {
	all, last, first := slices.Clone(routes), 0, 0
	for i := range routes {
		last = max(last, routes[i].Order)
	}
	for i := range more {
		if first == 0 || more[i].Order < first {
			first = more[i].Order
		}
	}
	for _, r := range more {
		if slices.ContainsFunc(all, func(known catalog.FileRoute) bool { return nameOf(&known) == nameOf(&r) }) {
			continue
		}
		r.Order += last + 1 - first
		all = append(all, r)
	}
	return all
}

// ReplaceModel replaces the model with the same id.
func ReplaceModel(f catalog.File, m catalog.FileModel) (catalog.File, error) {
	return withModel(f, m.ID, func(old *catalog.FileModel) error {
		*old = m
		return nil
	})
}

// RetireModel removes a model from the catalog. Other models do not name it any more as their successor, as a fallback or as the model
// with a longer context. Its records and price history stay.
func RetireModel(f catalog.File, id string) (catalog.File, error) {
	i := modelIndex(f, id)
	if i < 0 {
		return f, errNoModel(id)
	}
	f.Models = slices.Delete(slices.Clone(f.Models), i, i+1)
	for i := range f.Models {
		m := &f.Models[i]
		if m.Successor == id {
			m.Successor = ""
		}
		if m.LongerContext == id {
			m.LongerContext = ""
		}
		if slices.Contains(m.Fallbacks, id) {
			m.Fallbacks = without(m.Fallbacks, func(other string) bool { return other == id })
		}
	}
	return f, nil
}

func modelIndex(f catalog.File, id string) int {
	return slices.IndexFunc(f.Models, func(m catalog.FileModel) bool { return m.ID == id })
}

func errNoModel(id string) error {
	return app.Errorf(app.NotFound, "model_not_found", "The catalog has no model with the id %q.", id).At("model")
}

// withModel changes a copy of one model.
func withModel(f catalog.File, id string, set func(*catalog.FileModel) error) (catalog.File, error) {
	i := modelIndex(f, id)
	if i < 0 {
		return f, errNoModel(id)
	}
	next := f
	next.Models = slices.Clone(f.Models)
	if err := set(&next.Models[i]); err != nil {
		return f, err
	}
	return next, nil
}
