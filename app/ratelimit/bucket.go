package ratelimit

import (
	"math"
	"time"
)

// Window is the state of one limit, as headers tell it. A Limit of zero means that there is none.
type Window struct {
	Limit, Remaining int64
	Reset            time.Duration // Reset is the time until nothing of the limit is in use.
}

// tighter is the window of which less is left.
func tighter(one, other Window) Window {
	if one.Limit == 0 || other.Limit > 0 && other.Remaining < one.Remaining {
		return other
	}
	return one
}

// bucket holds at most a period's worth and fills evenly. It can be overdrawn by one period, when a call used more
// than it was counted with.
type bucket struct {
	limit  int64 // Limit is per period; zero means no limit.
	period time.Duration
	level  float64
	at     time.Time
}

// fill brings the bucket up to now. A changed limit starts with its share of what was left.
func (b *bucket) fill(limit int64, period time.Duration, now time.Time) {
	switch {
	case limit <= 0:
		*b = bucket{at: now}
		return
	case b.limit == 0:
		*b = bucket{limit: limit, period: period, level: float64(limit), at: now}
		return
	case b.limit != limit:
		b.level *= float64(limit) / float64(b.limit)
		b.limit = limit
	}
	if gone := now.Sub(b.at); gone > 0 {
		b.level = min(float64(limit), b.level+float64(gone)/float64(b.period)*float64(limit))
		b.at = now
	}
}

// need is what a call must find in the bucket. A call larger than a whole period needs a full one, or it could never
// be made.
func (b *bucket) need(n int64) float64 { return float64(min(n, b.limit)) }

// dust forgives what fractions lose to rounding.
const dust = 1e-6

func (b *bucket) allows(n int64) bool { return b.limit == 0 || b.level+dust >= b.need(n) }

func (b *bucket) take(n int64) {
	if b.limit > 0 {
		b.level = min(float64(b.limit), max(-float64(b.limit), b.level-float64(n)))
	}
}

// wait is how long until the bucket allows n.
func (b *bucket) wait(n int64) time.Duration {
	missing := b.need(n) - b.level
	return time.Duration(missing / float64(b.limit) * float64(b.period))
}

// untilFull is how long until nothing is missing.
func (b *bucket) untilFull() time.Duration {
	if b.limit == 0 {
		return 0
	}
	return time.Duration((float64(b.limit) - b.level) / float64(b.limit) * float64(b.period))
}

func (b *bucket) window() Window {
	if b.limit == 0 {
		return Window{}
	}
	return Window{
		Limit: b.limit, Remaining: int64(math.Max(0, math.Floor(b.level+dust))), Reset: b.untilFull().Round(time.Millisecond),
	}
}
