package requests

import (
	"net/url"
	"slices"
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

var usageRanges = []ui.Option{
	{Value: rangeToday, Label: "Today"}, {Value: rangeYesterday, Label: "Yesterday"},
	{Value: RangeDay, Label: "24 hours"},
	{Value: RangeWeek, Label: "7 days"}, {Value: RangeDays, Label: "30 days"},
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
	if !slices.ContainsFunc(usageRanges, func(o ui.Option) bool { return o.Value == q.Range }) {
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

// location is the time zone of that name, which was checked.
func location(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
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
