package views

import "time"

// chart divides the lines into columns.
func (u Usage) chart() usageChart {
	steps, hourly, m := u.Query.steps(u.Now), u.Query.Hourly(u.Now), u.Query.metric()
	groups := u.groups()
	series := make(map[string]int, len(groups))
	for _, g := range groups {
		series[g.ID] = g.series
	}
	c := usageChart{columns: make([]chartColumn, len(steps)), names: groupNames(groups), compared: u.Query.Compare && u.Before != nil}
	at := make(map[int64]int, len(steps))
	for i, t := range steps {
		at[t.Unix()] = i
		c.columns[i] = chartColumn{
			start: t, name: u.Query.stepWords(t, hourly), full: u.Query.stepFull(t, hourly), href: u.Query.into(t, hourly),
			values: make([]int64, len(c.names)),
		}
	}
	if m.took != nil {
		chartTimes(&c, u, m)
	}
	for _, l := range u.Lines {
		if m.took != nil {
			break
		}
		if i, known := at[l.Start.Unix()]; known {
			c.columns[i].values[series[l.ID]] += m.of(l)
			c.columns[i].total += m.of(l)
		}
	}
	if c.compared {
		chartPeriodBefore(&c, u, steps[0], hourly)
	}
	if u.Budget != nil && u.Budget.Period == "day" && !hourly && m.name == MetricSpend {
		c.budget, c.budgetName = int64(u.Budget.Limit), "The budget of a day"
	} else if u.limited() && u.Limit.Period == "day" && !hourly {
		c.budget, c.budgetName = int64(u.Limit.Limit), u.Limit.limitName()
	}
	c.draw(m.chartWords())
	c.said = m.label + " by " + u.Query.stepName(u.Now) + ", " + u.Query.spanWords(u.Query.Span(u.Now)) + ": " + u.totalWords() + " in all."
	return c
}

// chartTimes sets the latency of each step, over all groups: percentiles cannot be stacked.
func chartTimes(c *usageChart, u Usage, m usageMetric) {
	c.names, c.compared = []string{m.label}, false
	for i := range c.columns {
		c.columns[i].values = make([]int64, 1)
		if u.Took != nil {
			c.columns[i].total = int64(m.took(u.Took.Steps[c.columns[i].start.Unix()]))
			c.columns[i].values[0] = c.columns[i].total
		}
	}
}

// chartPeriodBefore adds the previous period to the columns, step by step.
func chartPeriodBefore(c *usageChart, u Usage, first time.Time, hourly bool) {
	from := u.Before.From.In(first.Location())
	for _, l := range u.Before.Lines {
		i := int(l.Start.Sub(from) / u.Query.step())
		if !hourly {
			i = (i + hoursOfDay/2) / hoursOfDay // days of 23 and 25 hours count as days
		}
		if i >= 0 && i < len(c.columns) {
			c.columns[i].beforeSum += u.Query.metric().of(l)
		}
	}
}
