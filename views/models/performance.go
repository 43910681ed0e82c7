package models

import (
	"strconv"
	"strings"
	"time"

	"umg/views"
	"umg/views/chart"
	"umg/views/format"
)

// SpanWeek is the name of the week in an address. The usual span is a day.
const SpanWeek = "7d"

// The two spans, with the steps that charts are drawn in.
const (
	daySpan  = 24 * time.Hour
	dayStep  = time.Hour
	weekSpan = 7 * 24 * time.Hour
	weekStep = 6 * time.Hour
)

// uptimeCallsMin is how many attempts it takes to state a provider's uptime.
const uptimeCallsMin = 20

// Performance is how a model does at each of its providers, over all accounts.
type Performance struct {
	// Week means that the span is seven days in steps of six hours. Otherwise it is a day in hours.
	Week bool
	// Start is the beginning of the first step.
	Start time.Time
	// Totals are the whole span, one for each provider.
	Totals []ProviderStep
	// Steps are in order of time and then of provider.
	Steps []ProviderStep
}

// ProviderStep is how a model does at one provider for a time. What is not known is zero.
type ProviderStep struct {
	Start            time.Time
	Provider         string
	Answered, Failed int64
	// Attempts counts failed attempts of calls that another provider went on with.
	Attempts                   int64
	FirstByteP50, FirstByteP95 time.Duration
	DurationP50, DurationP95   time.Duration
	// Speed is in thousandths of tokens per second.
	Speed int64
}

// PerformanceSpan is how far back a span reaches, and its step.
func PerformanceSpan(week bool) (span, step time.Duration) {
	if week {
		return weekSpan, weekStep
	}
	return daySpan, dayStep
}

// span is the span in words.
func (p Performance) span() string {
	if p.Week {
		return "the last 7 days"
	}
	return "the last 24 hours"
}

// attempts is how many attempts count for or against the provider.
func (s ProviderStep) attempts() int64 { return s.Answered + s.Failed + s.Attempts }

// uptime is the share of attempts that succeeded.
func (s ProviderStep) uptime() string {
	if s.attempts() < uptimeCallsMin {
		return "Too few calls"
	}
	return views.SuccessShare(s.Answered, s.attempts())
}

// stepCount is how many steps the span has, with the one that is not over.
func (p Performance) stepCount() int {
	span, step := PerformanceSpan(p.Week)
	return int(span/step) + 1
}

// index is the number of the step that begins at a time.
func (p Performance) index(start time.Time) int {
	_, step := PerformanceSpan(p.Week)
	return int(start.Sub(p.Start) / step)
}

// stripBox is the box of an uptime strip, which has four units for each step.
func (p Performance) stripBox() string {
	return "0 0 " + strconv.Itoa(p.stepCount()*stripStep-1) + " 16"
}

// uptimes are the steps of a provider as parts of a strip, also where nothing is known.
func (p Performance) uptimes(provider string) []stripDay {
	_, step := PerformanceSpan(p.Week)
	parts := make([]stripDay, p.stepCount())
	for i := range parts {
		parts[i] = stripDay{state: "none", title: stepTime(p.Start.Add(time.Duration(i)*step)) + ": no calls", x: strconv.Itoa(i * stripStep)}
	}
	for _, s := range p.Steps {
		i := p.index(s.Start)
		if s.Provider != provider || i < 0 || i >= len(parts) {
			continue
		}
		parts[i].title = stepTime(s.Start) + ": " + s.uptime()
		if s.attempts() >= uptimeCallsMin {
			parts[i].state = stripState(s.Answered, s.Failed+s.Attempts)
			parts[i].title += " of " + format.CountOf(s.attempts(), "attempt", "attempts")
		}
	}
	return parts
}

// uptimeSummary is the strip in words.
func (p Performance) uptimeSummary(provider string) string {
	var bad, some int
	for _, part := range p.uptimes(provider) {
		switch part.state {
		case "bad":
			bad++
		case "some":
			some++
		}
	}
	if bad+some == 0 {
		return "No failures of note at " + provider + " in " + p.span() + "."
	}
	return provider + " in " + p.span() + ": " + format.CountOf(int64(some), "step", "steps") + " from 1 % failed, " +
		format.CountOf(int64(bad), "step", "steps") + " from 10 % failed."
}

