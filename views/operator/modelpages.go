package operator

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

const (
	modelsIntro = "All models of the catalog: access, prices and providers."
	// modelFormPath is the address of the forms of a model. They take its id as a parameter, because ids have slashes.
	modelFormPath = views.OperatorPath + "/model"
	modelsPath    = views.OperatorModelsPath
	providersPath = views.ProvidersPath
)

// ModelFormPath is the address of a form of a model.
func ModelFormPath(form, id string) string {
	return modelFormPath + "/" + form + "?" + url.Values{"id": {id}}.Encode()
}

// ManagedState is what a model is for customers.
type ManagedState string

// The states of a model. A model is hidden when it has no prices or no routes.
const (
	ManagedOffered ManagedState = "offered"
	// ManagedUnserved models have routes, but no provider of them can be used now.
	ManagedUnserved ManagedState = "unserved"
	ManagedPaused   ManagedState = "paused"
	// ManagedFailing and ManagedDegraded models are offered, and a tenth or a hundredth of their calls fail.
	ManagedFailing  ManagedState = "failing"
	ManagedDegraded ManagedState = "degraded"
	// ManagedHidden models are announced to customers and cannot be called.
	ManagedHidden  ManagedState = "hidden"
	ManagedRetired ManagedState = "retired"
)

// ManagedModel is a model in the list of operators.
type ManagedModel struct {
	ID, Name, Owner string
	Kind            string
	State           ManagedState
	// Providers are in the order in which calls try them.
	Providers []string
	// Accounts is how many accounts may call the model. Zero means all.
	Accounts int
	// Input and Output are prices in words. They are empty for a model without prices.
	Input, Output string
	PriceUnit     string
	// Markup is written like +10%. It is empty for a model with prices of its own.
	Markup string
	// Announced is the day of the announced prices. It is zero when none are announced.
	Announced time.Time
	// Shutdown is zero for a model without an end.
	Shutdown time.Time
	// UnknownCost is set when the cost of a route is not known.
	UnknownCost bool
}

// ManagedModels is the list of all models for operators.
type ManagedModels struct {
	views.Shell
	Query ManagedQuery
	List  []ManagedModel
	// Found counts the matching models of all pages.
	Found     int
	All       int
	Providers []ui.Option
	Failure   *views.LoadFailure
}

// ManagedPageSize is how many models a page of the list has.
const ManagedPageSize = 100

// ManagedQuery says which models are listed. It is the address of the page.
type ManagedQuery struct {
	Text, Provider, State string
	// Page is 0 for the first page.
	Page int
}

var managedStates = []ui.Option{
	{Value: "", Label: "All"}, {Value: string(ManagedOffered), Label: "Offered"}, {Value: string(ManagedHidden), Label: "Hidden"},
	{Value: string(ManagedPaused), Label: "Paused"}, {Value: string(ManagedUnserved), Label: "Not served"},
	{Value: "private", Label: "Some accounts"}, {Value: "announced", Label: "Price change announced"}, {Value: "uncosted",
		Label: "Cost unknown"},
}

// ParseManagedQuery reads an address; what cannot be meant is left out.
func ParseManagedQuery(values url.Values) ManagedQuery {
	q := ManagedQuery{
		Text: views.FilterText(values.Get("q")), Provider: views.FilterText(values.Get("provider")),
		State: views.KnownOption(values.Get("state"), managedStates),
	}
	const pagesMax = 100
	for n := range pagesMax {
		if values.Get("page") == format.Int(n+1) {
			q.Page = n
		}
	}
	return q
}

// Matches reports whether a model belongs to the list.
func (q ManagedQuery) Matches(m *ManagedModel) bool {
	has := func(text string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(q.Text)) }
	switch {
	case q.Text != "" && !has(m.ID) && !has(m.Name) && !has(m.Owner):
		return false
	case q.Provider != "" && !slices.Contains(m.Providers, q.Provider):
		return false
	}
	switch q.State {
	case "":
		return true
	case "private":
		return m.Accounts > 0
	case "announced":
		return !m.Announced.IsZero()
	case "uncosted":
		return m.UnknownCost
	}
	return string(m.State) == q.State
}

// Path is the address of the list.
func (q ManagedQuery) Path() string {
	values := url.Values{}
	for name, value := range map[string]string{"q": q.Text, "provider": q.Provider, "state": q.State} {
		if value != "" {
			values.Set(name, value)
		}
	}
	if q.Page > 0 {
		values.Set("page", format.Int(q.Page+1))
	}
	if len(values) == 0 {
		return modelsPath
	}
	return modelsPath + "?" + values.Encode()
}

func (q ManagedQuery) at(page int) ManagedQuery {
	q.Page = page
	return q
}

func (q ManagedQuery) isNarrowed() bool { return q.Text != "" || q.Provider != "" || q.State != "" }

// more reports whether there is a page after this one.
func (l ManagedModels) more() bool { return (l.Query.Page+1)*ManagedPageSize < l.Found }

