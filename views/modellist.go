package views

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"umg/app"
	"umg/views/ui"
)

// Models is the list of all models, as far as the query lets them through.
type Models struct {
	Shell
	Query ModelQuery
	All   []Model
}

// ModelQuery is what the reader looks for. It lives in the address.
type ModelQuery struct {
	Text         string
	Capabilities []string
	Styles       []string
	Sort         string // one of the orders, with a minus before it for the other way round
}

// Capabilities are the five that models may have.
func Capabilities() []string { return []string{"text", "image", "video", "speech", "code"} }

// modelOrder is a way to sort the list: its name in the address, its words, and how two models compare.
type modelOrder struct {
	name, label string
	compare     func(a, b Model) int
}

var modelOrders = []modelOrder{
	{"name", "Name", func(a, b Model) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) }},
	{"context", "Context", func(a, b Model) int { return cmp.Compare(a.ContextTokens, b.ContextTokens) }},
	{"input", "Input price", func(a, b Model) int { return a.comparePrice(b, "input_tokens") }},
	{"output", "Output price", func(a, b Model) int { return a.comparePrice(b, "output_tokens") }},
	{"released", "Released", func(a, b Model) int { return a.Released.Compare(b.Released) }},
}

// sortOptions are the orders as the select shows them.
var sortOptions = []ui.Option{
	{Value: "", Label: "By provider"},
	{Value: "name", Label: "Name"},
	{Value: "-released", Label: "Newest first"},
	{Value: "-context", Label: "Largest context"},
	{Value: "input", Label: "Cheapest input"},
	{Value: "output", Label: "Cheapest output"},
}

// sorts are the select's options, with the present order among them even when it was chosen in the table's head.
func (q ModelQuery) sorts() []ui.Option {
	if slices.ContainsFunc(sortOptions, func(o ui.Option) bool { return o.Value == q.Sort }) {
		return sortOptions
	}
	name, down := strings.CutPrefix(q.Sort, "-")
	direction := ", ascending"
	if down {
		direction = ", descending"
	}
	for _, o := range modelOrders {
		if o.name == name {
			return append(slices.Clone(sortOptions), ui.Option{Value: q.Sort, Label: o.label + direction})
		}
	}
	return sortOptions
}

func (m Model) comparePrice(other Model, meter string) int {
	amount := func(m Model) app.Amount {
		if p, ok := m.price(meter); ok {
			a, _ := p.quoted()
			return a
		}
		return -1
	}
	return cmp.Compare(amount(m), amount(other))
}

// lacks says whether the model has nothing to be sorted by; such models stand last either way.
func (m Model) lacks(order string) bool {
	switch order {
	case "context":
		return m.ContextTokens == 0
	case "input":
		_, ok := m.price("input_tokens")
		return !ok
	case "output":
		_, ok := m.price("output_tokens")
		return !ok
	}
	return false
}

// ParseModelQuery reads a query from an address. Words it does not know are left out.
func ParseModelQuery(v url.Values) ModelQuery {
	q := ModelQuery{Text: strings.TrimSpace(v.Get("q"))}
	for _, c := range Capabilities() {
		if slices.Contains(v["capability"], c) {
			q.Capabilities = append(q.Capabilities, c)
		}
	}
	for _, s := range styleNames {
		if slices.Contains(v["style"], s) {
			q.Styles = append(q.Styles, s)
		}
	}
	name, _ := strings.CutPrefix(v.Get("sort"), "-")
	if slices.ContainsFunc(modelOrders, func(o modelOrder) bool { return o.name == name }) {
		q.Sort = v.Get("sort")
	}
	return q
}

var styleNames = []string{"chat", "messages", "responses", "native"}

// Path is the address of the list for this query, without what says nothing.
func (q ModelQuery) Path() string {
	v := url.Values{}
	if q.Text != "" {
		v.Set("q", q.Text)
	}
	if q.Sort != "" {
		v.Set("sort", q.Sort)
	}
	v["capability"], v["style"] = q.Capabilities, q.Styles
	if text := v.Encode(); text != "" {
		return modelsPath + "?" + text
	}
	return modelsPath
}

// narrowed says whether the query leaves models out.
func (q ModelQuery) narrowed() bool {
	return q.Text != "" || len(q.Capabilities) > 0 || len(q.Styles) > 0
}

// sorted is the query for a column's head: by that column, or the other way round when it is so already.
func (q ModelQuery) sorted(order string) ModelQuery {
	if q.Sort == order {
		order = "-" + order
	}
	q.Sort = order
	return q
}

// direction is the column's state in the words of ARIA.
func (q ModelQuery) direction(order string) string {
	switch q.Sort {
	case order:
		return "ascending"
	case "-" + order:
		return "descending"
	}
	return "none"
}

func (q ModelQuery) matches(m Model) bool {
	has := func(wanted, have []string) bool {
		return len(wanted) == 0 || slices.ContainsFunc(wanted, func(w string) bool { return slices.Contains(have, w) })
	}
	text := strings.ToLower(strings.Join([]string{m.ID, m.Name, m.Description, m.Owner, m.Kind}, " "))
	for word := range strings.FieldsSeq(strings.ToLower(q.Text)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return has(q.Capabilities, m.Capabilities) && has(q.Styles, m.styleNames())
}

func (m Model) styleNames() []string {
	names := make([]string, len(m.Styles))
	for i, s := range m.Styles {
		names[i] = string(s)
	}
	return names
}

// Rows are the models that match, in the order that was asked for.
func (l Models) Rows() []Model {
	var rows []Model
	for _, m := range l.All {
		if l.Query.matches(m) {
			rows = append(rows, m)
		}
	}
	name, down := strings.CutPrefix(l.Query.Sort, "-")
	for _, o := range modelOrders {
		if o.name != name {
			continue
		}
		slices.SortStableFunc(rows, func(a, b Model) int {
			if a.lacks(name) != b.lacks(name) {
				return map[bool]int{true: 1, false: -1}[a.lacks(name)]
			}
			if down {
				return o.compare(b, a)
			}
			return o.compare(a, b)
		})
	}
	return rows
}

// chips are the choices of a filter with the number of models behind each.
func (l Models) chips(values []string, label func(string) string, has func(Model, string) bool) []ui.ChipOption {
	options := make([]ui.ChipOption, len(values))
	for i, v := range values {
		var n int64
		for _, m := range l.All {
			if has(m, v) {
				n++
			}
		}
		options[i] = ui.ChipOption{Value: v, Label: label(v), Note: Count(n)}
	}
	return options
}

func (l Models) capabilityChips() []ui.ChipOption {
	return l.chips(Capabilities(), titled, func(m Model, v string) bool { return slices.Contains(m.Capabilities, v) })
}

func (l Models) styleChips() []ui.ChipOption {
	return l.chips(styleNames, titled, func(m Model, v string) bool { return slices.Contains(m.Styles, Style(v)) })
}

// titled begins a word with a capital letter.
func titled(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// found is how many models are shown, in words.
func (l Models) found(shown int) string {
	if !l.Query.narrowed() {
		return counted(int64(shown), "model", "models")
	}
	return Count(int64(shown)) + " of " + counted(int64(len(l.All)), "model", "models")
}
