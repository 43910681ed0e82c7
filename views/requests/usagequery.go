package requests

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// The ranges of a report.
const (
	RangeDay    = "24h"
	RangeWeek   = "7d"
	RangeDays   = "30d"
	RangeMonth  = "month"
	RangeCustom = "custom"
)

var usageRanges = []ui.ChipOption{
	{Value: RangeDay, Label: "24 hours"}, {Value: RangeWeek, Label: "7 days"}, {Value: RangeDays, Label: "30 days"},
	{Value: RangeMonth, Label: "This month"}, {Value: RangeCustom, Label: "Custom"},
}

const (
	usageDaysMax    = 366
	hourlyDaysMax   = 3 // ranges up to this many days have steps of an hour
	daysOfWeek      = 7
	daysOfMonth     = 30
	hoursOfDay      = 24
	zoneBytesMax    = 64
	quarterOfAnHour = 15 * time.Minute
	minutelyMax     = 2 * time.Hour // ranges up to this long have steps of a minute
)

// UsageQuery says which report is shown. It is the address of the page.
type UsageQuery struct {
	Range    string
	From, To string // days of a custom range, both included
	Zone     string // time zone of days; empty is UTC
	By       string
	Metric   string
	Compare  bool
	Model, KeyID, Style, Reason,
	EndUser, Modality string
	Tag string // tag of keys
}

// ParseUsageQuery reads an address; what cannot be meant is left out.
func ParseUsageQuery(values url.Values) UsageQuery {
	q := UsageQuery{
		Range: values.Get("range"), By: values.Get("by"), Metric: values.Get("metric"), Zone: zoneName(values.Get("tz")),
		Compare: values.Get("compare") == "on", Model: views.FilterText(values.Get("model")), KeyID: views.FilterText(values.Get("key")),
		Style: views.FilterText(values.Get("style")), Reason: views.FilterText(values.Get("reason")),
		EndUser: views.FilterText(values.Get("end_user")),
		Tag:     views.FilterText(values.Get("tag")),
	}
	if !slices.ContainsFunc(usageRanges, func(o ui.ChipOption) bool { return o.Value == q.Range }) {
		q.Range = RangeWeek
	}
	if !slices.ContainsFunc(usageGroups, func(o ui.Option) bool { return o.Value == q.By }) {
		q.By = UsageByModel
	}
	if !slices.ContainsFunc(usageMetrics, func(m usageMetric) bool { return m.name == q.Metric }) {
		q.Metric = MetricSpend
	}
	if m := values.Get("modality"); slices.ContainsFunc(modalityOptions, func(o ui.Option) bool { return o.Value == m }) {
		q.Modality = m
	}
	if q.Range == RangeCustom {
		q.From, q.To = usageBounds(values.Get("from"), values.Get("to"))
	}
	return q
}

// usageBounds are the bounds of a custom range: two days, both included, or two moments on a quarter of an hour.
func usageBounds(from, to string) (string, string) {
	if quarterOnly(from) && quarterOnly(to) {
		return from, to
	}
	return format.ValidDay(from), format.ValidDay(to)
}

func quarterOnly(text string) bool {
	t, err := time.Parse(momentForm, text)
	return err == nil && t.Equal(t.Truncate(quarterOfAnHour))
}

// byMoments reports whether the custom range has moments and not days.
func (q UsageQuery) byMoments() bool { return len(q.From) > len(format.DayLayout) }

func (q UsageQuery) boundType() string {
	if q.byMoments() {
		return "datetime-local"
	}
	return "date"
}

// boundForm is how the bounds of a custom range are written.
func (q UsageQuery) boundForm() string {
	if q.byMoments() {
		return momentForm
	}
	return format.DayLayout
}

// zoneName is the name of a time zone, empty for UTC and for what is none.
func zoneName(name string) string {
	if name == "UTC" || name == "Local" || len(name) > zoneBytesMax {
		return ""
	}
	if _, err := time.LoadLocation(name); err != nil {
		return ""
	}
	return name
}

// location is the time zone of that name, which was checked.
func location(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}

// zoneOptions are UTC and the chosen zone. A script adds the browser's.
func zoneOptions(name string) []ui.Option {
	options := []ui.Option{{Value: "UTC", Label: "UTC"}}
	if name != "" {
		options = append(options, ui.Option{Value: name, Label: strings.ReplaceAll(name, "_", " ")})
	}
	return options
}

func zoneValue(name string) string {
	if name == "" {
		return "UTC"
	}
	return name
}

