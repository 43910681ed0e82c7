package format

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"umg/app"
)

// Dollars prints an amount exactly: at least the cents, and every digit beyond them that is not zero. A real charge is
// never shown as $0.00.
func Dollars(a app.Amount) string {
	main, fine := DollarParts(a)
	return main + fine
}

// DollarParts is Dollars in two parts: what people read first, and the digits beyond a cent. Less than a cent is one part.
func DollarParts(a app.Amount) (main, fine string) {
	digits, negative := strings.CutPrefix(a.String(), "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	for len(fraction) < 2 {
		fraction += "0"
	}
	main = "$" + number(whole, "")
	if negative {
		main = "\u2212" + main
	}
	if whole == "0" && fraction[:2] == "00" {
		return main + pointMark + fraction, ""
	}
	return main + pointMark + fraction[:2], fraction[2:]
}

// ColumnDecimals is how many decimals every amount of a column has, so that the points are aligned. Amounts of whole cents, such as
// top-ups, have two. Pages of one call, and exports, have all nine.
const ColumnDecimals = 6

// ColumnDollars prints an amount with a fixed number of decimals, rounded to the nearest. An amount above zero that would be printed as
// zero is printed as less than the smallest one.
func ColumnDollars(a app.Amount, decimals int) string {
	unit := app.Dollar
	for range decimals {
		unit /= 10
	}
	sign := ""
	if a < 0 {
		sign, a = "\u2212", -a
	}
	if a > 0 && a < unit {
		return sign + "<" + ColumnDollars(unit, decimals)
	}
	rounded := int64((a + unit/2) / unit)
	scale := int64(app.Dollar / unit)
	text := sign + "$" + Count(rounded/scale)
	if decimals == 0 {
		return text
	}
	fraction := strconv.FormatInt(scale+rounded%scale, 10)[1:]
	return text + pointMark + fraction
}

// SignedColumnDollars is ColumnDollars with a plus before an amount above zero.
func SignedColumnDollars(a app.Amount, decimals int) string {
	if a > 0 {
		return "+" + ColumnDollars(a, decimals)
	}
	return ColumnDollars(a, decimals)
}

// Count prints a count with its thousands apart.
func Count(n int64) string {
	if n < 0 {
		return "\u2212" + number(strconv.FormatInt(n, 10)[1:], "")
	}
	return number(strconv.FormatInt(n, 10), "")
}

// CountOf is a count with its noun.
func CountOf(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Percent is part of whole. Something is never shown as nothing, and not quite everything never as everything.
func Percent(part, whole int64) string {
	switch {
	case whole <= 0:
		return "–"
	case part <= 0:
		return "0%"
	case part >= whole:
		return "100%"
	}
	tenths := part * 1000 / whole
	switch {
	case tenths == 0:
		return "<0" + pointMark + "1%"
	case tenths%10 == 0 || tenths >= 100:
		return strconv.FormatInt(tenths/10, 10) + "%"
	default:
		return strconv.FormatInt(tenths/10, 10) + pointMark + strconv.FormatInt(tenths%10, 10) + "%"
	}
}

// Duration prints how long something took, in three digits or so.
func Duration(d time.Duration) string {
	ms := d.Milliseconds()
	switch {
	case d <= 0:
		return "–"
	case ms == 0:
		return "<1 ms"
	case ms < 1000:
		return strconv.FormatInt(ms, 10) + " ms"
	case ms < 10_000:
		return Decimal(ms/10, 2) + " s"
	case ms < 60_000:
		return Decimal(ms/100, 1) + " s"
	case ms < 3_600_000:
		s := ms / 1000
		return strconv.FormatInt(s/60, 10) + " min " + strconv.FormatInt(s%60, 10) + " s"
	default:
		m := ms / 60_000
		return Count(m/60) + " h " + strconv.FormatInt(m%60, 10) + " min"
	}
}

// Decimal prints n with its last places behind the point. N is not negative.
func Decimal(n int64, places int) string {
	s := fmt.Sprintf("%0*d", places+1, n)
	return s[:len(s)-places] + pointMark + s[len(s)-places:]
}

// Wait prints a time to wait in words, rounded up, so that no user comes back too early.
func Wait(d time.Duration) string {
	seconds := int64((d + time.Second - 1) / time.Second)
	switch {
	case seconds <= 0:
		return "a moment"
	case seconds <= 90:
		return CountOf(seconds, "second", "seconds")
	default:
		return CountOf((seconds+59)/60, "minute", "minutes")
	}
}

// MachineTime is a moment as the time element wants it.
func MachineTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// FullTime is a moment with nothing left out, for tooltips.
func FullTime(t time.Time) string { return t.UTC().Format(DayForm+", 15:04:05") + " UTC" }

// Day is the day alone, in UTC.
func Day(t time.Time) string { return t.UTC().Format(DayForm) }

// Ago says how long ago something was, and the day for what is long ago. The console's script says it in the same
// words.
func Ago(t, now time.Time) string {
	const day = 24 * time.Hour
	ago := now.Sub(t)
	switch {
	case ago < 10*time.Second:
		return "just now"
	case ago < time.Minute:
		return strconv.Itoa(int(ago/time.Second)) + " s ago"
	case ago < time.Hour:
		return strconv.Itoa(int(ago/time.Minute)) + " min ago"
	case ago < day:
		return strconv.Itoa(int(ago/time.Hour)) + " h ago"
	case ago < 30*day:
		return strconv.Itoa(int(ago/day)) + " d ago"
	default:
		return Day(t)
	}
}

// ShortID keeps an id's kind and its end, which are what people compare.
func ShortID(id string) string {
	const tail = 6
	prefix, rest, found := strings.Cut(id, "_")
	if !found || len(rest) <= tail {
		return id
	}
	return prefix + "_…" + rest[len(rest)-tail:]
}
