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
	ID, Name    string
	Version     int64
	Preset      string // name of the preset; empty without
	Docs        string // address of the provider's documentation
	State       ProviderState
	Disabled    bool
	Pause       *TrafficPause
	Unusable    string // why it cannot be called
	Credentials []ProviderKey
	Facts       []Fact
	Routes      []ProviderRoute
	Stranded    []string // models that only this provider serves
	Spend       []ProviderSpend
	PresetFrom  time.Time // when the settings of the preset were put in force that differ now
	PresetLines []string  // what an upgrade of the program changed in the preset
	Margin      []MarginLine
	MarginTotal MarginLine
	MarginDays  int
	Failure     *views.LoadFailure // the margin could not be read
}

// ProviderKey is a credential of a provider, without its value.
type ProviderKey struct {
	Reference string
	Ending    string // visible end of a sealed value; empty when there is none
	By        string // who stored it
	At        time.Time
	Problem   string
	Others    []string // other providers that use it
}

// ProviderRoute is a route of a provider to a model.
type ProviderRoute struct {
	Model, ModelName string
	Upstream, Style  string
	Order, Weight    int
	Only             bool   // the model has no other route
	Cost             string // empty when it is not known
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
	ID, Provider               string // the id, and the name in force
	Name, PresetName           string
	Fields                     []ProviderField
	Address, Proxy             string
	AddressHint                string // the address of the preset
	Concurrency, RequestsLimit string
	SpendDaily, SpendMonthly   string // in dollars
}

// ProviderField is a field of the preset.
type ProviderField struct {
	Name, Label, Value, Example string
	Required                    bool
	Options                     []Choice // the only values; none for a text
	Condition                   string   // when the field counts; empty for always
}

func (f ProviderForm) action() string { return views.ProviderPath(f.ID) + "/edit" }

// ProviderKeyForm is the form that replaces the credential of a provider. It never has the value that was sent.
type ProviderKeyForm struct {
	views.Shell
	CatalogForm
	ID, Name  string
	How       string // Its values are below.
	Parts     []ProviderField
	Reference string
	Sealed    string   // name of the sealed credential that a pasted value replaces
	Others    []string // other providers that use the same sealed credential
	Own       bool     // the value is stored for this provider alone
	Unsealed  string   // why no value can be pasted; empty when it can
}

// The ways to give a credential.
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
