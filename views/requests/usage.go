package requests

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/views"
	"umg/views/chart"
	"umg/views/format"
	"umg/views/ui"
)

const (
	usageIntro = "Usage and cost, by start time of each request."
)

// Usage is what an account used in a range of time, divided by time and by group.
type Usage struct {
	views.Shell
	Query   UsageQuery
	Choices UsageChoices
	Lines   []UsageLine
	Total   UsageLine
	Before  *UsagePeriod // Before is nil when the previous period was not read.
	Books   *views.Proof // Books is nil when the sums could not be compared.
	Problem string       // Problem says why there is no report.
	Failure *views.LoadFailure
	Took    *UsageTook   // Took is set for reports of latencies.
	Budget  *UsageBudget // Budget is that of the key in the filter.
	Limit   *UsageBudget // Limit is the spend limit of the account; nil without one.
	Views   SavedViews
	Notes   []string // Notes are the results of rules about the last days.
}

// UsageTook is how long calls took: of each step, of each group and of all.
type UsageTook struct {
	Steps  map[int64]UsageTimes // Steps are keyed by the Unix second at which a step begins.
	Groups map[string]UsageTimes
	All    UsageTimes
	Sample string // Sample describes the sample.
}

// UsageTimes are percentiles of a duration and of the time to the first byte.
type UsageTimes struct {
	Calls                        int64
	P50, P95, FirstP50, FirstP95 time.Duration
}

// UsageBudget is the budget of a key.
type UsageBudget struct {
	Limit, Spent app.Amount
	Period       string // Period is day, week, month or total.
}

func (b UsageBudget) words() string {
	period := " a " + b.Period
	if b.Period == "total" {
		period = " in total"
	}
	return "The budget of this key is " + format.Dollars(b.Limit) + period + ", of which " + format.Dollars(b.Spent) + " is spent."
}

// UsagePeriod is the period before: its steps without groups, and their sum.
type UsagePeriod struct {
	From, To time.Time
	Lines    []UsageLine
	Total    UsageLine
}

// UsageChoices are what the reports may be filtered by.
type UsageChoices struct {
	Models, Keys, Reasons []ui.Option
	Tags                  []ui.Option // Tags are those of keys.
}

// UsageLine is what one group used in one step of time.
type UsageLine struct {
	Start            time.Time
	ID, Name         string // Name is that of the group, and ID its value in filters.
	Requests, Errors int64
	// Limited counts answers of providers with status 429.
	Limited int64
	// Refused counts requests that were refused before any provider was called, and Own429 those of them with status 429. Requests has
	// neither.
	Refused, Own429 int64
	Input, Cached   int64 // Input includes cached tokens.
	Output, Images  int64
	Milliseconds    int64        // Milliseconds is the length of videos.
	Counts          meter.Counts // Counts has the counts of all meters, for files.
	Cost, Overrun   app.Amount
}

// Plus is the sum of two lines, by the name of the first.
func (u UsageLine) Plus(l UsageLine) UsageLine {
	u.Requests += l.Requests
	u.Errors += l.Errors
	u.Limited += l.Limited
	u.Refused += l.Refused
	u.Own429 += l.Own429
	u.Input += l.Input
	u.Cached += l.Cached
	u.Output += l.Output
	u.Images += l.Images
	u.Milliseconds += l.Milliseconds
	for m := range u.Counts {
		u.Counts[m] += l.Counts[m]
	}
	u.Cost += l.Cost
	u.Overrun += l.Overrun
	return u
}

// usageMetric is a figure that a report can be drawn of.
type usageMetric struct {
	name, label string
	of          func(UsageLine) int64
	words       func(int64) string
	short       func(int64) string
	took        func(UsageTimes) time.Duration // Took is the value of a latency, which cannot be added up.
}

// chartWords are the words of the metric for a chart.
func (m usageMetric) chartWords() chart.Words { return chart.Words{Short: m.short, Full: m.words} }

// isMoney reports whether the values are amounts.
func (m usageMetric) isMoney() bool { return m.name == MetricSpend }

func amountWords(n int64) string { return format.Dollars(app.Amount(n)) }

