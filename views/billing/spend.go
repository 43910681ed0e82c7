package billing

import (
	"net/url"
	"slices"
	"time"

	"umg/app"
	"umg/views"
	"umg/views/format"
)

// A month's spend is divided in one of these ways.
const (
	SpendByModel = "model"
	SpendByKey   = "key"
	SpendByDay   = "day"
)

var spendWays = []struct{ by, label, column string }{
	{SpendByModel, "By model", "Model"}, {SpendByKey, "By key", "Key"}, {SpendByDay, "By day", "Day"},
}

// spendRowsMax is how many rows are shown before the rest is one row.
const spendRowsMax = 20

// Breakdown is what a month's credit went to. Its lines add up to its total, to the nano-dollar.
type Breakdown struct {
	Query  SpendQuery
	Lines  []SpendLine
	Total  SpendLine
	Failed *views.LoadFailure
}

// SpendQuery says which month is shown, divided by what. It is part of the page's address.
type SpendQuery struct {
	By    string
	Month time.Time // Month is the first moment of the month, in UTC.
	Last  bool      // Last means that the page shows the current month.
}

const monthForm = "2006-01"

// monthsBackMax bounds how far back the addresses of months reach.
const monthsBackMax = 120

// ParseSpendQuery reads an address; what cannot be meant is left out.
func ParseSpendQuery(values url.Values, now time.Time) SpendQuery {
	now = now.UTC()
	present := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	q := SpendQuery{By: values.Get("by"), Month: present}
	if !slices.ContainsFunc(spendWays, func(w struct{ by, label, column string }) bool { return w.by == q.By }) {
		q.By = SpendByModel
	}
	first := present.AddDate(0, -monthsBackMax, 0)
	if m, err := time.Parse(monthForm, values.Get("month")); err == nil && m.Before(present) && m.After(first) {
		q.Month = m
	}
	q.Last = q.Month.Equal(present)
	return q
}

// Path is the address of the page with this part of it.
func (q SpendQuery) Path() string {
	values := url.Values{}
	if q.By != SpendByModel {
		values.Set("by", q.By)
	}
	if !q.Last {
		values.Set("month", q.Month.Format(monthForm))
	}
	if len(values) == 0 {
		return views.BillingPath
	}
	return views.BillingPath + "?" + values.Encode()
}

func (q SpendQuery) as(by string) SpendQuery {
	q.By = by
	return q
}

// months moves by n months. The one after the last but one is the present one.
func (q SpendQuery) months(n int, now time.Time) SpendQuery {
	q.Month = q.Month.AddDate(0, n, 0)
	now = now.UTC()
	q.Last = q.Month.Year() == now.Year() && q.Month.Month() == now.Month()
	return q
}

func (q SpendQuery) name() string { return q.Month.Format("January 2006") }

func (q SpendQuery) column() string {
	for _, w := range spendWays {
		if w.by == q.By {
			return w.column
		}
	}
	return ""
}

// SpendLine is what one model, key or day has cost.
type SpendLine struct {
	Name     string
	Note     string // Note says that a key was deleted.
	Requests int64
	Cost     app.Amount
}

// sumOf adds lines up, as one.
func sumOf(lines []SpendLine) SpendLine {
	var sum SpendLine
	for _, l := range lines {
		sum.Requests += l.Requests
		sum.Cost += l.Cost
	}
	return sum
}

// exact reports whether the lines add up to the total.
func (b Breakdown) exact() bool { return sumOf(b.Lines).Cost == b.Total.Cost }

// shown are the lines of the table: the first of them, and one for all the others. Days are never put together.
func (b Breakdown) shown() []SpendLine {
	if len(b.Lines) <= spendRowsMax+1 || b.Query.By == SpendByDay {
		return b.Lines
	}
	rest := sumOf(b.Lines[spendRowsMax:])
	rest.Name = format.CountOf(int64(len(b.Lines)-spendRowsMax), "other", "others")
	return append(slices.Clone(b.Lines[:spendRowsMax]), rest)
}

// most is the dearest line, which has the longest bar.
func (b Breakdown) most() app.Amount {
	var most app.Amount
	for _, l := range b.shown() {
		most = max(most, l.Cost)
	}
	return most
}

// share is the line's part of the whole. Both are made smaller first, as Percent multiplies.
func (l SpendLine) share(of app.Amount) string {
	scale := max(of/(1<<40), 1)
	part := l.Cost / scale
	if l.Cost > 0 {
		part = max(part, 1)
	}
	return tenthOf(int64(part), int64(of/scale))
}

// tenthOf prints a share to the nearest tenth of a percent, so that a column of shares lines up and adds up to about all.
func tenthOf(part, whole int64) string {
	if whole <= 0 || part <= 0 || part >= whole {
		return format.Percent(part, whole)
	}
	switch tenths := (part*2000/whole + 1) / 2; tenths {
	case 0:
		return "<" + format.Decimal(1, 1) + "%"
	case 1000:
		return ">" + format.Decimal(999, 1) + "%"
	default:
		return format.Decimal(tenths, 1) + "%"
	}
}

// said is the sentence that says what the table adds up to.
func (b Breakdown) said() string {
	if b.exact() {
		return "The rows add up to the total exactly."
	}
	return "The rows add up to " + format.Dollars(sumOf(b.Lines).Cost) + ", the total says " + format.Dollars(b.Total.Cost) + "."
}