// stepTime is the beginning of a step in UTC.
func stepTime(t time.Time) string { return t.UTC().Format("2 Jan, 15:04") }

// pairOf prints two durations, or a dash when neither is known.
func pairOf(a, b time.Duration) string {
	if a == 0 && b == 0 {
		return "–"
	}
	return format.Duration(a) + " / " + format.Duration(b)
}

// speedText prints thousandths of tokens a second.
func speedText(n int64) string { return views.ModelNow{Speed: n}.SpeedText() }

// seriesOf is the number of the color of a provider.
func seriesOf(i int) int { return min(i, chart.SeriesMax) + 1 }

// lineFigure is one chart.
type lineFigure struct {
	title, top, from, summary string
	lines                     []figureLine
	dashes                    bool
}

type figureLine struct {
	label, path string
	series      int
	dashed      bool
}

// figureValue is what a chart draws, from each step.
type figureValue struct {
	label  string
	of     func(ProviderStep) int64
	dashed bool
}

// charts are the charts that have something to draw.
func (p Performance) charts(video bool) []lineFigure {
	duration := func(n int64) string { return format.Duration(time.Duration(n)) }
	whole := p.figure("Time to the whole answer", duration, []figureValue{
		{"p50", func(s ProviderStep) int64 { return int64(s.DurationP50) }, false},
		{"p95", func(s ProviderStep) int64 { return int64(s.DurationP95) }, true},
	})
	all := []lineFigure{whole}
	if !video {
		all = []lineFigure{
			p.figure("Time to the first token", duration, []figureValue{
				{"p50", func(s ProviderStep) int64 { return int64(s.FirstByteP50) }, false},
				{"p95", func(s ProviderStep) int64 { return int64(s.FirstByteP95) }, true},
			}), whole,
			p.figure("Throughput, tokens a second", speedText, []figureValue{{"p50", func(s ProviderStep) int64 { return s.Speed }, false}}),
		}
	}
	var drawn []lineFigure
	for _, f := range all {
		if len(f.lines) > 0 {
			drawn = append(drawn, f)
		}
	}
	return drawn
}

// figure draws values of all providers. Steps without calls interrupt a line.
func (p Performance) figure(title string, text func(int64) string, values []figureValue) lineFigure {
	var most int64
	for _, s := range p.Steps {
		for _, v := range values {
			most = max(most, v.of(s))
		}
	}
	f := lineFigure{title: title, from: stepTime(p.Start), dashes: len(values) > 1}
	if most == 0 {
		return f
	}
	top := chart.ScaleTop(most)
	f.top = text(top)
	words := make([]string, 0, len(p.Totals))
	for i, total := range p.Totals {
		for _, v := range values {
			if path := p.path(total.Provider, v.of, top); path != "" {
				f.lines = append(f.lines, figureLine{label: total.Provider + ", " + v.label, path: path, series: seriesOf(i), dashed: v.dashed})
			}
		}
		if n := values[0].of(total); n > 0 {
			words = append(words, total.Provider+" "+text(n))
		}
	}
	f.summary = title + ", p50 over " + p.span() + ": " + strings.Join(words, "; ") + "."
	return f
}

// path draws the values of a provider as a line. A step without a neighbor is a dot.
func (p Performance) path(provider string, of func(ProviderStep) int64, top int64) string {
	n := p.stepCount()
	heights := make([]int64, n)
	for _, s := range p.Steps {
		if i := p.index(s.Start); s.Provider == provider && i >= 0 && i < n {
			heights[i] = of(s)
		}
	}
	var path strings.Builder
	for i, value := range heights {
		if value <= 0 {
			continue
		}
		x := strconv.Itoa(i * chartWide / max(n-1, 1))
		y := strconv.Itoa(chartHigh - chartLine - chart.HeightOf(value, top)*(chartHigh-2*chartLine)/chart.FullScale)
		if i == 0 || heights[i-1] <= 0 {
			path.WriteString("M" + x + " " + y + "h.1")
			continue
		}
		path.WriteString("L" + x + " " + y)
	}
	return path.String()
}
