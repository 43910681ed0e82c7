package requests

import (
	"time"

	"umg/views"
	"umg/views/format"
)

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

// brushPath is the address of a part of the report, without its bounds: a shorter report, or the requests of some minutes.
func (q UsageQuery) brushPath() string {
	if q.Minutely() {
		return q.requests(time.Time{}, time.Time{}).Path()
	}
	q.Range, q.From, q.To = RangeCustom, "", ""
	return q.Path()
}

// stepBounds are the bounds of a step in the address of a part of the report.
func (q UsageQuery) stepBounds(start time.Time, hourly bool) (from, to string) {
	switch {
	case !hourly:
		return start.Format(format.DayLayout), start.Format(format.DayLayout)
	case q.Minutely():
		return start.UTC().Format(momentFormZ), start.Add(time.Minute).UTC().Format(momentFormZ)
	}
	return start.Format(momentForm), start.Add(time.Hour).Format(momentForm)
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
		r.Error, r.Outcome = codeLimited, "failed"
	}
	if q.OfRefusals() {
		r.Outcome = OutcomeRefused
	}
	if q.Modality == "video" {
		r.Style = string(views.VideosStyle)
	}
	return r
}

// all is the same report of all calls.
func (q UsageQuery) all() UsageQuery {
	q.Model, q.KeyID, q.Style, q.Reason, q.EndUser, q.Modality, q.Tag = "", "", "", "", "", "", ""
	return q
}

// narrowed reports whether calls are left out.
func (q UsageQuery) narrowed() bool {
	return q.Model+q.KeyID+q.Style+q.Reason+q.EndUser+q.Modality+q.Tag != ""
}

// filtersSet is how many filters are set, other than the range.
func (q UsageQuery) filtersSet() (n int) {
	for _, value := range []string{q.Model, q.KeyID, q.Style, q.Reason, q.EndUser, q.Modality, q.Tag} {
		if value != "" {
			n++
		}
	}
	return n
}

// step is the length of a step that is no day.
func (q UsageQuery) step() time.Duration {
	if q.Minutely() {
		return time.Minute
	}
	return time.Hour
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

func (q UsageQuery) stepName(now time.Time) string {
	switch {
	case q.Minutely():
		return "minute"
	case q.Hourly(now):
		return "hour"
	}
	return "day"
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

func zoneValue(name string) string {
	if name == "" {
		return "UTC"
	}
	return name
}

// refused is the list of the requests that were refused in the range.
func (q UsageQuery) refused(now time.Time) Query {
	q.Metric = MetricRefused
	return q.requests(q.Span(now))
}
