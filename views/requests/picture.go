package requests

import (
	"time"

	"umg/views/chart"
	"umg/views/format"
)

// CallPicture is how many calls a list has, over its time.
type CallPicture struct {
	From, To time.Time
	Step     time.Duration
	Bars     []CallBar
	Since    time.Time // start of the counted span; From when all is counted
}

// CallBar is the calls of one step.
type CallBar struct {
	Start            time.Time
	Requests, Errors int64
}

const (
	pictureUsual    = 24 * time.Hour // span of a list without bounds
	pictureBarsMax  = 60
	pictureSpansMax = 366 * 24 * time.Hour
)

// pictureSteps are the periods that a bar may cover. Periods of a quarter of an hour and more are read from sums.
var pictureSteps = []time.Duration{
	time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 7 * 24 * time.Hour,
}

// PictureSpan is what the picture above the list covers: its span, to whole steps, at most a year of it.
func (q Query) PictureSpan(now time.Time) (from, to time.Time, step time.Duration) {
	from, to = q.Span(now)
	if to.IsZero() {
		to = now
	}
	if from.IsZero() {
		from = to.Add(-pictureUsual)
	}
	if !from.Before(to) {
		return time.Time{}, time.Time{}, 0
	}
	if to.Sub(from) > pictureSpansMax {
		from = to.Add(-pictureSpansMax)
	}
	for _, step = range pictureSteps {
		if to.Sub(from) <= step*pictureBarsMax {
			break
		}
	}
	from = from.UTC().Truncate(step)
	if ceil := to.UTC().Truncate(step); ceil.Before(to) {
		to = ceil.Add(step)
	}
	return from, to.UTC(), step
}

// callColumn is one bar, ready to be drawn.
type callColumn struct {
	href, hint, name string
	hitX, hitWidth   string
	x, width, middle string
	y, height        string // geometry of the successful calls
	badY, badHeight  string
	tick             string
	unknown          bool
	// full is the time of the bar, and values are its answered requests and errors for the tooltip.
	full, values string
	// from and to are the bounds of the bar as in the address of the list.
	from, to         string
	requests, errors int64
}

// brushPath is the address of the list without bounds of time.
func (q Query) brushPath() string {
	q.Range, q.After, q.From, q.To = "", "", time.Time{}, time.Time{}
	return q.Path()
}

// columns places the bars.
func (p CallPicture) columns(q Query) (columns []callColumn, top string) {
	var largest int64
	for _, b := range p.Bars {
		largest = max(largest, b.Requests)
	}
	scale := chart.ScaleTop(max(largest, 4))
	n, zone := max(len(p.Bars), 1), location(q.Zone)
	columns = make([]callColumn, len(p.Bars))
	for i, b := range p.Bars {
		left, right := chart.FullScale*i/n, chart.FullScale*(i+1)/n
		gap := (right - left) / 8
		into := q
		into.Range, into.After, into.From, into.To = "", "", b.Start, b.Start.Add(p.Step)
		c := callColumn{
			href: into.Path(), hitX: chart.Position(left), hitWidth: chart.Position(right - left), x: chart.Position(left + gap),
			width:  chart.Position(right - left - 2*gap),
			middle: chart.Position((left + right) / 2), name: barName(b.Start.In(zone), p.Step), unknown: b.Start.Before(p.Since),
		}
		c.full, c.requests, c.errors = barFull(b.Start.In(zone), p.Step), b.Requests, b.Errors
		c.values = format.Count(b.Requests-b.Errors) + "\n" + format.Count(b.Errors)
		c.from, c.to = b.Start.UTC().Format(momentFormZ), b.Start.Add(p.Step).UTC().Format(momentFormZ)
		c.hint = c.full + ": " + format.CountOf(b.Requests, "request", "requests")
		if b.Errors > 0 {
			c.hint += ", " + format.CountOf(b.Errors, "error", "errors")
		}
		bad := chart.HeightOf(b.Errors, scale)
		if b.Errors > 0 {
			bad = max(bad, 3*chart.MinHeight)
		}
		good := 0
		if b.Requests > b.Errors {
			good = min(max(chart.HeightOf(b.Requests-b.Errors, scale), 3*chart.MinHeight), chart.FullScale-bad)
		}
		c.badY, c.badHeight = chart.Position(chart.FullScale-bad), chart.Position(bad)
		c.y, c.height = chart.Position(chart.FullScale-bad-good), chart.Position(good)
		columns[i] = c
	}
	ticks(columns)
	return columns, format.ShortCount(scale)
}

func ticks(columns []callColumn) {
	n := len(columns)
	step := max((n+chart.LabelsMax-1)/chart.LabelsMax, 1)
	for i, k := step/2, 0; i < n; i, k = i+step, k+1 {
		columns[i].tick = "many"
		if k%(chart.LabelsMax/chart.NarrowLabelsMax) == 0 {
			columns[i].tick = "few"
		}
	}
}

func barName(t time.Time, step time.Duration) string {
	if step >= hoursOfDay*time.Hour || step > time.Hour && t.Hour() == 0 {
		return t.Format("2 Jan")
	}
	return t.Format("15:04")
}

func barFull(t time.Time, step time.Duration) string {
	if step >= hoursOfDay*time.Hour {
		return t.Format("Mon 2 Jan 2006")
	}
	return t.Format("Mon 2 Jan, 15:04") + "–" + t.Add(step).Format("15:04")
}

// sums are all calls and errors of the picture.
func (p CallPicture) sums() (requests, errors int64) {
	for _, b := range p.Bars {
		requests += b.Requests
		errors += b.Errors
	}
	return requests, errors
}

// said describes the picture in a sentence, for screen readers.
func (p CallPicture) said(q Query) string {
	requests, errors := p.sums()
	const form = "2 Jan, 15:04"
	zone := location(q.Zone)
	from := p.From
	if p.Since.After(from) {
		from = p.Since
	}
	text := format.CountOf(requests, "request", "requests") + ", " + format.CountOf(errors, "error", "errors") +
		" from " + from.In(zone).Format(form) + " to " +
		p.To.In(zone).Format(form) + " " + zoneValue(q.Zone)
	if p.Since.After(p.From) {
		text += ". There are more before that than are counted here; choose a shorter range to see them"
	}
	return text + "."
}
