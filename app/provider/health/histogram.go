package health

import (
	"math/bits"
	"time"
)

// The histogram of first bytes has eight steps to each doubling, from a quarter of a millisecond to two minutes, so that a
// percentile is at most an eighth too long.
const (
	stepBits      = 3
	octaveFirst   = 8  // 2^8 µs
	octaveLast    = 27 // 2^27 µs
	stepsCount    = (octaveLast - octaveFirst) << stepBits
	answerWeight  = 16 // leaves something to halve
	weightMax     = 2048 * answerWeight
	weightMin     = 20 * answerWeight // before a percentile means anything
	weightFew     = 5 * answerWeight  // before the longest means anything
	halvedEvery   = time.Minute
	halvingsMax   = 20
	percentsWhole = 100
)

// histogram counts how soon answers began. Old ones weigh half as much every minute, and when there are many.
type histogram struct {
	steps    [stepsCount]uint32
	weight   uint32
	halvedAt time.Duration
}

func (h *histogram) add(firstByte, now time.Duration) {
	h.age(now)
	if h.weight >= weightMax {
		h.halve(1)
	}
	h.steps[stepOf(firstByte)] += answerWeight
	h.weight += answerWeight
}

// percentile is the time in which so many of a hundred answers began.
func (h *histogram) percentile(percent uint32, now time.Duration) (time.Duration, bool) {
	h.age(now)
	if h.weight < weightMin {
		return 0, false
	}
	left := int64(h.weight) * int64(percent) / percentsWhole
	for i, n := range h.steps {
		if left -= int64(n); left <= 0 {
			return endOf(i), true
		}
	}
	return endOf(stepsCount - 1), true
}

// longest is the longest time that is remembered; zero for none.
func (h *histogram) longest() time.Duration {
	for i := stepsCount - 1; i >= 0; i-- {
		if h.steps[i] > 0 {
			return endOf(i)
		}
	}
	return 0
}

func (h *histogram) age(now time.Duration) {
	if passed := now - h.halvedAt; passed >= halvedEvery {
		h.halvedAt = now.Truncate(halvedEvery)
		h.halve(int(min(passed/halvedEvery, halvingsMax)))
	}
}

func (h *histogram) halve(times int) {
	h.weight = 0
	for i := range h.steps {
		h.steps[i] >>= times
		h.weight += h.steps[i]
	}
}

// stepOf is the step a time falls into: its power of two, and its next bits.
func stepOf(d time.Duration) int {
	us := uint64(max(1<<octaveFirst, d.Microseconds()))
	octave := bits.Len64(us) - 1
	if octave >= octaveLast {
		return stepsCount - 1
	}
	return (octave-octaveFirst)<<stepBits + int(us>>(octave-stepBits)&(1<<stepBits-1))
}

// endOf is the longest time of a step.
func endOf(step int) time.Duration {
	octave, part := step>>stepBits+octaveFirst, step&(1<<stepBits-1)
	return time.Duration(1<<octave+(part+1)<<(octave-stepBits)) * time.Microsecond
}
