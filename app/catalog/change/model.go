package change

import (
	"slices"

	"umg/app"
	"umg/app/catalog"
)

// AddModels adds models at the end. A model that exists gets the routes that it does not have after its own, in their order; everything
// else of it stays, and so do its prices.
func AddModels(f catalog.File, models []catalog.FileModel) (catalog.File, error) {
	f.Models = slices.Clone(f.Models)
	for i := range models {
		added := &models[i]
		if added.ID == "" {
			return f, app.InvalidValue("id", "Model %d of %d has no id.", i+1, len(models))
		}
		at := modelIndex(f, added.ID)
		if at < 0 {
			f.Models = append(f.Models, *added)
			continue
		}
		f.Models[at].Routes = appendRoutes(f.Models[at].Routes, added.Routes)
	}
	return f, nil
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
			m.Fallbacks = slices.DeleteFunc(slices.Clone(m.Fallbacks), func(other string) bool { return other == id })
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
