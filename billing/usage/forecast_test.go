package usage_test

import (
	"testing"
	"time"

	"umg/app"
	"umg/billing/usage"
)

// daysOf returns days up to 20 November 2026, a Friday, with the given costs in dollars.
func daysOf(dollars ...int) []usage.DaySpend {
	last := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	days := make([]usage.DaySpend, len(dollars))
	for i, d := range dollars {
		days[i] = usage.DaySpend{Day: last.AddDate(0, 0, i+1-len(dollars)), Cost: app.Amount(d) * app.Dollar}
	}
	return days
}

func TestAMonthIsForecastOnlyFromEnough(t *testing.T) {
	t.Parallel()
	// The input is ten whole days that alternate between 2 and 4, and 1 so far today: 31 spent, 2 left of today, and 10 days
	// of 3.
	f, ok := usage.ForecastMonth(daysOf(2, 4, 2, 4, 2, 4, 2, 4, 2, 4, 1))
	if !ok || f.Mean != 3*app.Dollar || f.Days != 10 || f.Left != 10 || f.Spent != 31*app.Dollar || f.Expected != 63*app.Dollar {
		t.Errorf("%+v, %v", f, ok)
	}
	if f, ok = usage.ForecastMonth(daysOf(0, 0, 2, 2, 2, 2, 2, 2, 2, 50)); !ok || f.Days != 7 || f.Expected != 84*app.Dollar {
		t.Errorf("a day above the mean: %+v, %v", f, ok)
	}
	for name, days := range map[string][]usage.DaySpend{
		"nothing": nil, "a week": daysOf(1, 1, 1, 1, 1, 1, 1), "new": daysOf(0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1), "rarely": daysOf(1, 0, 0, 1, 0, 0, 1, 0, 0, 1),
	} {
		if f, ok := usage.ForecastMonth(days); ok {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func TestADayIsUnusualOnlyAgainstItsWeekday(t *testing.T) {
	t.Parallel()
	weeks := func(friday, others, yesterday, today int) []usage.DaySpend {
		var d []int
		for range 4 {
			d = append(d, friday, others, others, others, others, others, others)
		}
		d = append(d[:len(d)-1], yesterday, today)
		return daysOf(d...)
	}
	if u, ok := usage.FindUnusual(weeks(2, 50, 50, 8)); !ok || u.Times != 4 || u.Mean != 2*app.Dollar || u.Day.Weekday() != time.Friday {
		t.Errorf("four times its Fridays: %+v, %v", u, ok)
	}
	for name, days := range map[string][]usage.DaySpend{
		"less than three times": weeks(3, 1, 1, 8), "nothing before": weeks(0, 0, 0, 90), "too young": daysOf(1, 1, 1, 1, 1, 1, 1, 90), "none": nil,
	} {
		if u, ok := usage.FindUnusual(days); ok {
			t.Errorf("%s: %+v", name, u)
		}
	}
	small := weeks(0, 0, 0, 0)
	for i := range small {
		small[i].Cost = app.Cent
	}
	small[len(small)-1].Cost = 50 * app.Cent
	if u, ok := usage.FindUnusual(small); ok {
		t.Errorf("of cents: %+v", u)
	}
}
