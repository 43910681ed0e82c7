package usage

import (
	"time"

	"umg/app"
)

// DaySpend is the cost of one whole day, or of today so far.
type DaySpend struct {
	Day  time.Time // Day is the beginning of the day in the report's time zone.
	Cost app.Amount
}

// These limits keep the rules about days quiet, because people stop reading alerts that are often wrong.
const (
	meanDaysMax      = 14 // A forecast's mean covers at most this many whole days.
	meanDaysLeast    = 7
	spentDaysLeast   = 5 // A forecast needs this many days with spend.
	sameWeekdays     = 4 // A day is compared with this many earlier days of the same weekday.
	sameSpentLeast   = 3 // A comparison needs this many of them with spend.
	weekLength       = 7
	unusualTimes     = 3
	unusualLeastMore = app.Dollar
)

// MonthEnd is the forecast total of a month, if its days continue as the last ones did.
type MonthEnd struct {
	Spent    app.Amount // Spent is the spend of this month so far.
	Mean     app.Amount // Mean is the mean spend of a whole day.
	Days     int        // Days is how many days the mean covers.
	Left     int        // Left is the number of days after today.
	Expected app.Amount
}

// ForecastMonth adds to the month's spend the rest of today at the mean of the last whole days, and each later day at that
// mean. Days are in order, without gaps, and end with today. It returns false when there are too few days.
func ForecastMonth(days []DaySpend) (MonthEnd, bool) {
	if len(days) < meanDaysLeast+1 {
		return MonthEnd{}, false
	}
	today := days[len(days)-1]
	whole := days[:len(days)-1]
	for len(whole) > 0 && whole[0].Cost == 0 { // The account was not used on these days yet.
		whole = whole[1:]
	}
	whole = whole[max(0, len(whole)-meanDaysMax):]
	var f MonthEnd
	var sum app.Amount
	spent := 0
	for _, d := range whole {
		sum += d.Cost
		if d.Cost > 0 {
			spent++
		}
	}
	if len(whole) < meanDaysLeast || spent < spentDaysLeast {
		return f, false
	}
	for _, d := range days {
		if d.Day.Year() == today.Day.Year() && d.Day.Month() == today.Day.Month() {
			f.Spent += d.Cost
		}
	}
	f.Days, f.Mean = len(whole), sum/app.Amount(len(whole))
	last := time.Date(today.Day.Year(), today.Day.Month()+1, 0, 0, 0, 0, 0, today.Day.Location())
	f.Left = last.Day() - today.Day.Day()
	f.Expected = f.Spent + max(f.Mean-today.Cost, 0) + f.Mean*app.Amount(f.Left)
	return f, true
}

// Unusual is a day that cost far more than the same weekday in earlier weeks.
type Unusual struct {
	DaySpend

	Mean  app.Amount // Mean is the mean spend of the same weekday.
	Weeks int        // Weeks is how many weeks the mean covers.
	Times int64      // Times is the day's cost divided by the mean, rounded down.
}

// FindUnusual checks the last day and the one before it. A day is unusual when it cost at least three times the mean of the
// same weekday in the last four weeks, more than each of them, and at least a dollar more than the mean. At least three of
// these weeks must have spend. An unfinished day counts with its cost so far.
func FindUnusual(days []DaySpend) (Unusual, bool) {
	for back := 1; back <= 2; back++ {
		i := len(days) - back
		var sum, largest app.Amount
		spent := 0
		for week := 1; week <= sameWeekdays; week++ {
			j := i - week*weekLength
			if j < 0 {
				break
			}
			sum, largest = sum+days[j].Cost, max(largest, days[j].Cost)
			if days[j].Cost > 0 {
				spent++
			}
		}
		if i < sameWeekdays*weekLength || spent < sameSpentLeast {
			continue
		}
		mean := sum / sameWeekdays
		if cost := days[i].Cost; mean > 0 && cost/unusualTimes >= mean && cost > largest && cost-mean >= unusualLeastMore {
			return Unusual{DaySpend: days[i], Mean: mean, Weeks: sameWeekdays, Times: int64(cost / mean)}, true
		}
	}
	return Unusual{}, false
}
