package format_test

import (
	"testing"
	"time"

	"umg/app"
	"umg/views/format"
)

func TestTimesAreShownInTheReadersZoneAndClock(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC)
	at := now.Add(-time.Hour - 24*time.Minute)
	for name, c := range map[string]struct {
		clock             format.Clock
		moment, day, full string
	}{
		"nothing chosen": {format.Clock{}, "22:06:00", "20 Nov 2026", "20 Nov 2026, 22:06:00 UTC"},
		"Berlin": {
			format.Clock{Zone: berlin}, "20 Nov, 23:06", "20 Nov 2026", "20 Nov 2026, 23:06:00 Europe/Berlin\n20 Nov 2026, 22:06:00 UTC",
		},
		"twelve hours": {format.Clock{Zone: time.UTC, TwelveHour: true}, "10:06:00 PM", "20 Nov 2026", "20 Nov 2026, 22:06:00 UTC"},
	} {
		if moment, day, full := c.clock.Moment(at, now), c.clock.Day(at), c.clock.Full(at); moment != c.moment || day != c.day || full != c.full {
			t.Errorf("%s: %q, %q, %q", name, moment, day, full)
		}
	}
}

func TestAColumnOfAmountsHasOneNumberOfDecimals(t *testing.T) {
	t.Parallel()
	for amount, want := range map[int64]string{
		21_480_251: "$0.021480", 43: "<$0.000001", 0: "$0.000000", 1_234_567_890_123: "$1,234.567890", 999_999_999: "$1.000000",
		-21_480_751: "\u2212$0.021481", 960_000_000: "$0.960000",
	} {
		if got := format.ColumnDollars(app.Amount(amount), format.ColumnDecimals); got != want {
			t.Errorf("%d nano-dollars: %s instead of %s", amount, got, want)
		}
	}
}

func TestSignedColumnAmountsHaveTheirSigns(t *testing.T) {
	t.Parallel()
	for amount, want := range map[app.Amount]string{
		25 * app.Dollar: "+$25.000000", -21_480_251: "\u2212$0.021480", 0: "$0.000000", 43: "+<$0.000001",
	} {
		if got := format.SignedColumnDollars(amount, format.ColumnDecimals); got != want {
			t.Errorf("%d is %s, want %s", amount, got, want)
		}
	}
}
