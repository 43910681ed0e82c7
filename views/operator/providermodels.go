package operator

import (
	"cmp"
	"net/url"
	"strconv"
	"time"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// ChoicesPerPage is how many models a page has to choose from.
const ChoicesPerPage = 100

// The page shows one of these selections of the models.
const (
	ShowAll      = ""
	ShowSelected = "selected"
	ShowUnpriced = "unpriced"
	ShowNew      = "new"
)

// ProviderModels are the models of a provider to choose from.
type ProviderModels struct {
	views.Shell
	Provider ProviderAbout
	Query    ChoiceQuery
	Families []ui.Option
	Rows     []ChoiceRow // Rows are those of one page.
	// Matching is how many models match the query, and All how many there are.
	Matching, All int
	Selected      int
	// Unready is how many of the selected models lack a price.
	Unready int
	// Markup is added to the cost of a model that has no markup of its own, such as 10%.
	Markup, MarkupError string
	// ListedAt is when the provider's own list was read; nil when the models are those of the library.
	ListedAt *time.Time
	// LibraryDate is the day of the prices.
	LibraryDate string
	// ListProblem is why the provider's list could not be read.
	ListProblem string
	Problem     string
}

// ChoiceQuery says which models are shown.
type ChoiceQuery struct {
	Text, Family, Show string
	Page               int // Page is 0 for the first.
}

// ChoiceRow is a model to choose.
type ChoiceRow struct {
	ID, Name, ProviderModel string
	Family                  string // Family is the name of the family, and empty for a model of none.
	FamilyID                string
	Context                 int64
	Selected                bool
	Published               bool // Published means that the model has a route of the provider.
	// Elsewhere means that the model is in the catalog with other routes. Its prices stay.
	Elsewhere bool
	Known     bool
	// Deprecated means that the provider calls the model deprecated.
	Deprecated bool
	Shutdown   string // Shutdown is the day on which the provider ends the model; empty when it is not known.
	// CostIn and CostOut are for a million tokens, in words. They are empty for a model without a known cost.
	CostIn, CostOut string
	// PriceIn and PriceOut are what customers pay.
	PriceIn, PriceOut string
	// More says which other prices there are.
	More string
	// OwnMarkup is the markup of the model in place of that of all.
	OwnMarkup, MarkupError string
	// SetIn and SetOut are the prices for a million tokens that the operator has entered for a model without a known cost.
	SetIn, SetOut, PriceError string
}

func (r ChoiceRow) isPriced() bool { return r.CostIn != "" || r.CostOut != "" }

// isFree reports whether the row can be selected.
func (r ChoiceRow) isFree() bool { return !r.Published }

// note says what is special about the model.
func (r ChoiceRow) note() string {
	switch {
	case r.Published:
		return "Published at this provider"
	case r.Elsewhere:
		return "In the catalog: gets one more route, and its prices stay"
	case !r.Known:
		return "The library does not know it: check its limits after publishing"
	case r.Shutdown != "":
		return "The provider ends it on " + r.Shutdown
	case r.Deprecated:
		return "The provider calls it deprecated"
	}
	return ""
}

func (r ChoiceRow) domID(prefix string) string { return domID(prefix, r.ID) }

// pages is how many pages there are.
func (m ProviderModels) pages() int { return max(1, (m.Matching+ChoicesPerPage-1)/ChoicesPerPage) }

func (m ProviderModels) action() string { return m.Provider.stepPath(stepModels) }

// Path is the address of a page of the query.
func (q ChoiceQuery) Path(base string) string {
	v := url.Values{}
	for name, value := range map[string]string{"q": q.Text, "family": q.Family, "show": q.Show} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Page > 0 {
		v.Set("page", strconv.Itoa(q.Page))
	}
	if len(v) == 0 {
		return base
	}
	return base + "?" + v.Encode()
}

// filter is the query without its page. A form has it, so that another filter begins at the first page.
func (q ChoiceQuery) filter() string {
	q.Page = 0
	return q.Path("")
}

// Follows reports whether the query has the filter of an earlier one.
func (q ChoiceQuery) Follows(filter string) bool { return q.filter() == filter }

func (q ChoiceQuery) isNarrowed() bool { return q.Text != "" || q.Family != "" || q.Show != "" }

// shown says which models the page has.
func (m ProviderModels) shown() string {
	if m.Matching == 0 {
		return "No model matches"
	}
	first := m.Query.Page*ChoicesPerPage + 1
	text := format.CountOf(int64(m.Matching), "model", "models")
	if m.Query.isNarrowed() {
		text += " of " + format.Count(int64(m.All))
	}
	if m.pages() > 1 {
		text = format.Count(int64(first)) + "–" + format.Count(int64(first+len(m.Rows)-1)) + " of " + text
	}
	return text
}

func (m ProviderModels) selectedWords() string {
	text := format.CountOf(int64(m.Selected), "model selected", "models selected")
	if m.Unready > 0 {
		text += ", " + format.Count(int64(m.Unready)) + " without a price"
	}
	return text
}

// source says where the models and prices are from.
func (m ProviderModels) source() string {
	text := "Models of the library"
	if m.ListedAt != nil {
		text = "Models that the provider listed " + format.Ago(*m.ListedAt, m.Now)
	}
	return text + "; costs of " + cmp.Or(m.LibraryDate, "the library") + ". Prices are in dollars for a million tokens."
}

var showOptions = []ui.Option{
	{Value: ShowAll, Label: "All"}, {Value: ShowSelected, Label: "Selected"}, {Value: ShowNew, Label: "Not published"},
	{Value: ShowUnpriced, Label: "Without a known cost"},
}

// choiceGroup is the rows of one family that follow one another.
type choiceGroup struct {
	id, name string
	rows     []ChoiceRow
}

func (m ProviderModels) groups() (all []choiceGroup) {
	for _, r := range m.Rows {
		if n := len(all); n == 0 || all[n-1].id != r.FamilyID {
			all = append(all, choiceGroup{id: r.FamilyID, name: cmp.Or(r.Family, "Other models")})
		}
		g := &all[len(all)-1]
		g.rows = append(g.rows, r)
	}
	return all
}
