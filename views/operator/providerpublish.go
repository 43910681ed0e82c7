package operator

import (
	"umg/views"
	"umg/views/format"
)

// ProviderPublish is what publishing the selected models of a provider changes, and asks for the password.
type ProviderPublish struct {
	views.Shell
	Provider ProviderAbout
	Version  int64 // Version is the catalog that the page compares with.
	Models   int   // Models is how many models get a route of the provider.
	// New are the models that customers see from then on, and More are those that get one more route.
	New  []PublishedModel
	More []string
	// Prices are changes of prices that customers see, a sentence each.
	Prices    []string
	Diff      []string
	BelowCost []string
	Accepted  bool // Accepted means that the operator accepts prices below cost.
	// Problems are why the catalog cannot come into force, each with the field.
	Problems []string
	// Conflict says who changed the catalog since the page was opened.
	Conflict                                  string
	BelowError, PasswordError, Problem, Empty string
}

// PublishedModel is a model that customers see for the first time.
type PublishedModel struct {
	ID, Name string
	Prices   []string
}

// publishedShown is how many new models are listed.
const publishedShown = 50

func (p ProviderPublish) title() string {
	return "Publish " + format.CountOf(int64(p.Models), "model", "models") + " of " + p.Provider.Name
}

func (p ProviderPublish) action() string { return p.Provider.stepPath(stepPublish) }

func (p ProviderPublish) shown() []PublishedModel { return p.New[:min(len(p.New), publishedShown)] }

// further says how many models are not listed.
func (p ProviderPublish) further() string {
	if n := len(p.New) - publishedShown; n > 0 {
		return format.CountOf(int64(n), "more model", "more models")
	}
	return ""
}
