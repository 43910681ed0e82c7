package format

import (
	"context"
	"time"
)

// Clock is how times are shown to a reader. The zero value shows UTC and 24 hours.
type Clock struct {
	Zone       *time.Location
	TwelveHour bool
}

type clockKey struct{}

// WithClock returns a context whose pages show times by the clock.
func WithClock(ctx context.Context, c Clock) context.Context {
	return context.WithValue(ctx, clockKey{}, c)
}

// ClockOf is the clock of a context.
func ClockOf(ctx context.Context) Clock {
	c, _ := ctx.Value(clockKey{}).(Clock)
	return c
}

func (c Clock) in(t time.Time) time.Time {
	if c.Zone == nil {
		return t.UTC()
	}
	return t.In(c.Zone)
}

// form is a layout of package time with the hours of the clock.
func (c Clock) form(twentyFour, twelve string) string {
	if c.TwelveHour {
		return twelve
	}
	return twentyFour
}

// Moment is the time for today, and the day with the time for other days, with the year where it is another.
func (c Clock) Moment(t, now time.Time) string {
	t, now = c.in(t), c.in(now)
	switch {
	case t.Year() == now.Year() && t.YearDay() == now.YearDay():
		return t.Format(c.form("15:04:05", "3:04:05 PM"))
	case t.Year() != now.Year():
		return t.Format(c.form("2 Jan 2006, 15:04", "2 Jan 2006, 3:04 PM"))
	}
	return t.Format(c.form("2 Jan, 15:04", "2 Jan, 3:04 PM"))
}

// Day is the day alone.
func (c Clock) Day(t time.Time) string { return c.in(t).Format("2 Jan 2006") }

// Full is a moment with nothing left out, for tooltips: in the zone of the clock, and in UTC where that is another.
func (c Clock) Full(t time.Time) string {
	utc := FullTime(t)
	if c.Zone == nil || c.Zone.String() == "UTC" {
		return utc
	}
	return c.in(t).Format(c.form("2 Jan 2006, 15:04:05", "2 Jan 2006, 3:04:05 PM")) + " " + c.Zone.String() + "\n" + utc
}
