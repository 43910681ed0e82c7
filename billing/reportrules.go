package billing

import (
	"time"

	"umg/app"
)

// DaySpend is what one whole day cost, or a day so far.
type DaySpend struct {
	Day  time.Time // its beginning in the zone of the report
	Cost app.Amount
}

// Limits of the rules about days. They are meant to be quiet: a note that is often wrong is not read.
const (
	meanDaysMax      = 14 // whole days that a forecast's mean is of
	meanDaysLeast    = 7
	spentDaysLeast   = 5 // of them with any spend
	sameWeekdays     = 4 // that a day is compared with
	sameSpentLeast   = 3 // of them with any spend
	unusualTimes     = 3
	unusualLeastMore = app.Dollar
)

// MonthEnd is what a month will come to when its days go on as the last ones did.
type MonthEnd struct {
	Spent    app.Amount // in this month so far
	Mean     app.Amount // of a whole day
	Days     int        // that the mean is of
	Left     int        // days after today
	Expected app.Amount
}

// ForecastMonth adds to what was spent what is left of today at the mean of the last whole days, and each day after it at
// that mean. Days are in order, without gaps, and end with today. It says nothing where there is too little to go by.
func ForecastMonth(days []DaySpend) (MonthEnd, bool) {
	if len(days) < meanDaysLeast+1 {
		return MonthEnd{}, false
	}
	today := days[len(days)-1]
	whole := days[:len(days)-1]
	for len(whole) > 0 && whole[0].Cost == 0 { // before the account was used
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

// Unusual is a day that cost far more than the same weekday did in the weeks before.
type Unusual struct {
	DaySpend

	Mean  app.Amount // of the same weekday
	Weeks int        // that the mean is of
	Times int64      // how many times the mean the day cost, rounded down
}

// FindUnusual looks at the last day and the one before it. A day is unusual when it cost at least three times the mean of
// the same weekday in the last four weeks, more than each of them, and at least a dollar more than the mean, and when at
// least three of these weeks had any spend. A day that is not over counts with what it cost so far.
func FindUnusual(days []DaySpend) (Unusual, bool) {
	for back := 1; back <= 2; back++ {
		i := len(days) - back
		var sum, largest app.Amount
		spent := 0
		for week := 1; week <= sameWeekdays; week++ {
			j := i - week*daysOfWeek
			if j < 0 {
				break
			}
			sum, largest = sum+days[j].Cost, max(largest, days[j].Cost)
			if days[j].Cost > 0 {
				spent++
			}
		}
		if i < sameWeekdays*daysOfWeek || spent < sameSpentLeast {
			continue
		}
		mean := sum / sameWeekdays
		if cost := days[i].Cost; mean > 0 && cost/unusualTimes >= mean && cost > largest && cost-mean >= unusualLeastMore {
			return Unusual{DaySpend: days[i], Mean: mean, Weeks: sameWeekdays, Times: int64(cost / mean)}, true
		}
	}
	return Unusual{}, false
}
