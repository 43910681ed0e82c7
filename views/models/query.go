package models

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/views"
	"umg/views/ui"
)

// Query is what the reader looks for. It lives in the address.
type Query struct {
	Text         string
	Capabilities []string
	Styles       []string
	Inputs       []string // input modalities, all of them required
	Outputs      []string // output modalities, one of them required
	Features     []string // features, all of them required
	Statuses     []string
	Parameter    string // a parameter that the contract must allow
	From, To     string // dollars of the model's headline price; empty for no bound
	Context      int64  // minimum number of tokens
	Key          string // id of a key that may call the model
	Sort         string // a sort order, with a minus sign for descending
	Unit         string // thousand; otherwise a million tokens
	View         string // table or cards, empty for the reader's saved choice
	Marked       []string
	Page         int // from 2; zero is the first page
}

// The units of prices of tokens, and the ways to draw the list.
const (
	ViewTable = "table"
	ViewCards = "cards"
)

// Limits of what an address may ask for.
const (
	markedMax       = 4 // models side by side
	queryTextMax    = 200
	contextFloorMax = 1 << 40
)

// Capabilities are the five that models may have.
func Capabilities() []string { return []string{"text", "image", "video", "speech", "code"} }

var styleNames = []string{"chat", "messages", "responses", "native"}

// modalityNames are what may go in and come out of a model.
var modalityNames = []string{"text", "image", "audio", "video", "file"}

func featureNames() []string {
	names := make([]string, len(views.ModelFeatures))
	for i, f := range views.ModelFeatures {
		names[i] = f.Name
	}
	return names
}

// The statuses that models are looked for by.
var statuses = []ui.ChipOption{
	{Value: "available", Label: "Available"}, {Value: "degraded", Label: "Degraded"}, {Value: "failing", Label: "Failing"},
	{Value: "paused", Label: "Paused"}, {Value: "unavailable", Label: "No provider"}, {Value: "deprecated", Label: "Deprecated"},
	{Value: "coming", Label: "Coming soon"},
}

// statusLabel is the name of a status for people.
func statusLabel(value string) string {
	for _, s := range statuses {
		if s.Value == value {
			return s.Label
		}
	}
	return value
}

func statusNames() []string {
	names := make([]string, len(statuses))
	for i, s := range statuses {
		names[i] = s.Value
	}
	return names
}

// ParseQuery reads a query from an address. Words it does not know are left out.
func ParseQuery(v url.Values) Query {
	known := func(name string, names []string) []string {
		var found []string
		for _, one := range names {
			if slices.Contains(v[name], one) {
				found = append(found, one)
			}
		}
		return found
	}
	q := Query{
		Text: shortText(v.Get("q")), Capabilities: known("capability", Capabilities()), Styles: known("style", styleNames),
		Inputs: known("input", modalityNames), Outputs: known("output", modalityNames), Features: known("feature", featureNames()),
		Statuses: known("status", statusNames()), From: dollarsIn(v.Get("from")), To: dollarsIn(v.Get("to")), Key: shortText(v.Get("key")),
		Parameter: shortText(v.Get("parameter")),
		Marked:    ParseMarked(v["m"]), Page: pageNumber(v.Get("page")),
	}
	if n, err := strconv.ParseInt(v.Get("context"), 10, 64); err == nil && n > 0 && n <= contextFloorMax {
		q.Context = n
	}
	if v.Get("unit") == views.UnitThousand {
		q.Unit = views.UnitThousand
	}
	if view := v.Get("view"); view == ViewTable || view == ViewCards {
		q.View = view
	}
	name, _ := strings.CutPrefix(v.Get("sort"), "-")
	if slices.ContainsFunc(orders, func(o modelOrder) bool { return o.name == name }) {
		q.Sort = v.Get("sort")
	}
	return q
}

// ParseMarked are the models that are to be compared, each once.
func ParseMarked(ids []string) []string {
	var marked []string
	for _, id := range ids {
		if id = shortText(id); id != "" && len(marked) < markedMax && !slices.Contains(marked, id) {
			marked = append(marked, id)
		}
	}
	return marked
}

