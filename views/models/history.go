package models

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// Day is how a model did on one day of UTC, over all accounts.
type Day struct {
	Day              time.Time
	Answered, Failed int64
	Judged           bool // There were enough calls to judge the day.
}

const (
	stripDays  = 90
	stripStep  = 4 // A day in the picture is this wide, with its gap.
	dayHours   = 24 * time.Hour
	thousandth = 1000
)

// stripDay is one day of the strip: none, good, some or bad.
type stripDay struct {
	state, title string
	x            string
}

// strip is the last ninety days, the oldest first, with a day for each, also where nothing is known.
func (d Detail) strip() []stripDay {
	days := make([]stripDay, stripDays)
	today := d.Now.UTC().Truncate(dayHours)
	for i := range days {
		day := today.AddDate(0, 0, i-stripDays+1)
		days[i] = stripDay{state: "none", title: format.Day(day) + ": no data", x: strconv.Itoa(i * stripStep)}
		for _, known := range d.Days {
			if calls := known.Answered + known.Failed; calls > 0 && known.Day.UTC().Equal(day) {
				days[i].title = format.Day(day) + ": " + dayWords(known)
				if known.Judged {
					days[i].state = stripState(known.Answered, known.Failed)
				}
			}
		}
	}
	return days
}

// stripState is the color of a part of a strip: good, some or bad.
func stripState(answered, failed int64) string {
	switch calls := answered + failed; {
	case failed*thousandth >= views.FailingFrom*calls:
		return "bad"
	case failed*thousandth >= views.TroubledFrom*calls:
		return "some"
	}
	return "good"
}

// dayWords says how a day went.
func dayWords(d Day) string {
	calls := d.Answered + d.Failed
	if d.Failed == 0 {
		return "all of " + format.CountOf(calls, "call", "calls") + " answered"
	}
	return views.SuccessShare(d.Answered, calls) + " of " + format.CountOf(calls, "call", "calls") + " answered, " +
		format.Count(d.Failed) + " failed"
}

// stripSummary is the strip in words.
func (d Detail) stripSummary() string {
	var all Day
	var known, failed int64
	for _, day := range d.Days {
		if day.Answered+day.Failed == 0 {
			continue
		}
		known++
		all.Answered += day.Answered
		all.Failed += day.Failed
		if day.Failed > 0 {
			failed++
		}
	}
	if known == 0 {
		return "No one called this model in the last 90 days."
	}
	calls := all.Answered + all.Failed
	text := views.SuccessShare(all.Answered, calls) + " of " + format.CountOf(calls, "call", "calls") + " answered in 90 days"
	if known < stripDays {
		text += ", on " + format.CountOf(known, "day", "days") + " with calls"
	}
	if failed == 0 {
		return text + "."
	}
	return text + "; failures on " + format.CountOf(failed, "day", "days") + "."
}

// failedDays are the days with failures, the newest first.
func (d Detail) failedDays() []Day {
	var days []Day
	for _, day := range slices.Backward(d.Days) {
		if day.Failed > 0 {
			days = append(days, day)
		}
	}
	return days
}

// PastPrices are the prices of a model from a moment on, until the next ones.
type PastPrices struct {
	From       time.Time
	Prices     []views.Price
	SizePrices []views.SizePrice
	Conditions []views.PriceCondition
}

// conditionColumn is the column of the other prices for some calls.
const conditionColumn = "Other prices"

// conditionsText are the other prices, one sentence each.
func (p PastPrices) conditionsText() string {
	return strings.Join(views.OtherPrices{Conditions: p.Conditions}.ConditionLines(), ". ")
}

// priced finds the price of a column of the history.
func (p PastPrices) priced(column string) string {
	if column == conditionColumn {
		return p.conditionsText()
	}
	for _, one := range p.Prices {
		if one.Like == "" && one.Label() == column {
			return one.Text()
		}
	}
	for _, one := range p.SizePrices {
		if one.Price.Label()+" at "+one.Size == column {
			return one.Price.Text()
		}
	}
	return ""
}

// pastColumns are all that the model was ever priced by, in the order to read it in.
func (d Detail) pastColumns() []string {
	var columns []string
	conditional := false
	add := func(label string) {
		if label != "" && !slices.Contains(columns, label) {
			columns = append(columns, label)
		}
	}
	all := d.Past
	if d.Next != nil {
		all = append(slices.Clone(all), *d.Next)
	}
	for _, meter := range views.MeterOrder {
		for _, past := range all {
			for _, p := range past.Prices {
				if p.Meter == meter && p.Like == "" {
					add(p.Label())
				}
			}
		}
	}
	for _, past := range all {
		for _, s := range past.SizePrices {
			add(s.Price.Label() + " at " + s.Size)
		}
		if len(past.Conditions) > 0 {
			conditional = true
		}
	}
	if conditional {
		add(conditionColumn)
	}
	return columns
}

// The picture of prices has these measures, in its own units.
const (
	chartWide = 600
	chartHigh = 100
	chartLine = 2 // This is the margin for half the stroke at the edges.
)

// priceLine is one line of the picture.
type priceLine struct{ label, path string }

