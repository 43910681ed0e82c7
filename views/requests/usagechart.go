package requests

import (
	"time"

	"umg/views/chart"
)

// chart divides the lines into columns.
func (u Usage) chart() chart.Chart {
	steps, hourly, m := u.Query.steps(u.Now), u.Query.Hourly(u.Now), u.Query.metric()
	groups := u.groups()
	series := make(map[string]int, len(groups))
	for _, g := range groups {
		series[g.ID] = g.series
	}
	c := chart.Chart{Columns: make([]chart.Column, len(steps)), Names: groupNames(groups), Compared: u.Query.Compare && u.Before != nil}
	c.Brush = u.Query.brushPath()
	at := make(map[int64]int, len(steps))
	for i, t := range steps {
		at[t.Unix()] = i
		c.Columns[i] = chart.Column{
			Start: t, Name: u.Query.stepWords(t, hourly), Full: u.Query.stepFull(t, hourly), Href: u.Query.into(t, hourly),
			Values: make([]int64, len(c.Names)),
		}
		c.Columns[i].From, c.Columns[i].To = u.Query.stepBounds(t, hourly)
	}
	if m.took != nil {
		chartTimes(&c, u, m)
	}
	for _, l := range u.Lines {
		if m.took != nil {
			break
		}
		if i, known := at[l.Start.Unix()]; known {
			c.Columns[i].Values[series[l.ID]] += m.of(l)
			c.Columns[i].Total += m.of(l)
		}
	}
	if c.Compared {
		chartPeriodBefore(&c, u, steps[0], hourly)
	}
	if u.Budget != nil && u.Budget.Period == "day" && !hourly && m.name == MetricSpend {
		c.Budget, c.BudgetName = int64(u.Budget.Limit), "The budget of a day"
	} else if u.limited() && u.Limit.Period == "day" && !hourly {
		c.Budget, c.BudgetName = int64(u.Limit.Limit), u.Limit.limitName()
	}
	c.Draw(m.chartWords())
	c.Summary = m.label + " by " + u.Query.stepName(u.Now) + ", " + u.Query.spanWords(u.Query.Span(u.Now)) + ": " + u.totalWords() + " in all."
	return c
}

// chartTimes sets the latency of each step, over all groups: percentiles cannot be stacked.
func chartTimes(c *chart.Chart, u Usage, m usageMetric) {
	c.Names, c.Compared = []string{m.label}, false
	for i := range c.Columns {
		c.Columns[i].Values = make([]int64, 1)
		if u.Took != nil {
			c.Columns[i].Total = int64(m.took(u.Took.Steps[c.Columns[i].Start.Unix()]))
			c.Columns[i].Values[0] = c.Columns[i].Total
		}
	}
}

// chartPeriodBefore adds the previous period to the columns, step by step.
func chartPeriodBefore(c *chart.Chart, u Usage, first time.Time, hourly bool) {
	from := u.Before.From.In(first.Location())
	for _, l := range u.Before.Lines {
		i := int(l.Start.Sub(from) / u.Query.step())
		if !hourly {
			i = (i + hoursOfDay/2) / hoursOfDay // days of 23 and 25 hours count as days
		}
		if i >= 0 && i < len(c.Columns) {
			c.Columns[i].BeforeSum += u.Query.metric().of(l)
		}
	}
}
