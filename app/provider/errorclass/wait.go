package errorclass

import (
	"net/http"
	"strconv"
	"time"
)

// Source is a place where a provider says how long to wait.
type Source string

// These are the sources of waits.
const (
	RetryAfter     Source = "retry-after"    // The header has seconds or a date.
	RetryAfterMs   Source = "retry-after-ms" // The header has milliseconds.
	RateLimitReset Source = "x-ratelimit-reset"
	RetryInfo      Source = "RetryInfo" // A member of error.details has a duration such as 34.4s.
)

var sources = []Source{RetryAfter, RetryAfterMs, RateLimitReset, RetryInfo}

// Wait returns the first wait above zero in the places of the verdict, up to a maximum. It returns zero when the provider names none.
func (v *Verdict) Wait(h http.Header, r *Report, now time.Time, longest time.Duration) time.Duration {
	for _, s := range v.After {
		var wait time.Duration
		switch s {
		case RetryAfterMs:
			wait = times(h.Get("Retry-After-Ms"), time.Millisecond, longest)
		case RateLimitReset:
			wait = times(h.Get("X-Ratelimit-Reset"), time.Second, longest)
		case RetryInfo:
			wait = duration(r.retryDelay)
		case RetryAfter:
			if wait = times(h.Get("Retry-After"), time.Second, longest); wait == 0 {
				wait = untilDate(h, now)
			}
		}
		if wait > 0 {
			return min(wait, longest)
		}
	}
	return 0
}

// times returns a number of units up to the longest wait, or a duration with its unit. It returns zero for other texts.
func times(text string, unit, longest time.Duration) time.Duration {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 {
		return time.Duration(min(n, float64(longest/unit)) * float64(unit))
	}
	return duration(text)
}

func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return d
}

// untilDate returns the time until the date of Retry-After by the provider's own clock.
func untilDate(h http.Header, now time.Time) time.Duration {
	at, err := http.ParseTime(h.Get("Retry-After"))
	if err != nil {
		return 0
	}
	if from, err := http.ParseTime(h.Get("Date")); err == nil {
		now = from
	}
	return at.Sub(now)
}
