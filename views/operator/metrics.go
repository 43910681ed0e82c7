package operator

import (
	"time"

	"umg/views"
	"umg/views/chart"
	"umg/views/format"
)

const (
	metricsColumns = 60
	minuteTicks    = 10 // Labels below a chart are this many minutes apart.
	minuteWidth    = 82 // A bar covers this percentage of its column's width.
)

// Metrics is the figures of the calls of the last hour, by minute and by replica.
type Metrics struct {
	views.Shell
	RawURL   string         // RawURL is the address of the raw metrics of this replica.
	Minutes  []MetricMinute // Minutes are sixty, the oldest first.
	Hour     MetricMinute   // Hour is the sum of all minutes.
	Replicas []MetricReplica
	Failure  *views.LoadFailure
}

// MetricMinute is one minute of all replicas.
type MetricMinute struct {
	Start                         time.Time
	Seen                          bool // Seen means that a replica reported this minute.
	Calls, Errors                 int64
	Limited, Unfunded, Overloaded int64
	InFlightMax                   int64         // InFlightMax is the sum of each replica's maximum.
	First50, First95              time.Duration // First50 and First95 are zero if unknown.
	Own50, Own95                  time.Duration
}

// MetricReplica is what one replica answered in the hour.
type MetricReplica struct {
	Name     string
	Seen     time.Time
	InFlight int64
	MetricMinute
}

func (m MetricMinute) refused() int64 { return m.Limited + m.Unfunded + m.Overloaded }

// inFlight is how many calls run now, on the replicas that reported lately.
func (m Metrics) inFlight() int64 {
	var n int64
	for _, r := range m.Replicas {
		n += r.InFlight
	}
	return n
}

// metricChart is one picture of the hour.
type metricChart struct {
	id, title, note string
	names           []string // Names are those of the series, from the front.
	over            bool     // Over means that the series overlap instead of being stacked.
	words           func(int64) string
	values          func(MetricMinute) []int64
}

func countWords(n int64) string { return format.Count(n) }

func microWords(us int64) string { return format.FineDuration(time.Duration(us) * time.Microsecond) }

var metricCharts = []metricChart{
	{id: "calls", title: "Calls", note: "Calls of text models a minute, by how they ended.", names: []string{"Answered", "Failed"},
		words: countWords, values: func(m MetricMinute) []int64 { return []int64{m.Calls - m.Errors, m.Errors} }},
	{id: "refused", title: "Refusals", note: "Refused a minute before any model was asked.",
		names: []string{"By a limit", "For lack of credit", "By overload"},
		words: countWords, values: func(m MetricMinute) []int64 { return []int64{m.Limited, m.Unfunded, m.Overloaded} }},
	{id: "first", title: "First byte", note: "From the request to the first byte of its answer.",
		names: []string{"p50", "p95"}, over: true,
		words: microWords, values: func(m MetricMinute) []int64 { return []int64{m.First50.Microseconds(), m.First95.Microseconds()} }},
	{id: "own", title: "Gateway overhead", note: "What the gateway itself took of a call, without waiting for providers.",
		names: []string{"p50", "p95"}, over: true,
		words: microWords, values: func(m MetricMinute) []int64 { return []int64{m.Own50.Microseconds(), m.Own95.Microseconds()} }},
	{id: "flying", title: "In flight", note: "The most calls at once in each minute, sampled every 5 s.",
		names: []string{"At once"},
		words: countWords, values: func(m MetricMinute) []int64 { return []int64{m.InFlightMax} }},
}

// draw lays the minutes out as a chart.
func (k metricChart) draw(m Metrics) chart.Chart {
	c := chart.Chart{Names: k.names, Columns: make([]chart.Column, len(m.Minutes))}
	var largest int64
	for i, one := range m.Minutes {
		values := k.values(one)
		c.Columns[i] = chart.Column{Start: one.Start, Values: values}
		for _, v := range values {
			if k.over {
				c.Columns[i].Total = max(c.Columns[i].Total, v)
			} else {
				c.Columns[i].Total += v
			}
		}
		largest = max(largest, c.Columns[i].Total)
	}
	top := chart.ScaleTop(largest)
	if largest > 0 {
		c.Top = k.words(top)
	}
	if top > 1 {
		c.Half = k.words(top / 2)
	}
	for i := range c.Columns {
		k.place(&c.Columns[i], m.Minutes[i], i, top)
	}
	c.Summary = k.title + " by minute over the last hour."
	return c
}

// place finds the place of one column, from the foot up or each from the foot.
func (k metricChart) place(col *chart.Column, m MetricMinute, i int, top int64) {
	left, right := i*chart.FullScale/metricsColumns, (i+1)*chart.FullScale/metricsColumns
	width := (right - left) * minuteWidth / 100
	gap := (right - left - width) / 2
	col.HitX, col.HitWidth, col.X, col.Width = chart.Position(left), chart.Position(right-left), chart.Position(left+gap),
		chart.Position(width)
	col.Middle = chart.Position(left + (right-left)/2)
	col.Hint = m.Start.UTC().Format("15:04") + " UTC"
	markMinute(col, m.Start.Minute())
	if !m.Seen {
		col.Hint += ": no figures"
		return
	}
	foot := chart.FullScale
	for s := range col.Values {
		if k.over {
			s = len(col.Values) - 1 - s // The tallest series is drawn first.
		}
		col.Hint += ", " + k.names[s] + " " + k.words(col.Values[s])
		height := chart.HeightOf(col.Values[s], top)
		if col.Values[s] > 0 {
			height = max(height, chart.MinHeight)
		}
		if height == 0 {
			continue
		}
		if k.over {
			foot = chart.FullScale
		}
		foot -= min(height, foot)
		col.Pieces = append(col.Pieces, chart.Piece{Series: k.series(s), Y: chart.Position(foot),
			Height: chart.Position(min(height, chart.FullScale))})
	}
}

// markMinute gives a column the label of its minute; narrow screens show fewer labels.
func markMinute(col *chart.Column, minute int) {
	switch {
	case minute%(2*minuteTicks) == 0:
		col.Tick = "few"
	case minute%minuteTicks == 0:
		col.Tick = "many"
	}
}

// series is the colour of a series: what went wrong has the colour of that.
func (k metricChart) series(s int) int {
	if k.over && s == 1 {
		return 5
	}
	if !k.over && s == 1 && k.id == "calls" {
		return 4
	}
	return s
}
