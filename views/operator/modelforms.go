package operator

import (
	"umg/views"
	"umg/views/ui"
)

// ModelForm is the form with the name, the visibility and the limits of a model. All values are as they were entered.
type ModelForm struct {
	views.Shell
	CatalogForm
	// Model is the name that is in force.
	ID, Model                 string
	Name, Description, Notice string
	// Visibility is one of the values below.
	Visibility string
	// Accounts has the id of an account on each line.
	Accounts string
	// Aliases has an alias on each line.
	Aliases                  string
	ContextTokens, OutputMax string
	RequestsPerMinute        string
	TokensPerMinute          string
	RequestsPerDay           string
	Concurrency              string
	JobsPerDay, JobsRunning  string
	IsText                   bool
}

// These are the values of the visibility.
const (
	VisibleToAll  = "all"
	VisibleToSome = "some"
)

var visibilities = []ui.Option{
	{Value: VisibleToAll, Label: "All accounts", Text: "The model is in every list, and every key may call it."},
	{Value: VisibleToSome, Label: "Some accounts", Text: "For all others there is no such model."},
}

func (f ModelForm) action() string { return ModelFormPath("edit", f.ID) }

// PriceForm is the form for the prices of a model. All values are as they were entered.
type PriceForm struct {
	views.Shell
	CatalogForm
	ID, Name string
	// How is one of the values below.
	How string
	// Markup is in percent above the cost.
	Markup string
	// MarkupBase is the cost that the markup is added to, in words. It is empty when the cost is not known.
	MarkupBase string
	Meters     []PriceField
	// More has the meters without a price.
	More []PriceField
	// Conditions has lines of the catalog file.
	Conditions string
	// Sizes has lines of the catalog file.
	Sizes    string
	HasSizes bool
	// When is one of the values below.
	When string
	// From is the day from which the prices hold.
	From string
	// Announced is the day of the announced prices. It is empty when none are announced.
	Announced string
}

// PriceField is the field for the price of a meter.
type PriceField struct {
	Meter, Label, Hint string
	// Unit is the quantity of the price, such as per 1M tokens.
	Unit  string
	Value string
	// Cost is that of the first route. It is empty when it is not known.
	Cost string
}

// These are the ways to make prices, and when they come into force.
const (
	PricesByMarkup = "markup"
	PricesOwn      = "own"
	PricesNow      = "now"
	PricesFrom     = "from"
)

var pricesHow = []ui.Option{
	{Value: PricesByMarkup, Label: "Cost and markup",
		Text: "The cost of the first route, with a percentage on it. Prices follow when the cost changes."},
	{Value: PricesOwn, Label: "Own prices", Text: "Prices that you set, whatever the providers charge."},
}

var pricesWhen = []ui.Option{
	{Value: PricesNow, Label: "At once", Text: "Calls that begin from then on have the new prices."},
	{Value: PricesFrom, Label: "From a day", Text: "Customers get a notice now, and the prices change at 0:00 UTC."},
}

func (f PriceForm) action() string { return ModelFormPath("prices", f.ID) }

// opensMore reports whether a meter that has no price yet has a value or an error.
func (f PriceForm) opensMore() bool {
	for _, m := range f.More {
		if m.Value != "" || f.Error("rate."+m.Meter) != "" {
			return true
		}
	}
	return false
}

// conditionsExample shows how conditions are written.
const conditionsExample = "- prompt_over: 200000\n  rates:\n    input_tokens: 6 per 1M\n    output_tokens: 22.5 per 1M\n" +
	"- service_tier: flex\n  times: 0.5"

const sizesExample = "1280x720:\n  seconds: 0.1 per 1\n1920x1080:\n  seconds: 0.3 per 1"

// RetireForm asks when a model retires, and what replaces it.
type RetireForm struct {
	views.Shell
	CatalogForm
	ID, Name string
	// When is RetireNow or RetireOn.
	When      string
	Day       string
	Successor string
	Models    []Choice
	// UsedBy lists the models that name this one as their fallback, successor or model with a longer context.
	UsedBy []string
}

// These values say when a model retires.
const (
	RetireNow = "now"
	RetireOn  = "on"
)

var retireWhen = []ui.Option{
	{Value: RetireOn, Label: "On a day", Text: "Customers see the day at once. Calls work until then."},
	{Value: RetireNow, Label: "At once", Text: "The model leaves the catalog. Calls of it fail from now on."},
}

func (f RetireForm) action() string { return ModelFormPath("retire", f.ID) }

// markupHint says what the markup is on.
func markupHint(base string) string {
	if base == "" {
		return "The cost of the first route is not known. Give the route a cost first."
	}
	return "10 sells at the cost and 10% more; 0 sells at cost. The first route costs " + base + "."
}

// unit is what the price is for, and what the provider charges.
func (m PriceField) unit() string {
	if m.Cost == "" {
		return m.Unit
	}
	return m.Unit + ", costs " + m.Cost
}