func secondWords(ms int64) string {
	text := format.Count(ms / 1000)
	if rest := ms % 1000; rest > 0 {
		text = format.Number(strings.TrimRight(fmt.Sprintf("%d.%03d", ms/1000, rest), "0"))
	}
	return text + " s"
}

// These are the metrics of reports.
const (
	MetricSpend    = "spend"
	MetricRequests = "requests"
	MetricErrors   = "errors"
	MetricLimited  = "limited"
	MetricRefused  = "refused"
	MetricOwn429   = "rate_limited"
)

const codeLimited = "rate_limit_exceeded"

var usageMetrics = []usageMetric{
	{name: MetricSpend, label: "Spend", of: func(l UsageLine) int64 { return int64(l.Cost) }, words: amountWords, short: amountWords},
	{name: MetricRequests, label: "Requests", of: func(l UsageLine) int64 { return l.Requests }, words: format.Count,
		short: format.ShortCount},
	{name: "input", label: "Tokens in", of: func(l UsageLine) int64 { return l.Input }, words: format.Count, short: format.ShortCount},
	{name: "output", label: "Tokens out", of: func(l UsageLine) int64 { return l.Output }, words: format.Count, short: format.ShortCount},
	{name: "cached", label: "Cached tokens", of: func(l UsageLine) int64 { return l.Cached }, words: format.Count, short: format.ShortCount},
	{name: "images", label: "Images", of: func(l UsageLine) int64 { return l.Images }, words: format.Count, short: format.ShortCount},
	{name: "seconds", label: "Seconds of video", of: func(l UsageLine) int64 { return l.Milliseconds },
		words: secondWords, short: secondWords},
	{name: MetricErrors, label: "Errors", of: func(l UsageLine) int64 { return l.Errors }, words: format.Count, short: format.ShortCount},
	{name: MetricLimited, label: "Provider rate limits (429)", of: func(l UsageLine) int64 { return l.Limited }, words: format.Count,
		short: format.ShortCount},
	{name: MetricRefused, label: "Refused requests", of: ofRefused, words: format.Count, short: format.ShortCount},
	{name: MetricOwn429, label: "Your rate limits (429)", of: func(l UsageLine) int64 { return l.Own429 }, words: format.Count,
		short: format.ShortCount},
	latency("p50", "Latency, median", func(t UsageTimes) time.Duration { return t.P50 }),
	latency("p95", "Latency, p95", func(t UsageTimes) time.Duration { return t.P95 }),
	latency("ttft", "First byte, median", func(t UsageTimes) time.Duration { return t.FirstP50 }),
	latency("ttft95", "First byte, p95", func(t UsageTimes) time.Duration { return t.FirstP95 }),
}

func latency(name, label string, took func(UsageTimes) time.Duration) usageMetric {
	words := func(n int64) string { return format.Duration(time.Duration(n)) }
	return usageMetric{name: name, label: label, of: func(l UsageLine) int64 { return l.Requests }, words: words, short: words, took: took}
}

func metricOptions() []ui.Option {
	options := make([]ui.Option, len(usageMetrics))
	for i, m := range usageMetrics {
		options[i] = ui.Option{Value: m.name, Label: m.label}
	}
	return options
}

// Usage is divided in one of these ways.
const (
	UsageByModel    = "model"
	UsageByKey      = "key"
	UsageByStyle    = "style"
	UsageByReason   = "reason"
	UsageByEndUser  = "end_user"
	UsageByModality = "modality"
	UsageByTag      = "tag"
)

var usageGroups = []ui.Option{
	{Value: UsageByModel, Label: "Model"}, {Value: UsageByKey, Label: "Key"}, {Value: UsageByStyle, Label: "Style"},
	{Value: UsageByReason, Label: "Reason"}, {Value: UsageByEndUser, Label: "End user"}, {Value: UsageByModality, Label: "Modality"},
	{Value: UsageByTag, Label: "Tag of the key"},
}

func labelOf(options []ui.Option, value string) string {
	for _, o := range options {
		if o.Value == value {
			return o.Label
		}
	}
	return value
}

