package operator

import (
	"time"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// ProviderDetail is a provider with what depends on it.
type ProviderDetail struct {
	views.Shell
	ID, Name string
	Version  int64
	// Preset is the name of the preset. It is empty for a provider without one.
	Preset string
	// Docs is the address of the provider's documentation.
	Docs     string
	State    ProviderState
	Disabled bool
	Pause    *TrafficPause
	// Unusable says why the provider cannot be called.
	Unusable    string
	Credentials []ProviderKey
	Facts       []Fact
	Routes      []ProviderRoute
	// Stranded lists the models that only this provider serves.
	Stranded []string
	Spend    []ProviderSpend
	// PresetFrom is when the provider was last saved with the settings of an earlier preset.
	PresetFrom time.Time
	// PresetLines are the differences between the earlier preset and that of this program.
	PresetLines []string
	Margin      []MarginLine
	MarginTotal MarginLine
	MarginDays  int
	// Failure is set when the margin could not be read.
	Failure *views.LoadFailure
}

// ProviderKey is a credential of a provider, without its value.
type ProviderKey struct {
	Reference string
	// Ending has the last characters of a sealed value. It is empty when none are visible.
	Ending string
	// By is the person who stored the value.
	By      string
	At      time.Time
	Problem string
	// Others lists the other providers with the same credential.
	Others []string
}

// ProviderRoute is a route of a provider to a model.
type ProviderRoute struct {
	Model, ModelName string
	Upstream, Style  string
	Order, Weight    int
	// Only is set when the model has no other route.
	Only bool
	// Cost is empty when it is not known.
	Cost string
}

func (p ProviderDetail) path(rest ...string) string { return views.ProviderPath(p.ID, rest...) }

// shown says how many routes there are.
func (p ProviderDetail) shown() string {
	return format.CountOf(int64(len(p.Routes)), "route", "routes")
}

func (k ProviderKey) ending() string {
	if k.Ending == "" {
		return ""
	}
	return "ends with …" + k.Ending
}

// tried says when a route is tried.
func (r ProviderRoute) tried() string {
	if r.Only {
		return "The only route"
	}
	return "Place " + format.Int(r.Order) + ", weight " + format.Int(r.Weight)
}

// ProviderForm is the form with the settings of a provider. All values are as they were entered.
type ProviderForm struct {
	views.Shell
	CatalogForm
	// Provider is the name that is in force.
	ID, Provider     string
	Name, PresetName string
	Fields           []ProviderField
	Address, Proxy   string
	// AddressHint is the address of the preset.
	AddressHint                string
	Concurrency, RequestsLimit string
	// SpendDaily and SpendMonthly are in dollars.
	SpendDaily, SpendMonthly string
}

// ProviderField is a field of the preset.
type ProviderField struct {
	Name, Label, Value, Example string
	Required                    bool
	// Options are the only possible values. They are empty for a text field.
	Options []Choice
	// Condition says when the field has an effect. It is empty for a field that always has one.
	Condition string
}

func (f ProviderForm) action() string { return views.ProviderPath(f.ID) + "/edit" }

// ProviderKeyForm is the form that replaces the credential of a provider. It never has the value that was sent.
type ProviderKeyForm struct {
	views.Shell
	CatalogForm
	ID, Name string
	// How is one of the values below.
	How       string
	Parts     []ProviderField
	Reference string
	// Sealed is the name of the sealed credential that a pasted value replaces.
	Sealed string
	// Others lists the other providers with the same credential.
	Others []string
	// Own is set when the value is stored for this provider alone.
	Own bool
	// Unsealed says why no value can be pasted. It is empty when one can be.
	Unsealed string
}

// These are the ways to give a credential.
const (
	KeyPasted    = "pasted"
	KeyReference = "reference"
)

var keyWays = []ui.Option{
	{Value: KeyPasted, Label: "Paste it", Text: "It is encrypted before it is stored, and no page shows it again."},
	{Value: KeyReference, Label: "Refer to it", Text: "A variable of the environment, a file, or a stored credential."},
}

func (f ProviderKeyForm) action() string { return views.ProviderPath(f.ID) + "/credential" }

func providerFormText(f ProviderForm) string {
	if f.PresetName == "" {
		return f.ID
	}
	return f.ID + ", by the preset " + f.PresetName
}

func addressHint(f ProviderForm) string {
	if f.AddressHint == "" {
		return "The base URL of the provider."
	}
	return "It replaces the address of the preset. Empty uses that."
}
