package format

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app"
)

func TestDollarsAreExactAndNeverHideACharge(t *testing.T) {
	t.Parallel()
	for in, want := range map[app.Amount]string{
		0: "$0.00", 1: "$0.000000001", 43: "$0.000000043", 43_000: "$0.000043", 7_500: "$0.0000075", 10 * app.Cent: "$0.10",
		app.Cent: "$0.01", app.Cent + 1: "$0.010000001", 5 * app.Dollar: "$5.00", 4_998_731_450: "$4.99873145",
		-3*app.Dollar - app.Dollar/2: "\u2212$3.50", -1: "\u2212$0.000000001", 1_234_567*app.Dollar + 890*app.Cent/1000: "$1,234,567.0089",
		math.MaxInt64: "$9,223,372,036.854775807", math.MinInt64: "\u2212$9,223,372,036.854775808",
	} {
		if got := Plain(Dollars(in)); got != want {
			t.Errorf("Dollars(%d) = %s, want %s", int64(in), got, want)
		}
	}
}

func TestDollarsCanBeReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := app.Amount(rapid.Int64Min(0).Draw(t, "nanos"))
		digits := ""
		for _, r := range Plain(Dollars(a)) {
			if r != '$' && r != ',' {
				digits += string(r)
			}
		}
		if got, err := app.ParseAmount(digits); err != nil || got != a {
			t.Fatalf("%s reads as %d, %v; it was %d", Dollars(a), got, err, a)
		}
	})
}

func TestPercentNeverLies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		part, whole int64
		want        string
	}{
		{0, 0, "–"}, {3, 0, "–"}, {0, 9, "0%"}, {9, 9, "100%"}, {1, 128_412, "<0.1%"}, {563, 128_412, "0.4%"}, {101_945, 128_412, "79%"},
		{999_999, 1_000_000, "99%"}, {1, 3, "33%"}, {1, 40, "2.5%"}, {1, 50, "2%"}, {12, 9, "100%"}, {-1, 5, "0%"},
	} {
		if got := Plain(Percent(c.part, c.whole)); got != c.want {
			t.Errorf("Percent(%d, %d) = %s, want %s", c.part, c.whole, got, c.want)
		}
	}
}

func TestTookKeepsThreeDigits(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]string{
		0: "–", -time.Second: "–", 300 * time.Microsecond: "<1 ms", 812 * time.Millisecond: "812 ms", 999 * time.Millisecond: "999 ms",
		time.Second: "1.00 s", 4_120 * time.Millisecond: "4.12 s", 9_999 * time.Millisecond: "9.99 s", 12_380 * time.Millisecond: "12.3 s",
		59_999 * time.Millisecond: "59.9 s", time.Minute: "1 min 0 s", 154 * time.Second: "2 min 34 s", time.Hour - time.Millisecond: "59 min 59 s",
		time.Hour: "1 h 0 min", 26*time.Hour + 90*time.Second: "26 h 1 min",
	} {
		if got := Plain(Duration(in)); got != want {
			t.Errorf("Took(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestWaitIsNeverTooShort(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]string{
		0: "a moment", time.Millisecond: "1 second", time.Second: "1 second", 1_001 * time.Millisecond: "2 seconds",
		90 * time.Second: "90 seconds",
		91 * time.Second: "2 minutes", 10 * time.Minute: "10 minutes", 10*time.Minute + time.Second: "11 minutes",
	} {
		if got := Wait(in); got != want {
			t.Errorf("Wait(%s) = %s, want %s", in, got, want)
		}
	}
}

func TestTimesAreUTCAndRelativeOnesRoundDown(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 0, 30, 0, 0, time.FixedZone("", 2*3600)) // In UTC this is 22:30 of the day before.
	if got := MachineTime(now); got != "2026-11-20T22:30:00Z" {
		t.Errorf("the machine reads %s", got)
	}
	for in, want := range map[time.Duration]string{
		-time.Hour: "just now", 0: "just now", 9 * time.Second: "just now", 59 * time.Second: "59 s ago", 119 * time.Second: "1 min ago",
		119 * time.Minute: "1 h ago", 47 * time.Hour: "1 d ago", 31 * 24 * time.Hour: "20 Oct 2026",
	} {
		if got := Plain(Ago(now.Add(-in), now)); got != want {
			t.Errorf("%s ago is shown as %s, want %s", in, got, want)
		}
	}
}

func TestShortIDKeepsWhatPeopleCompare(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"req_01kb4a7m9x3v5d2c8n6q1w0zpr": "req_…1w0zpr", "req_abc": "req_abc", "noprefix": "noprefix", "": "",
	} {
		if got := ShortID(in); got != want {
			t.Errorf("shortID(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestCountGroupsThousands(t *testing.T) {
	t.Parallel()
	for in, want := range map[int64]string{
		0: "0", 999: "999", 1000: "1,000", 128_412: "128,412", 1_000_000: "1,000,000", -1204: "\u22121,204",
		math.MinInt64: "\u22129,223,372,036,854,775,808",
	} {
		if got := Plain(Count(in)); got != want {
			t.Errorf("Count(%d) = %s, want %s", in, got, want)
		}
	}
}

func TestShortCountsAreTheUsualOnes(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		0: "0", 999: "999", 4096: "4.1K", 16_384: "16.4K", 128_000: "128K", 65_536: "65.5K", 131_072: "131K", 1_000_000: "1M", 1_048_576: "1M",
		2_000_000: "2M", 1_500_000: "1.5M", 20_000_000_000: "20B",
	} {
		if got := Plain(ShortCount(n)); got != want {
			t.Errorf("Short(%d) = %s, want %s", n, got, want)
		}
	}
}