var styleOptions = []ui.Option{
	{Value: "chat", Label: views.StyleLabels["chat"]}, {Value: "messages", Label: views.StyleLabels["messages"]},
	{Value: "responses", Label: views.StyleLabels["responses"]}, {Value: "native", Label: views.StyleLabels["native"]},
	{Value: string(views.VideosStyle), Label: views.StyleLabels[views.VideosStyle]},
}

var modalityOptions = []ui.Option{{Value: "text", Label: "Text"}, {Value: "video", Label: "Video"}}

// usageGroup is one group of the whole range: its colour, and its sum.
type usageGroup struct {
	UsageLine
	series int // Series is the color of the group; the last series is all others.
}

const (
	usageGroupsMax = 50 // A report has at most this many rows; further groups share one row.
)

// groups are the groups in the order of the metric, the largest first.
func (u Usage) groups() []usageGroup {
	sums := map[string]*UsageLine{}
	var order []string
	for _, l := range u.Lines {
		if sums[l.ID] == nil {
			sums[l.ID] = &UsageLine{ID: l.ID, Name: l.Name}
			order = append(order, l.ID)
		}
		*sums[l.ID] = sums[l.ID].Plus(l)
	}
	of := u.Query.metric().of
	slices.SortFunc(order, func(a, b string) int {
		return cmp.Or(cmp.Compare(of(*sums[b]), of(*sums[a])), cmp.Compare(sums[b].Requests, sums[a].Requests), strings.Compare(a, b))
	})
	groups := make([]usageGroup, len(order))
	for i, id := range order {
		groups[i] = usageGroup{UsageLine: *sums[id], series: min(i, chart.SeriesMax)}
	}
	return groups
}

// rows are the groups of the table: the first of them, and one for all the others.
func (u Usage) rows() []usageGroup {
	groups := u.groups()
	if len(groups) <= usageGroupsMax+1 {
		return groups
	}
	rest := usageGroup{UsageLine: UsageLine{Name: format.CountOf(int64(len(groups)-usageGroupsMax), "other", "others")},
		series: chart.SeriesMax}
	for _, g := range groups[usageGroupsMax:] {
		rest.UsageLine = rest.Plus(g.UsageLine)
	}
	return append(groups[:usageGroupsMax:usageGroupsMax], rest)
}

// groupNames are the colours' names, for the legend and the table by time.
func groupNames(groups []usageGroup) []string {
	var names []string
	for _, g := range groups {
		if g.series < chart.SeriesMax {
			names = append(names, g.Name)
		}
	}
	switch n := len(groups) - len(names); {
	case n == 1:
		names = append(names, groups[len(groups)-1].Name)
	case n > 1:
		names = append(names, format.CountOf(int64(n), "other", "others"))
	}
	return names
}

// has reports whether any line has something of it, so that a column is worth its room.
func (u Usage) has(of func(UsageLine) int64) bool { return of(u.Total) != 0 }

// usageColumn is one column of numbers in the table of groups.
type usageColumn struct {
	title string
	text  func(UsageLine, UsageTimes) string
}

// columns are those of the metric, and of what any line has, without the amounts behind them.
func (u Usage) columns() []usageColumn {
	var list []usageColumn
	counts := func(show bool, title string, of func(UsageLine) int64) {
		if show {
			list = append(list, usageColumn{title, func(l UsageLine, _ UsageTimes) string { return format.Count(of(l)) }})
		}
	}
	times := func(title string, of func(UsageTimes) time.Duration) {
		if u.Took != nil {
			list = append(list, usageColumn{title, func(_ UsageLine, t UsageTimes) string { return format.Duration(of(t)) }})
		}
	}
	counts(true, "Requests", func(l UsageLine) int64 { return l.Requests })
	counts(true, "Errors", func(l UsageLine) int64 { return l.Errors })
	counts(u.Query.Metric == MetricLimited, "429s", func(l UsageLine) int64 { return l.Limited })
	counts(u.Query.OfRefusals(), "Refused", ofRefused)
	counts(u.Query.OfRefusals(), "Your 429s", func(l UsageLine) int64 { return l.Own429 })
	times("Median", func(t UsageTimes) time.Duration { return t.P50 })
	times("p95", func(t UsageTimes) time.Duration { return t.P95 })
	times("First byte", func(t UsageTimes) time.Duration { return t.FirstP50 })
	times("First byte, p95", func(t UsageTimes) time.Duration { return t.FirstP95 })
	counts(u.has(ofTokens), "Tokens in", func(l UsageLine) int64 { return l.Input })
	counts(u.has(ofTokens), "Cached", func(l UsageLine) int64 { return l.Cached })
	counts(u.has(ofTokens), "Tokens out", func(l UsageLine) int64 { return l.Output })
	counts(u.has(ofImages), "Images", ofImages)
	if u.has(ofSeconds) {
		list = append(list, usageColumn{"Video", func(l UsageLine, _ UsageTimes) string { return secondWords(l.Milliseconds) }})
	}
	return list
}