// priceSteps are the prices of input and output, or of the one thing a model is priced by, as lines of steps. There are none
// when the prices never changed.
func (d Detail) priceSteps() (lines []priceLine, most app.Amount) {
	if len(d.Past) < 2 {
		return nil, 0
	}
	meters := []string{"input_tokens", "output_tokens"}
	if !d.Model.ByToken() {
		meters = views.MeterOrder[slices.Index(views.MeterOrder, "images"):]
	}
	at := func(p PastPrices, meter string) (app.Amount, bool) {
		m := views.Model{Prices: p.Prices}
		price, ok := m.Price(meter)
		amount, _ := price.Quoted()
		return amount, ok
	}
	for _, past := range d.Past {
		for _, meter := range meters {
			if amount, ok := at(past, meter); ok && amount > most {
				most = amount
			}
		}
	}
	first := d.Past[len(d.Past)-1].From
	x := func(t time.Time) string {
		whole := max(d.Now.Sub(first), 1)
		return strconv.FormatInt(int64(t.Sub(first)/time.Second)*chartWide/max(int64(whole/time.Second), 1), 10)
	}
	for _, meter := range meters {
		var path strings.Builder
		for _, past := range slices.Backward(d.Past) {
			amount, ok := at(past, meter)
			if !ok || most == 0 {
				continue
			}
			y := strconv.FormatInt(chartHigh-chartLine-int64(amount)*(chartHigh-2*chartLine)/int64(most), 10)
			if path.Len() == 0 {
				path.WriteString("M" + x(past.From) + " " + y)
			} else {
				path.WriteString("H" + x(past.From) + "V" + y)
			}
		}
		if path.Len() > 0 {
			lines = append(lines, priceLine{views.MeterWords[meter].Label, path.String() + "H" + strconv.Itoa(chartWide)})
		}
	}
	return lines, most
}

// Change is one thing that became different about a model, in the words of the catalog's file.
type Change struct {
	At              time.Time
	Field, From, To string
	Gone            bool
}

// changeLabels say what a field of the catalog is.
var changeLabels = map[string]string{
	"name": "Name", "description": "Description", "capabilities": "Capabilities", "input": "Input", "output": "Output",
	"context_tokens": "Context", "max_output_tokens": "Max output", "styles": "API styles", "parameters": "Parameters",
	"thinking":     "Forms of thinking",
	"availability": "Availability", "paused": "Paused", "released": "Released", "deprecated": "Deprecated", "shutdown": "Shuts down",
	"successor": "Successor", "fallbacks": "Fallback models", "sizes": "Sizes", "seconds": "Seconds", "assets": "Material assets of a call",
}

// Text is the change in a sentence.
func (c Change) Text() string {
	switch {
	case c.Field == "" && c.Gone:
		return "Left the catalog"
	case c.Field == "":
		return "Came into the catalog"
	case c.Field == "description":
		return "Description reworded"
	case c.Field == "conditions":
		return "Other prices for some calls, as the price history shows"
	}
	c.From, c.To = changeValue(c.From), changeValue(c.To)
	if strings.Contains(c.Field, "rates.") {
		c.From, c.To = format.Marked(centsOf(c.From)), format.Marked(centsOf(c.To))
	}
	label, dollar := changeLabels[c.Field], ""
	if first, rest, nested := strings.Cut(c.Field, "."); nested {
		switch first {
		case "rates":
			label, dollar = views.MeterWords[rest].Label+" price", "$"
		case "size_rates":
			size, meter, _ := strings.Cut(rest, ".")
			label, dollar = views.MeterWords[meter].Label+" price at "+size, "$"
		case "limits":
			label = "Limit of " + strings.ReplaceAll(rest, "_", " ")
		default:
			label = "Range of " + strings.ReplaceAll(rest, ".", " ")
		}
	}
	if label == "" {
		label = format.Capitalize(strings.ReplaceAll(c.Field, "_", " "))
	}
	if strings.HasPrefix(c.From, "[") && strings.HasPrefix(c.To, "[") {
		return label + ": " + listChange(c.From, c.To)
	}
	switch {
	case c.From == "":
		return label + ": " + dollar + c.To
	case c.To == "":
		return label + ": " + dollar + c.From + ", not any more"
	}
	return label + ": " + dollar + c.From + " → " + dollar + c.To
}

// changeValue writes days and whole numbers as they are written everywhere.
func changeValue(text string) string {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return format.Day(day)
	}
	if _, err := strconv.ParseUint(text, 10, 64); err == nil {
		return format.Number(text)
	}
	return text
}

// centsOf writes a price of the catalog's file with its cents: "14 per 1M" is "14.00 per 1M".
func centsOf(rate string) string {
	amount, per, _ := strings.Cut(rate, " ")
	_, cents, _ := strings.Cut(amount, ".")
	switch {
	case amount == "" || per == "":
		return rate
	case cents == "":
		return strings.TrimSuffix(amount, ".") + ".00 " + per
	case len(cents) == 1:
		return amount + "0 " + per
	}
	return rate
}

// listChange says what came into a list and what left it.
func listChange(from, to string) string {
	words := func(s string) []string { return strings.Split(strings.Trim(s, "[]"), ", ") }
	old, next := words(from), words(to)
	var parts []string
	lacking := func(verb string, these, those []string) {
		left := slices.DeleteFunc(slices.Clone(these), func(w string) bool { return w == "" || slices.Contains(those, w) })
		if len(left) > 0 {
			parts = append(parts, verb+" "+strings.Join(left, ", "))
		}
	}
	lacking("added", next, old)
	lacking("removed", old, next)
	if len(parts) == 0 {
		return "in another order"
	}
	return strings.Join(parts, "; ")
}

func termOptions(terms []CalcTerms) []ui.Option {
	options := make([]ui.Option, len(terms))
	for i, t := range terms {
		options[i] = ui.Option{Value: t.Value, Label: t.Label}
	}
	return options
}

func sizeOptions(sizes []string) []ui.Option {
	options := make([]ui.Option, len(sizes))
	for i, s := range sizes {
		options[i] = ui.Option{Value: s, Label: s}
	}
	return options
}
