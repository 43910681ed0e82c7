package requests

import (
	"time"

	"umg/views/format"
)

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

// Location is the time zone of the report's days.
func (q UsageQuery) Location() *time.Location { return location(q.Zone) }

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
	case rangeToday:
		return midnight(y, m, d), midnight(y, m, d+1)
	case rangeYesterday:
		return midnight(y, m, d-1), midnight(y, m, d)
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