// Location is the time zone of the report's days.
func (q UsageQuery) Location() *time.Location { return location(q.Zone) }

// Problem is why the query has no span, empty when it has one.
func (q UsageQuery) Problem() string {
	if q.Range != RangeCustom {
		return ""
	}
	from, errFrom := time.Parse(q.boundForm(), q.From)
	to, errTo := time.Parse(q.boundForm(), q.To)
	switch {
	case errFrom != nil || errTo != nil:
		return "Choose the first and the last day."
	case q.byMoments() && !from.Before(to):
		return "The range ends before it begins. Change one of its ends."
	case from.After(to):
		return "The first day is after the last. Change one of them."
	case from.Year() < 2000 || to.Year() > 9998:
		return "Choose days of this century."
	case to.Sub(from) >= usageDaysMax*hoursOfDay*time.Hour:
		return "A report covers at most 366 days. Choose fewer."
	}
	return ""
}

// Span is the moments of the report: from the beginning of its first day or hour to the end of its last.
func (q UsageQuery) Span(now time.Time) (from, to time.Time) {
	zone := q.Location()
	now = now.In(zone)
	midnight := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, zone) }
	y, m, d := now.Date()
	switch q.Range {
	case RangeDay:
		to = now.Truncate(quarterOfAnHour).Add(time.Hour - time.Duration(now.Minute()/15*15)*time.Minute)
		return to.Add(-hoursOfDay * time.Hour), to
	case RangeDays:
		return midnight(y, m, d+1-daysOfMonth), midnight(y, m, d+1)
	case RangeMonth:
		return midnight(y, m, 1), midnight(y, m, d+1)
	case RangeCustom:
		if q.byMoments() {
			from, _ = time.ParseInLocation(momentForm, q.From, zone)
			to, _ = time.ParseInLocation(momentForm, q.To, zone)
			return from, to
		}
		first, _ := time.Parse(format.DayLayout, q.From)
		last, _ := time.Parse(format.DayLayout, q.To)
		fy, fm, fd := first.Date()
		ly, lm, ld := last.Date()
		return midnight(fy, fm, fd), midnight(ly, lm, ld+1)
	default:
		return midnight(y, m, d+1-daysOfWeek), midnight(y, m, d+1)
	}
}

// SpanBefore is the period before, as long as the present one is by now.
func (q UsageQuery) SpanBefore(now time.Time) (from, to time.Time) {
	start, end := q.Span(now)
	elapsed := min(end.Sub(start), now.Sub(start)+quarterOfAnHour).Truncate(quarterOfAnHour)
	switch {
	case q.byMoments():
		from = start.Add(-end.Sub(start))
	case q.Range == RangeDay:
		from = start.Add(-hoursOfDay * time.Hour)
	case q.Range == RangeMonth:
		from = start.AddDate(0, -1, 0)
	default:
		days := 0
		for t := start; t.Before(end) && days <= usageDaysMax; t = t.AddDate(0, 0, 1) {
			days++
		}
		from = start.AddDate(0, 0, -days)
	}
	to = from.Add(max(elapsed, quarterOfAnHour))
	if to.After(start) {
		to = start
	}
	return from, to
}

// Hourly reports whether the report is divided by hours rather than days.
func (q UsageQuery) Hourly(now time.Time) bool {
	from, to := q.Span(now)
	return q.Range == RangeDay || to.Sub(from) <= (hourlyDaysMax*hoursOfDay+1)*time.Hour
}

// Minutely reports whether the report is divided by minutes, which the records know.
func (q UsageQuery) Minutely() bool {
	from, to := q.Span(time.Time{})
	return q.byMoments() && to.Sub(from) <= minutelyMax
}

// step is the length of a step that is no day.
func (q UsageQuery) step() time.Duration {
	if q.Minutely() {
		return time.Minute
	}
	return time.Hour
}

func (q UsageQuery) stepName(now time.Time) string {
	switch {
	case q.Minutely():
		return "minute"
	case q.Hourly(now):
		return "hour"
	}
	return "day"
}

// steps are where the report's hours or days begin.
func (q UsageQuery) steps(now time.Time) []time.Time {
	from, to := q.Span(now)
	hourly := q.Hourly(now)
	var steps []time.Time
	for t := from; t.Before(to) && len(steps) <= usageDaysMax; {
		steps = append(steps, t)
		if hourly {
			t = t.Add(q.step())
		} else {
			t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, t.Location())
		}
	}
	return steps
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

// Path is the address of the report.
func (q UsageQuery) Path() string { return q.at(views.UsagePath) }

