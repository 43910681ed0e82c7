package health

import (
	"math/bits"
	"time"
)

// The histogram has eight buckets for each doubling, from a quarter of a millisecond to two minutes. A percentile is at most an eighth
// too long.
const (
	bucketBits    = 3
	octaveFirst   = 8  // The first bucket begins at 2^8 µs.
	octaveLast    = 27 // The last bucket ends at 2^27 µs.
	bucketsCount  = (octaveLast - octaveFirst) << bucketBits
	answerWeight  = 16 // One answer weighs so much that its weight can be halved several times.
	weightMax     = 2048 * answerWeight
	weightMin     = 20 * answerWeight // Percentiles need so many answers.
	weightFew     = 5 * answerWeight  // The longest time needs so many answers.
	halvedEvery   = time.Minute
	halvingsMax   = 20
	percentsWhole = 100
)

// histogram counts the times of answers. The weight of old answers is halved every minute, and when there are many answers.
type histogram struct {
	buckets  [bucketsCount]uint32
	weight   uint32
	halvedAt time.Duration
}

func (h *histogram) add(firstByte, now time.Duration) {
	h.age(now)
	if h.weight >= weightMax {
		h.halve(1)
	}
	h.buckets[bucketOf(firstByte)] += answerWeight
	h.weight += answerWeight
}

// percentile returns a percentile of the times. It reports false when there are too few answers.
func (h *histogram) percentile(percent uint32, now time.Duration) (time.Duration, bool) {
	h.age(now)
	if h.weight < weightMin {
		return 0, false
	}
	left := int64(h.weight) * int64(percent) / percentsWhole
	for i, n := range h.buckets {
		if left -= int64(n); left <= 0 {
			return bucketEnd(i), true
		}
	}
	return bucketEnd(bucketsCount - 1), true
}

// longest returns the longest recent time, or zero.
func (h *histogram) longest() time.Duration {
	for i := bucketsCount - 1; i >= 0; i-- {
		if h.buckets[i] > 0 {
			return bucketEnd(i)
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
	for i := range h.buckets {
		h.buckets[i] >>= times
		h.weight += h.buckets[i]
	}
}

// bucketOf returns the bucket of a time: its power of two, and its next bits.
func bucketOf(d time.Duration) int {
	us := uint64(max(1<<octaveFirst, d.Microseconds()))
	octave := bits.Len64(us) - 1
	if octave >= octaveLast {
		return bucketsCount - 1
	}
	return (octave-octaveFirst)<<bucketBits + int(us>>(octave-bucketBits)&(1<<bucketBits-1))
}

// bucketEnd returns the longest time of a bucket.
func bucketEnd(step int) time.Duration {
	octave, part := step>>bucketBits+octaveFirst, step&(1<<bucketBits-1)
	return time.Duration(1<<octave+(part+1)<<(octave-bucketBits)) * time.Microsecond
}
