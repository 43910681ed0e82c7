package console

import (
	"testing"
	"time"

	"umg/app"
	"umg/billing/usage"
)

// TestFiguresFallIntoTheirDays makes one call in every hour of three months, and counts what each figure has of them.
func TestFiguresFallIntoTheirDays(t *testing.T) {
	t.Parallel()
	for _, now := range []time.Time{
		time.Date(2026, 11, 21, 9, 41, 0, 0, time.UTC), time.Date(2026, 3, 31, 23, 59, 59, 0, time.UTC), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
	} {
		var hours []usage.Hour
		for at := now.Truncate(time.Hour).AddDate(0, -3, 0); !at.After(now.Add(3 * time.Hour)); at = at.Add(time.Hour) {
			hours = append(hours, usage.Hour{At: at, Spend: 1, Requests: 1, Failed: 1})
		}
		s := spendingOf(hours, now)
		today := int64(now.Hour()) + 1
		month := int64(now.Day()-1)*24 + today
		before := min(month, int64(time.Date(now.Year(), now.Month(), 0, 0, 0, 0, 0, time.UTC).Day())*24)
		if int64(s.Today) != today || s.Yesterday != s.Today || int64(s.Month) != month || int64(s.LastMonth) != before {
			t.Errorf("%s: today %d, yesterday %d, month %d, last month %d", now, s.Today, s.Yesterday, s.Month, s.LastMonth)
		}
		if s.Requests != 29*24+today || s.RequestsBefore != 30*24 || s.Failed != s.Requests || s.FailedBefore != s.RequestsBefore {
			t.Errorf("%s: %d requests after %d", now, s.Requests, s.RequestsBefore)
		}
		var sum app.Amount
		for _, spend := range s.ByDay {
			sum += spend
		}
		if sum != s.Month || len(s.ByDay) != now.Day() || len(s.ByHour) != int(today) || s.RequestsByDay[29] != today {
			t.Errorf("%s: %v, %v", now, s.ByDay, s.ByHour)
		}
		if figuresSince(now).After(now.AddDate(0, 0, -59)) {
			t.Errorf("%s: too little is read", now)
		}
	}
}

func TestQuantilesAreTimesThatWereMeasured(t *testing.T) {
	t.Parallel()
	var list []usage.Timing
	for i := range 20 {
		list = append(list, usage.Timing{Duration: time.Duration(20-i) * time.Second, FirstByte: time.Second, Streamed: i < 2})
	}
	whole, first := quantiles(list)
	if whole.P50 != 10*time.Second || whole.P95 != 19*time.Second || first.P50 != time.Second {
		t.Errorf("%+v, %+v", whole, first)
	}
	if whole, first := quantiles(nil); whole.P95 != 0 || first.P50 != 0 {
		t.Errorf("of nothing: %+v, %+v", whole, first)
	}
}