func ofImages(l UsageLine) int64  { return l.Images }
func ofSeconds(l UsageLine) int64 { return l.Milliseconds }
func ofTokens(l UsageLine) int64  { return l.Input + l.Output }
func ofRefused(l UsageLine) int64 { return l.Refused }
func ofOverrun(l UsageLine) int64 { return int64(l.Overrun) }

// exact reports whether the rows add up to the total.
func (u Usage) exact() bool {
	var sum app.Amount
	for _, l := range u.Lines {
		sum += l.Cost
	}
	return sum == u.Total.Cost
}

// said is what the total is worth: the charges of exactly these calls.
func (u Usage) said() (tone ui.Tone, text string) {
	switch {
	case !u.exact():
		return ui.Danger, "The rows do not add up to the total."
	case u.Books == nil:
		return ui.Plain, "The rows add up to the total exactly. The ledger could not be compared right now."
	case u.Books.Usage != u.Books.Charges:
		return ui.Danger, "The usage of this account and its ledger do not agree. Billing says by how much."
	default:
		return ui.Success, "Sums exactly to the charges of these hours: usage and ledger agree to the nano-dollar."
	}
}

// change says how the metric compares with the period before.
func (u Usage) change() string {
	m := u.Query.metric()
	if u.Before == nil || m.took != nil {
		return ""
	}
	now, before := m.of(u.Total), m.of(u.Before.Total)
	text := "Previous period (" + u.Query.spanWords(u.Before.From, u.Before.To) + "): " + m.words(before)
	switch {
	case before == 0 || now == before:
		return text + "."
	case now > before:
		return text + ", now " + ratio(now-before, before) + " more."
	default:
		return text + ", now " + ratio(before-now, before) + " less."
	}
}

// ratio is Percent where the part may be more than the whole. Both are made smaller first, as they are multiplied.
func ratio(part, whole int64) string {
	scale := max(max(part, whole)/(1<<40), 1)
	part, whole = part/scale, max(whole/scale, 1)
	if part < whole {
		return format.Percent(max(part, 1), whole)
	}
	if part/whole >= 100 {
		return format.Count(part/whole) + " times"
	}
	return format.Count(part*100/whole) + "%"
}

// timesOf are those of a group, none where the report has none.
func (u Usage) timesOf(id string) UsageTimes {
	if u.Took == nil {
		return UsageTimes{}
	}
	return u.Took.Groups[id]
}

func (u Usage) timesOfAll() UsageTimes {
	if u.Took == nil {
		return UsageTimes{}
	}
	return u.Took.All
}

// OfRefusals reports whether the report is one of refused requests.
func (q UsageQuery) OfRefusals() bool { return q.Metric == MetricRefused || q.Metric == MetricOwn429 }

// NeedsTimes reports whether the report is one of latencies.
func (q UsageQuery) NeedsTimes() bool { return q.metric().took != nil }

// totalWords is the metric of the whole range.
func (u Usage) totalWords() string {
	m := u.Query.metric()
	if m.took == nil {
		return m.words(m.of(u.Total))
	}
	if u.Took == nil {
		return "–"
	}
	return m.words(int64(m.took(u.Took.All)))
}

// metric is the figure that is drawn.
func (q UsageQuery) metric() usageMetric {
	for _, m := range usageMetrics {
		if m.name == q.Metric {
			return m
		}
	}
	return usageMetrics[0]
}