// shortText is what of a text of an address is looked at.
func shortText(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, ""))
	if len(text) > queryTextMax {
		return ""
	}
	return text
}

// dollarsIn is an amount as it was written, empty when it is none.
func dollarsIn(text string) string {
	text = strings.TrimPrefix(shortText(text), "$")
	if amount, err := app.ParseAmount(text); err != nil || amount < 0 {
		return ""
	}
	return text
}

// Path is the address of the list for this query, without what says nothing.
func (q Query) Path() string {
	v := url.Values{
		"capability": q.Capabilities, "style": q.Styles, "input": q.Inputs, "output": q.Outputs, "feature": q.Features,
		"status": q.Statuses, "m": q.Marked,
	}
	for name, text := range map[string]string{
		"q": q.Text, "sort": q.Sort, "unit": q.Unit, "view": q.View, "from": q.From, "to": q.To, "key": q.Key, "parameter": q.Parameter,
	} {
		if text != "" {
			v.Set(name, text)
		}
	}
	if q.Page > 0 {
		v.Set("page", strconv.Itoa(q.Page))
	}
	if q.Context > 0 {
		v.Set("context", strconv.FormatInt(q.Context, 10))
	}
	if text := v.Encode(); text != "" {
		return views.ModelsPath + "?" + text
	}
	return views.ModelsPath
}

// more is how many of the filters that are folded away are used.
func (q Query) more() (n int) {
	for _, used := range []bool{
		len(q.Styles) > 0, len(q.Inputs) > 0, len(q.Outputs) > 0, len(q.Features) > 0, len(q.Statuses) > 0, q.From+q.To != "",
		q.Context > 0, q.Key != "", q.Parameter != "",
	} {
		if used {
			n++
		}
	}
	return n
}

// narrowed says whether the query leaves models out.
func (q Query) narrowed() bool { return q.Text != "" || len(q.Capabilities) > 0 || q.more() > 0 }

// all is the query for all models, drawn the same way.
func (q Query) all() Query {
	return Query{Sort: q.Sort, Unit: q.Unit, View: q.View, Marked: q.Marked}
}

// sorted is the query for a column's head: by that column, or the other way round when it is so already.
func (q Query) sorted(order string) Query {
	if q.Sort == order {
		order = "-" + order
	}
	q.Sort = order
	return q.page(0)
}

func (q Query) in(unit string) Query {
	q.Unit = unit
	return q
}

func (q Query) as(view string) Query {
	q.View = view
	return q
}

// direction is the column's state in the words of ARIA.
func (q Query) direction(order string) string {
	switch q.Sort {
	case order:
		return "ascending"
	case "-" + order:
		return "descending"
	}
	return "none"
}

// matches says whether the query lets a model through. Allowed are the models of the chosen key, nil for all.
func (q Query) matches(m views.Model, allowed []string, now time.Time) bool {
	either := func(wanted, have []string) bool {
		return len(wanted) == 0 || slices.ContainsFunc(wanted, func(w string) bool { return slices.Contains(have, w) })
	}
	text := strings.ToLower(strings.Join([]string{m.ID, m.Name, m.Description, m.Owner, m.Kind}, " "))
	for word := range strings.FieldsSeq(strings.ToLower(q.Text)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	for _, input := range q.Inputs {
		if !m.Takes(input) {
			return false
		}
	}
	for _, feature := range q.Features {
		if !m.Supports(feature) {
			return false
		}
	}
	if q.Parameter != "" && !slices.Contains(m.Parameters, q.Parameter) {
		return false
	}
	return either(q.Capabilities, m.Capabilities) && either(q.Styles, m.StyleNames()) && either(q.Outputs, m.Output) &&
		either(q.Statuses, m.Statuses(now)) && (q.Context == 0 || m.ContextTokens >= q.Context) && q.affords(m) &&
		(allowed == nil || slices.Contains(allowed, m.ID))
}

// affords says whether the price that heads the model is within the bounds.
func (q Query) affords(m views.Model) bool {
	if q.From == "" && q.To == "" {
		return true
	}
	price, known := m.Heading()
	from, _ := app.ParseAmount(q.From)
	to, err := app.ParseAmount(q.To)
	return known && price >= from && (err != nil || price <= to)
}
