// Package reconcile compares what a provider says it charged with the gateway's own records, by day and model. Read a provider's
// export with Parse, and pass it with the sums of billing/usage to Compare.
package reconcile

import (
	"cmp"
	"fmt"
	"time"
)

// Day is a calendar day of UTC, as in 2026-11-27.
type Day string

// DayOf returns the day of UTC in which t lies.
func DayOf(t time.Time) Day { return Day(t.UTC().Format(time.DateOnly)) }

// ParseDay reads a day such as 2026-11-27.
func ParseDay(s string) (Day, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return "", fmt.Errorf("%q is not a day such as 2026-11-27", s)
	}
	return DayOf(t), nil
}

// Time is the beginning of the day.
func (d Day) Time() time.Time {
	t, _ := time.Parse(time.DateOnly, string(d)) // Every Day was made by DayOf.
	return t
}

// Period is from the first to the last day, both included.
type Period struct {
	First Day `json:"first"`
	Last  Day `json:"last"`
}

// contains reports whether a day is in the period.
func (p Period) contains(d Day) bool { return p.First <= d && d <= p.Last }

// extend makes the period long enough to contain the day.
func (p *Period) extend(d Day) {
	p.First, p.Last = min(cmp.Or(p.First, d), d), max(p.Last, d)
}