func (q UsageQuery) at(path string) string {
	values := url.Values{}
	set := func(name, value, usual string) {
		if value != usual {
			values.Set(name, value)
		}
	}
	set("range", q.Range, RangeWeek)
	set("from", q.From, "")
	set("to", q.To, "")
	set("by", q.By, UsageByModel)
	set("metric", q.Metric, MetricSpend)
	set("tz", q.Zone, "")
	set("model", q.Model, "")
	set("key", q.KeyID, "")
	set("style", q.Style, "")
	set("reason", q.Reason, "")
	set("end_user", q.EndUser, "")
	set("modality", q.Modality, "")
	set("tag", q.Tag, "")
	if q.Compare {
		values.Set("compare", "on")
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

// narrowed reports whether calls are left out.
func (q UsageQuery) narrowed() bool {
	return q.Model+q.KeyID+q.Style+q.Reason+q.EndUser+q.Modality+q.Tag != ""
}

// tucked reports whether a filter is set that is not in the first lines.
func (q UsageQuery) tucked() bool { return q.Reason+q.EndUser+q.Modality+q.Style+q.Tag != "" }

// all is the same report of all calls.
func (q UsageQuery) all() UsageQuery {
	q.Model, q.KeyID, q.Style, q.Reason, q.EndUser, q.Modality, q.Tag = "", "", "", "", "", "", ""
	return q
}

// only is the same report of one group; false where nothing can be filtered by it.
func (q UsageQuery) only(id string) (UsageQuery, bool) {
	if id == "" {
		return q, false
	}
	switch q.By {
	case UsageByModel:
		q.Model, q.By = id, UsageByKey
	case UsageByKey:
		q.KeyID, q.By = id, UsageByModel
	case UsageByStyle:
		q.Style, q.By = id, UsageByModel
	case UsageByReason:
		q.Reason, q.By = id, UsageByModel
	case UsageByEndUser:
		q.EndUser, q.By = id, UsageByModel
	case UsageByModality:
		q.Modality, q.By = id, UsageByModel
	case UsageByTag:
		q.Tag, q.By = id, UsageByKey
	}
	return q, true
}

// into is where a step leads: a day to its hours, an hour to its minutes, a minute to its requests.
func (q UsageQuery) into(start time.Time, hourly bool) string {
	if !hourly {
		q.Range, q.From, q.To = RangeCustom, start.Format(format.DayLayout), start.Format(format.DayLayout)
		return q.Path()
	}
	if !q.Minutely() && start.Equal(start.Truncate(quarterOfAnHour)) {
		q.Range, q.From, q.To = RangeCustom, start.Format(momentForm), start.Add(time.Hour).Format(momentForm)
		return q.Path()
	}
	return q.requests(start, start.Add(q.step())).Path()
}

// requests are the requests behind a part of the report.
func (q UsageQuery) requests(from, to time.Time) Query {
	r := Query{
		From: from, To: to, Zone: q.Zone, Model: q.Model, KeyID: q.KeyID, Style: q.Style, Reason: q.Reason, EndUser: q.EndUser,
		Tag: q.Tag,
	}
	if q.Metric == MetricErrors {
		r.Outcome = OutcomeErrors
	}
	if q.Metric == MetricLimited {
		r.Error = codeLimited
	}
	if q.Modality == "video" {
		r.Style = string(views.VideosStyle)
	}
	return r
}

func (q UsageQuery) stepWords(t time.Time, hourly bool) string {
	if hourly {
		return t.Format("15:04")
	}
	return t.Format("2 Jan")
}

func (q UsageQuery) stepFull(t time.Time, hourly bool) string {
	if hourly {
		return t.Format("Mon 2 Jan, 15:04")
	}
	return t.Format("Mon 2 Jan 2006")
}

// spanWords is a span in words, in the report's zone.
func (q UsageQuery) spanWords(from, to time.Time) string {
	zone := q.Location()
	from, to = from.In(zone), to.In(zone)
	const moment, day = "2 Jan, 15:04", "2 Jan 2006"
	if from.Hour()+from.Minute()+to.Hour()+to.Minute() > 0 {
		return from.Format(moment) + " to " + to.Format(moment)
	}
	last := to.AddDate(0, 0, -1)
	if !from.Before(last) {
		return from.Format(day)
	}
	if from.Year() == last.Year() {
		return from.Format("2 Jan") + " to " + last.Format(day)
	}
	return from.Format(day) + " to " + last.Format(day)
}
