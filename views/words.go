package views

import (
	"strconv"
	"strings"
	"time"
)

const (
	dayForm = "2006-01-02"
)

// byteWords is a size as people say it.
func byteWords(n int64) string {
	if n < 1000 {
		return counted(n, "byte", "bytes")
	}
	return sizeWords(n)
}

func whole(n int) string { return strconv.Itoa(n) }

func dayOnly(text string) string {
	if _, err := time.Parse(dayForm, text); err != nil {
		return ""
	}
	return text
}

// daySpan is the time from the beginning of one day to the end of another, in UTC. The zero time is no bound.
func daySpan(first, last string) (from, to time.Time) {
	if t, err := time.Parse(dayForm, first); err == nil {
		from = t
	}
	if t, err := time.Parse(dayForm, last); err == nil {
		to = t.AddDate(0, 0, 1)
	}
	return from, to
}

func whole64(n int64) string { return strconv.FormatInt(n, 10) }

// titled begins a word with a capital letter.
func titled(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// Short prints a count of tokens the way people say it: 128K, 1M, 65.5K.
func Short(n int64) string {
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
	return decimal(tenths, 1)
}

// fine prints a time that may be less than a thousandth of a second.
func fine(d time.Duration) string {
	if d > 0 && d < time.Millisecond {
		return strconv.FormatInt(max(d.Microseconds(), 1), 10) + " µs"
	}
	return Took(d)
}

func sizeWords(bytes int64) string {
	const kilo, mega = 1_000, 1_000_000
	if bytes >= mega {
		return Count(bytes/mega) + " MB"
	}
	return Count(bytes/kilo) + " kB"
}

func secondsLabel(n int) string { return strconv.Itoa(n) + " s" }

// clipped bounds a text at a number of characters.
func clipped(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return strings.TrimRight(string(runes[:most]), " ") + "…"
}
