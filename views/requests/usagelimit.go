package requests

import (
	"time"

	"umg/views/chart"
	"umg/views/format"
)

// limited reports whether the spend limit of the account belongs into the report: the limit is of all calls, in days of UTC.
func (u Usage) limited() bool {
	return u.Limit != nil && u.Query.metric().name == MetricSpend && !u.Query.narrowed() && u.Query.Zone == "" && !u.Query.Minutely()
}

// limitWords say what the limit is and how far it is used.
func (b UsageBudget) limitWords() string {
	return "The spend limit of the account is " + format.Dollars(b.Limit) + " a " + b.Period + ", of which " + format.Dollars(b.Spent) +
		" is spent in this one."
}

func (b UsageBudget) limitName() string {
	return "The spend limit, " + format.Dollars(b.Limit) + " a " + b.Period
}

// begins reports whether a period of the limit begins at a moment.
func (b UsageBudget) begins(t time.Time) bool {
	t = t.UTC()
	if t.Hour() != 0 || t.Minute() != 0 {
		return false
	}
	switch b.Period {
	case "week":
		return t.Weekday() == time.Monday
	case "month":
		return t.Day() == 1
	}
	return true
}

// soFar is a second chart of the same steps: what was spent since the period of the limit began, against the limit. A limit of a day
// needs none where each step is a day, and one whose period began before the report cannot have one.
func (u Usage) soFar(c chart.Chart) (chart.Chart, bool) {
	if !u.limited() || u.Limit.Period == "day" && !u.Query.Hourly(u.Now) {
		return chart.Chart{}, false
	}
	m := u.Query.metric()
	s := chart.Chart{
		Columns: make([]chart.Column, len(c.Columns)), Names: []string{"Spent since it began"}, Slim: true,
		Budget: int64(u.Limit.Limit), BudgetName: u.Limit.limitName(),
		Summary: "What was spent since the spend limit of " + format.Dollars(u.Limit.Limit) + " a " + u.Limit.Period + " was reset.",
	}
	sum, known := int64(0), false
	for i, col := range c.Columns {
		if u.Limit.begins(col.Start) {
			sum, known = 0, true
		}
		s.Columns[i] = chart.Column{Start: col.Start, Name: col.Name, Full: col.Full, Href: col.Href, Values: []int64{0}}
		if known {
			sum += col.Total
			s.Columns[i].Values[0], s.Columns[i].Total = sum, sum
		}
	}
	if !known {
		return chart.Chart{}, false
	}
	s.Draw(m.chartWords())
	for i := range s.Columns {
		s.Columns[i].Hint = s.Columns[i].Full + ": " + m.words(s.Columns[i].Total) + " so far, of " + format.Dollars(u.Limit.Limit)
	}
	return s, true
}
