package models

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// List is the list of all models, as far as the query lets them through.
type List struct {
	views.Shell
	Query Query
	All   []views.Model
	Keys  []KeyAllows // keys of the account, to filter by one; empty for visitors
	Cards bool        // cards instead of a table
}

// KeyAllows is a key and the models that it may use.
type KeyAllows struct {
	ID, Name string
	Models   []string // empty for all models
}

// modelOrder is a way to sort the list: its name in the address, its words, what has nothing to be sorted by, and how two
// others compare.
type modelOrder struct {
	name, label string
	lacks       func(views.Model) bool
	compare     func(a, b views.Model) int
}

var orders = []modelOrder{
	{"name", "Name", never, func(a, b views.Model) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) }},
	byNumber("context", "Context", func(m views.Model) int64 { return m.ContextTokens }),
	byNumber("max", "Max output", func(m views.Model) int64 { return m.MaxOutput }),
	byNumber("input", "Input price", func(m views.Model) int64 { return m.AmountOf("input_tokens") + 1 }),
	byNumber("output", "Output price", func(m views.Model) int64 { return m.AmountOf("output_tokens") + 1 }),
	byNumber("ttft", "Time to first token", func(m views.Model) int64 { return int64(m.Now.FirstByteP50) }),
	byNumber("speed", "Tokens a second", func(m views.Model) int64 { return m.Now.Speed }),
	{"released", "Released", never, func(a, b views.Model) int { return a.Released.Compare(b.Released) }},
}

func never(views.Model) bool { return false }

// byNumber sorts by a number, with models that have none at the end either way.
func byNumber(name, label string, of func(views.Model) int64) modelOrder {
	return modelOrder{
		name, label, func(m views.Model) bool { return of(m) <= 0 }, func(a, b views.Model) int { return cmp.Compare(of(a), of(b)) },
	}
}

// sortOptions are the orders as the select shows them.
var sortOptions = []ui.Option{
	{Value: "", Label: "By provider"},
	{Value: "name", Label: "Name"},
	{Value: "-released", Label: "Newest first"},
	{Value: "-context", Label: "Largest context"},
	{Value: "-max", Label: "Largest max output"},
	{Value: "input", Label: "Cheapest input"},
	{Value: "output", Label: "Cheapest output"},
	{Value: "ttft", Label: "Lowest latency (TTFT)"},
	{Value: "-speed", Label: "Highest throughput"},
}

// sorts are the select's options, with the present order among them even when it was chosen in the table's head.
func (q Query) sorts() []ui.Option {
	if slices.ContainsFunc(sortOptions, func(o ui.Option) bool { return o.Value == q.Sort }) {
		return sortOptions
	}
	name, down := strings.CutPrefix(q.Sort, "-")
	direction := ", ascending"
	if down {
		direction = ", descending"
	}
	for _, o := range orders {
		if o.name == name {
			return append(slices.Clone(sortOptions), ui.Option{Value: q.Sort, Label: o.label + direction})
		}
	}
	return sortOptions
}

// Rows are the models that match, in the order that was asked for.
func (l List) Rows() []views.Model {
	var rows []views.Model
	allowed := l.allowed()
	for _, m := range l.All {
		if l.Query.matches(m, allowed, l.Now) {
			rows = append(rows, m)
		}
	}
	name, down := strings.CutPrefix(l.Query.Sort, "-")
	for _, o := range orders {
		if o.name != name {
			continue
		}
		slices.SortStableFunc(rows, func(a, b views.Model) int {
			if lacking := o.lacks(a); lacking != o.lacks(b) {
				return map[bool]int{true: 1, false: -1}[lacking]
			}
			if down {
				return o.compare(b, a)
			}
			return o.compare(a, b)
		})
	}
	return rows
}

// allowed are the models of the chosen key, nil when there is no such key or it may use all.
func (l List) allowed() []string {
	for _, k := range l.Keys {
		if k.ID == l.Query.Key && len(k.Models) > 0 {
			return k.Models
		}
	}
	return nil
}

// marks says whether a model is chosen for a comparison.
func (l List) marks(id string) bool { return slices.Contains(l.Query.Marked, id) }

// markedBeyond are the models chosen for a comparison that the query leaves out.
func (l List) markedBeyond(rows []views.Model) []views.Model {
	var beyond []views.Model
	for _, m := range l.All {
		if l.marks(m.ID) && !slices.ContainsFunc(rows, func(r views.Model) bool { return r.ID == m.ID }) {
			beyond = append(beyond, m)
		}
	}
	return beyond
}

// ticked is how many models are chosen for a comparison, as far as the address says. The script keeps it.
func (l List) ticked() string {
	if len(l.Query.Marked) == 0 {
		return ""
	}
	return strconv.Itoa(len(l.Query.Marked)) + " of " + strconv.Itoa(markedMax)
}

