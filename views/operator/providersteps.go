package operator

import (
	"umg/views"
)

// ProviderAbout is the provider that a page is about.
type ProviderAbout struct {
	ID, Name string
	// Draft means that no model of the catalog has a route of the provider yet.
	Draft bool
}

// A provider is added in these steps.
const (
	stepProvider = iota
	stepTest
	stepModels
	stepPublish
)

var providerStepNames = []string{"Provider", "Test", "Models", "Publish"}

// stepPath is the address of a step. The first step has none once the provider is stored, because its page takes over.
func (p ProviderAbout) stepPath(step int) string {
	switch {
	case p.ID == "" && step == stepProvider:
		return views.NewProviderPath
	case p.ID == "":
		return ""
	case step == stepProvider:
		return views.ProviderPath(p.ID)
	case step == stepTest:
		return views.ProviderPath(p.ID, "test")
	case step == stepModels:
		return views.ProviderPath(p.ID, "models")
	}
	return views.ProviderPath(p.ID, "publish")
}
