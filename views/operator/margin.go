package operator

import (
	"net/url"
	"strconv"
	"time"

	"umg/app"
	"umg/views"
	"umg/views/chart"
	"umg/views/format"
	"umg/views/ui"
)

// MarginRanges are the numbers of days that the page offers. The first is the default.
var MarginRanges = []int{7, 30, 90}

// Margin is what calls brought in and what providers charged for them.
type Margin struct {
	views.Shell
	Days                int    // Days is how many days the page covers, today among them.
	Provider, Model     string // An empty filter matches all.
	Providers, Models   []ui.Option
	ByDay               []MarginLine // ByDay has every day of the range, the oldest first.
	ByProvider, ByModel []MarginLine
	Total               MarginLine
	Tests               []TestLine // Tests are the test calls of each provider, which are in no other line.
	Failure             *views.LoadFailure
}

// MarginLine is what some calls brought in and cost.
type MarginLine struct {
	Day                          time.Time // Day is zero unless the line is one of a day.
	Name                         string    // Name is the provider or the model.
	Calls, Unpriced              int64     // Unpriced is how many of the calls have no known cost.
	Revenue, PricedRevenue, Cost app.Amount
}

// TestLine is what the test calls of a provider cost.
type TestLine struct {
	Provider        string
	Calls, Unpriced int64 // Unpriced is how many of the calls have no known cost.
	Cost            app.Amount
}

// isKnown reports whether the cost of any of the calls is known.
func (l TestLine) isKnown() bool { return l.Unpriced < l.Calls }

// unknown says for how many calls the cost is unknown. It is empty when the cost of all is known.
func (l TestLine) unknown() string {
	return MarginLine{Calls: l.Calls, Unpriced: l.Unpriced}.unknown()
}

// margin is what remains of the revenue of the calls whose cost is known.
func (l MarginLine) margin() app.Amount { return l.PricedRevenue - l.Cost }

// isKnown reports whether the cost of any of the calls is known.
func (l MarginLine) isKnown() bool { return l.Unpriced < l.Calls || l.Calls == 0 }

// share is the margin as a part of the revenue. A loss may be larger than the revenue.
func (l MarginLine) share() string {
	const exact = 1 << 40 // Larger amounts are divided, since a percentage of them would overflow.
	part, whole := int64(l.margin()), int64(l.PricedRevenue)
	for max(part, -part, whole) > exact {
		part, whole = part/2, whole-whole/2
	}
	switch {
	case part >= 0 || whole == 0:
		return format.Percent(part, whole)
	case -part <= whole:
		return "\u2212" + format.Percent(-part, whole)
	}
	return "\u2212" + format.Count(-part*100/whole) + "%"
}

// unknown says for how many calls the cost is unknown. It is empty when the cost of all is known.
func (l MarginLine) unknown() string {
	switch l.Unpriced {
	case 0:
		return ""
	case l.Calls:
		return "The cost is unknown"
	}
	return "The cost of " + format.CountOf(l.Unpriced, "call", "calls") + " is unknown"
}

// These are the parts of a bar, in order from the foot or from the left.
const (
	partCost = iota
	partMargin
	partLoss
	partUnknown
	marginParts
)

var marginNames = []string{"Cost", "Margin", "Loss", "Revenue with unknown cost"}

// marginSeries are the colours of the parts.
var marginSeries = [marginParts]int{6, 1, 4, 2}

// parts divides the larger of the revenue and the cost. Cost and margin, or cost and loss, are of the calls whose cost is known.
func (l MarginLine) parts() []int64 {
	covered := min(l.Cost, l.PricedRevenue)
	return []int64{
		partCost: int64(covered), partMargin: int64(l.PricedRevenue - covered), partLoss: int64(l.Cost - covered),
		partUnknown: int64(l.Revenue - l.PricedRevenue),
	}
}

// size is the sum of the parts.
func (l MarginLine) size() (n int64) {
	for _, part := range l.parts() {
		n += part
	}
	return n
}

// hint names the parts of a bar that are not zero.
func (l MarginLine) hint() string {
	text := "revenue " + format.Dollars(l.Revenue)
	if l.isKnown() {
		text += ", cost " + format.Dollars(l.Cost) + ", margin " + format.Dollars(l.margin())
	}
	if l.Unpriced > 0 {
		text += ", cost of " + format.CountOf(l.Unpriced, "call", "calls") + " unknown"
	}
	return text
}

// barPiece is one part of a bar that lies on its side.
type barPiece struct{ series, x, width string }

// bar lays the parts out from the left. The largest line of a table takes the whole width.
func (l MarginLine) bar(largest int64) (pieces []barPiece) {
	x := 0
	for i, part := range l.parts() {
		width := chart.HeightOf(part, largest)
		if part > 0 {
			width = min(max(width, chart.MinHeight), chart.FullScale-x)
		}
		if width > 0 {
			pieces = append(pieces, barPiece{chart.SeriesName(marginSeries[i]), chart.Position(x), chart.Position(width)})
			x += width
		}
	}
	return pieces
}

// largest is the size of the largest bar of a table.
func largest(lines []MarginLine) (n int64) {
	for _, l := range lines {
		n = max(n, l.size())
	}
	return n
}

// chart draws the days.
func (m Margin) chart() chart.Chart {
	c := chart.Chart{Names: marginNames, Columns: make([]chart.Column, len(m.ByDay))}
	for i, l := range m.ByDay {
		c.Columns[i] = chart.Column{
			Start: l.Day, Name: l.Day.Format(format.ShortDayForm), Full: format.Day(l.Day), Values: l.parts(), Total: l.size(),
		}
	}
	dollars := func(n int64) string { return format.Dollars(app.Amount(n)) }
	c.Draw(chart.Words{Short: dollars, Full: dollars})
	for i := range c.Columns {
		c.Columns[i].Hint = c.Columns[i].Full + ": " + m.ByDay[i].hint()
		for k := range c.Columns[i].Pieces {
			piece := &c.Columns[i].Pieces[k]
			piece.Series = marginSeries[piece.Series]
		}
	}
	c.Summary = "Revenue, cost and margin of each of the last " + strconv.Itoa(m.Days) + " days of UTC: " + m.Total.hint() + " in all."
	return c
}

// path is the address of the page, or of its file, with a filter in place of the present one.
func (m Margin) path(file, provider, model string) string {
	q := url.Values{}
	if m.Days != MarginRanges[0] {
		q.Set("days", strconv.Itoa(m.Days))
	}
	for name, value := range map[string]string{"provider": provider, "model": model} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(q) == 0 {
		return views.MarginPath + file
	}
	return views.MarginPath + file + "?" + q.Encode()
}

// isNarrowed reports whether the page shows a part of the calls only.
func (m Margin) isNarrowed() bool { return m.Provider != "" || m.Model != "" }

// rangeOptions are the ranges to choose from.
func (m Margin) rangeOptions() (options []ui.ChipOption) {
	for _, days := range MarginRanges {
		options = append(options, ui.ChipOption{Value: strconv.Itoa(days), Label: strconv.Itoa(days) + " days"})
	}
	return options
}