// chips are the choices of a filter with the number of models behind each, without those that no model has.
func (l List) chips(values []string, label func(string) string, has func(views.Model, string) bool) []ui.ChipOption {
	var options []ui.ChipOption
	for _, v := range values {
		var n int64
		for _, m := range l.All {
			if has(m, v) {
				n++
			}
		}
		if n > 0 {
			options = append(options, ui.ChipOption{Value: v, Label: label(v), Note: format.Count(n)})
		}
	}
	return options
}

func (l List) capabilityChips() []ui.ChipOption {
	return l.chips(Capabilities(), format.Capitalize, func(m views.Model, v string) bool { return slices.Contains(m.Capabilities, v) })
}

func (l List) styleChips() []ui.ChipOption {
	return l.chips(styleNames, format.Capitalize, func(m views.Model, v string) bool { return slices.Contains(m.Styles, views.Style(v)) })
}

func (l List) inputChips() []ui.ChipOption {
	return l.chips(modalityNames, format.Capitalize, views.Model.Takes)
}

func (l List) outputChips() []ui.ChipOption {
	return l.chips(modalityNames, format.Capitalize, func(m views.Model, v string) bool { return slices.Contains(m.Output, v) })
}

func (l List) featureChips() []ui.ChipOption {
	return l.chips(featureNames(), featureLabel, views.Model.Supports)
}

func (l List) statusChips() []ui.ChipOption {
	return l.chips(statusNames(), statusLabel, func(m views.Model, v string) bool { return slices.Contains(m.Statuses(l.Now), v) })
}

func featureLabel(name string) string {
	for _, f := range views.ModelFeatures {
		if f.Name == name {
			return f.Label
		}
	}
	return name
}

// contextOptions are the least contexts to choose from, with the present one among them.
func (q Query) contextOptions() []ui.Option {
	floors := []int64{0, 8_000, 32_000, 128_000, 200_000, 1_000_000}
	if !slices.Contains(floors, q.Context) {
		floors = append(floors, q.Context)
		slices.Sort(floors)
	}
	options := make([]ui.Option, len(floors))
	for i, n := range floors {
		options[i] = ui.Option{Value: strconv.FormatInt(n, 10), Label: format.ShortCount(n) + " tokens"}
	}
	options[0] = ui.Option{Label: "Any"}
	return options
}

func (q Query) contextValue() string {
	if q.Context == 0 {
		return ""
	}
	return strconv.FormatInt(q.Context, 10)
}

// parameterOptions are the parameters that any model takes, and the present one even when none does.
func (l List) parameterOptions() []ui.Option {
	var names []string
	for _, m := range l.All {
		names = append(names, m.Parameters...)
	}
	if l.Query.Parameter != "" {
		names = append(names, l.Query.Parameter)
	}
	slices.Sort(names)
	options := []ui.Option{{Label: "Any"}}
	for _, name := range slices.Compact(names) {
		options = append(options, ui.Option{Value: name, Label: name})
	}
	return options
}

// keyOptions are the keys whose models can be looked at.
func (l List) keyOptions() []ui.Option {
	options := []ui.Option{{Label: "Any key"}}
	for _, k := range l.Keys {
		what := "all models"
		if len(k.Models) > 0 {
			what = format.CountOf(int64(len(k.Models)), "model", "models")
		}
		options = append(options, ui.Option{Value: k.ID, Label: k.Name + " (" + what + ")"})
	}
	return options
}

// moreLabel is the title of the filters that are folded away.
func (q Query) moreLabel() string {
	if n := q.more(); n > 0 {
		return "More filters, " + strconv.Itoa(n) + " used"
	}
	return "More filters"
}

// found is how many models are shown, in words.
func (l List) found(shown int) string {
	if !l.Query.narrowed() {
		return format.CountOf(int64(shown), "model", "models")
	}
	return format.Count(int64(shown)) + " of " + format.CountOf(int64(len(l.All)), "model", "models")
}

// unitWord is the unit of prices of tokens for heads of columns.
func (q Query) unitWord() string {
	if q.Unit == views.UnitThousand {
		return "1K"
	}
	return "1M"
}

// limitsDiffer says whether any model has limits other than those of the account, which the list then shows.
func (l List) limitsDiffer() bool {
	return slices.ContainsFunc(l.All, func(m views.Model) bool { return m.Limits.Differ() })
}

// limitsHead heads the column of limits.
func (l List) limitsHead() string {
	if l.Viewer == nil {
		return "Usual limits"
	}
	return "Rate limit remaining"
}

// current marks the link of the page's own state.
func current(is bool) string {
	if is {
		return "true"
	}
	return "false"
}
