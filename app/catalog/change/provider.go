package change

import (
	"slices"

	"umg/app"
	"umg/app/catalog"
)

// RemovedRoute is a route that a change takes away from a model.
type RemovedRoute struct {
	// Model is the id of the model.
	Model string
	Route catalog.FileRoute
}

// AddProvider adds a provider at the end. It returns an error when a provider has its id.
func AddProvider(f catalog.File, p catalog.FileProvider) (catalog.File, error) {
	if p.ID == "" {
		return f, app.InvalidValue("id", "The provider has no id.")
	}
	if providerIndex(f, p.ID) >= 0 {
		return f, app.Errorf(app.Conflict, "provider_exists", "A provider with the id %s exists. Choose another id.", p.ID).At("id")
	}
	f.Providers = append(slices.Clone(f.Providers), p)
	return f, nil
}

// ReplaceProvider replaces the provider with the same id.
func ReplaceProvider(f catalog.File, p catalog.FileProvider) (catalog.File, error) {
	return withProvider(f, p.ID, func(old *catalog.FileProvider) { *old = p })
}

// PauseProvider disables a provider, so that it is never called, or enables it again.
func PauseProvider(f catalog.File, id string, disabled bool) (catalog.File, error) {
	return withProvider(f, id, func(p *catalog.FileProvider) { p.Disabled = disabled })
}

// RemoveProvider removes a provider with its routes. Models that have no route left are retired, as RetireModel does. It returns the
// removed routes, and the ids of the models that it retired.
func RemoveProvider(f catalog.File, id string) (next catalog.File, removed []RemovedRoute, stranded []string, err error) {
	i := providerIndex(f, id)
	if i < 0 {
		return f, nil, nil, errNoProvider(id)
	}
	next = f
	next.Providers = slices.Delete(slices.Clone(f.Providers), i, i+1)
	next.Models = slices.Clone(f.Models)
	for i := range next.Models {
		m := &next.Models[i]
		had := len(m.Routes)
		m.Routes = slices.DeleteFunc(slices.Clone(m.Routes), func(r catalog.FileRoute) bool {
			if r.Provider == id {
				removed = append(removed, RemovedRoute{Model: m.ID, Route: r})
			}
			return r.Provider == id
		})
		if had > 0 && len(m.Routes) == 0 {
			stranded = append(stranded, m.ID)
		}
	}
	for _, model := range stranded {
		if next, err = RetireModel(next, model); err != nil {
			return f, nil, nil, err
		}
	}
	return next, removed, stranded, nil
}

func providerIndex(f catalog.File, id string) int {
	return slices.IndexFunc(f.Providers, func(p catalog.FileProvider) bool { return p.ID == id })
}

func errNoProvider(id string) error {
	return app.Errorf(app.NotFound, "provider_not_found", "The catalog has no provider with the id %q.", id).At("provider")
}

// withProvider changes a copy of one provider.
func withProvider(f catalog.File, id string, set func(*catalog.FileProvider)) (catalog.File, error) {
	i := providerIndex(f, id)
	if i < 0 {
		return f, errNoProvider(id)
	}
	f.Providers = slices.Clone(f.Providers)
	set(&f.Providers[i])
	return f, nil
}
