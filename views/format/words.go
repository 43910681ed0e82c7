package format

import (
	"strconv"
	"strings"
	"time"
)

// DayLayout is the layout of days in addresses and forms.
const DayLayout = "2006-01-02"

// Bytes is a size as people say it.
func Bytes(n int64) string {
	if n < 1000 {
		return CountOf(n, "byte", "bytes")
	}
	return FileSize(n)
}

// Int prints a number without separators.
func Int(n int) string { return strconv.Itoa(n) }

// ValidDay is the text if it is a day in DayLayout, and empty otherwise.
func ValidDay(text string) string {
	if _, err := time.Parse(DayLayout, text); err != nil {
		return ""
	}
	return text
}

// DaySpan is the time from the beginning of one day to the end of another, in UTC. The zero time is no bound.
func DaySpan(first, last string) (from, to time.Time) {
	if t, err := time.Parse(DayLayout, first); err == nil {
		from = t
	}
	if t, err := time.Parse(DayLayout, last); err == nil {
		to = t.AddDate(0, 0, 1)
	}
	return from, to
}

// Int64 prints a number without separators.
func Int64(n int64) string { return strconv.FormatInt(n, 10) }

// Capitalize begins a word with a capital letter.
func Capitalize(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// ShortCount prints a count of tokens the way people say it: 128K, 1M, 65.5K.
func ShortCount(n int64) string {
	const kilo, mega, giga = 1_000, 1_000_000, 1_000_000_000
	switch {
	case n >= giga:
		return shortened(n, giga) + "B"
	case n >= mega:
		return shortened(n, mega) + "M"
	case n >= kilo:
		return shortened(n, kilo) + "K"
	default:
		return strconv.FormatInt(n, 10)
	}
}

func shortened(n, unit int64) string {
	tenths := (n*10 + unit/2) / unit
	if tenths%10 == 0 || tenths >= 1000 {
		return strconv.FormatInt(tenths/10, 10)
	}
	return Decimal(tenths, 1)
}

// FineDuration prints a time that may be less than a thousandth of a second.
func FineDuration(d time.Duration) string {
	if d > 0 && d < time.Millisecond {
		return strconv.FormatInt(max(d.Microseconds(), 1), 10) + " µs"
	}
	return Duration(d)
}

// FileSize prints a number of bytes in kB or MB, rounded down.
func FileSize(bytes int64) string {
	const kilo, mega = 1_000, 1_000_000
	if bytes >= mega {
		return Count(bytes/mega) + " MB"
	}
	return Count(bytes/kilo) + " kB"
}

// Seconds prints a whole number of seconds.
func Seconds(n int) string { return strconv.Itoa(n) + " s" }

// Truncate bounds a text at a number of characters.
func Truncate(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return strings.TrimRight(string(runes[:most]), " ") + "…"
}