// shown says how many models there are.
func (l ManagedModels) shown() string {
	text := format.CountOf(int64(l.Found), "model", "models")
	if l.Found > ManagedPageSize {
		first := l.Query.Page*ManagedPageSize + 1
		text = format.Int(first) + "–" + format.Int(first+len(l.List)-1) + " of " + text
	}
	return text
}

// verdict is the state in a word.
func (s ManagedState) verdict() views.Badge {
	switch s {
	case ManagedOffered:
		return views.Badge{Tone: ui.Success, Text: "Offered"}
	case ManagedUnserved:
		return views.Badge{Tone: ui.Danger, Text: "Not served"}
	case ManagedPaused:
		return views.Badge{Tone: ui.Warning, Text: "Paused"}
	case ManagedFailing:
		return views.Badge{Tone: ui.Danger, Text: "Failing"}
	case ManagedDegraded:
		return views.Badge{Tone: ui.Warning, Text: "Degraded"}
	case ManagedRetired:
		return views.Badge{Tone: ui.Plain, Text: "Retired"}
	}
	return views.Badge{Tone: ui.Plain, Text: "Hidden"}
}

// prices are the prices of text in words.
func (m ManagedModel) prices() string {
	if m.Input == "" && m.Output == "" {
		return ""
	}
	return strings.Trim(m.Input+" / "+m.Output, " /")
}

// notes are what the list says under the state.
func (m ManagedModel) notes() (list []string) {
	if m.Accounts > 0 {
		list = append(list, "Only "+format.CountOf(int64(m.Accounts), "account", "accounts"))
	}
	if !m.Announced.IsZero() {
		list = append(list, "New prices from "+format.Day(m.Announced))
	}
	if !m.Shutdown.IsZero() {
		list = append(list, "Retires "+format.Day(m.Shutdown))
	}
	return list
}

// ManagedDetail is a model with everything that an operator may change.
type ManagedDetail struct {
	views.Shell
	ManagedModel
	Version     int64
	Description string
	Notice      string
	Aliases     []string
	// Visible lists the accounts that may call the model. An empty list means all.
	Visible []AccountName
	Limits  []Fact
	Facts   []Fact
	Prices  []ManagedPrice
	// SizePrices counts the prices that differ by size.
	SizePrices int
	Conditions []ManagedCondition
	Change     *ManagedChange
	Routes     []ManagedRoute
	// Unroutable says why the model has no route. It is empty for a model with routes.
	Unroutable string
	BelowCost  []string
	// Margin has a line for each provider.
	Margin      []MarginLine
	MarginTotal MarginLine
	MarginDays  int
	Pause       *TrafficPause
	// Failure is set when the margin could not be read.
	Failure *views.LoadFailure
}

// AccountName is an account in a list.
type AccountName struct{ ID, Name string }

// Fact is a name with a value in words.
type Fact struct{ Name, Value string }

// ManagedPrice is the price of a meter beside its cost.
type ManagedPrice struct {
	Label string
	// Unit is the quantity of the price, such as per 1M tokens.
	Unit string
	// Price is empty when the meter is not charged.
	Price string
	// Cost is that of the first route. It is empty when it is not known.
	Cost string
	// Below is set when the price is below the cost.
	Below bool
}

// ManagedCondition is other prices for some calls.
type ManagedCondition struct{ Calls, Effect string }

// ManagedChange is prices that were announced.
type ManagedChange struct {
	From  time.Time
	Lines []string
}

// ManagedRoute is a route of a model for operators.
type ManagedRoute struct {
	// Key names the route in forms.
	Key                    string
	Provider, ProviderName string
	Upstream, Style        string
	Order, Weight          int
	// Share is the percentage of calls among routes of one order. It is zero for a route alone in its order.
	Share int64
	// IsTied is set when the route has the order of the route above.
	IsTied bool
	Cost   string
	State  views.Badge
	// Note says why the route cannot be used.
	Note string
}

func (r ManagedRoute) label() string { return r.ProviderName + ", " + r.Upstream }

// isRetired reports whether the model has left the catalog.
func (m ManagedDetail) isRetired() bool { return m.State == ManagedRetired }

// visibility says who may call the model.
func (m ManagedDetail) visibility() string {
	if len(m.Visible) == 0 {
		return "All accounts"
	}
	return "Only " + format.CountOf(int64(len(m.Visible)), "account", "accounts")
}

// pricing says how the prices are made.
func (m ManagedDetail) pricing() string {
	switch {
	case m.Markup != "":
		return "Cost of the first route " + m.Markup
	case len(m.Prices) == 0:
		return "No prices"
	}
	return "Own prices"
}

// RoutePath is the address of a form of a route.
func RoutePath(form, model, key string) string {
	return modelFormPath + "/" + form + "?" + url.Values{"id": {model}, "route": {key}}.Encode()
}

func pausePath(kind, id string, paused bool) string {
	verb := "pause"
	if paused {
		verb = "resume"
	}
	return views.OperatorPath + "/" + verb + "?" + url.Values{"kind": {kind}, "id": {id}}.Encode()
}

// unit is what the prices are for, and how they are made.
func (m ManagedModel) unit() string {
	if m.Markup == "" {
		return m.PriceUnit
	}
	return m.PriceUnit + ", cost " + m.Markup
}
