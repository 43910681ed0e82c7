package traffic

import (
	"math/bits"
	"time"
)

// A histogram has eight buckets for each doubling, from 32 µs to four and a half minutes. The middle of a bucket differs by at
// most 6% from every duration in it.
const (
	stepBits     = 3
	octaveFirst  = 5  // The first bucket begins at 2^5 µs.
	octaveLast   = 28 // The last bucket ends at 2^28 µs.
	bucketCount  = (octaveLast - octaveFirst) << stepBits
	percentWhole = 100
)

type histogram [bucketCount]uint32

func (h *histogram) add(d time.Duration) {
	if d > 0 {
		h[bucketOf(d)]++
	}
}

// bucketOf returns the bucket of a duration: its power of two, and the next three bits.
func bucketOf(d time.Duration) int {
	us := uint64(max(1<<octaveFirst, d.Microseconds()))
	octave := bits.Len64(us) - 1
	if octave >= octaveLast {
		return bucketCount - 1
	}
	return (octave-octaveFirst)<<stepBits + int(us>>(octave-stepBits)&(1<<stepBits-1))
}

// bucketMiddle returns the duration that represents a bucket.
func bucketMiddle(bucket int) time.Duration {
	octave, part := bucket>>stepBits+octaveFirst, bucket&(1<<stepBits-1)
	begin := time.Duration(1<<octave+part<<(octave-stepBits)) * time.Microsecond
	return begin + time.Duration(1<<(octave-stepBits))*time.Microsecond/2
}

// pairs returns the buckets that are not empty, each followed by its count, as the database stores them.
func (h *histogram) pairs() []int64 {
	list := []int64{}
	for bucket, n := range h {
		if n > 0 {
			list = append(list, int64(bucket), int64(n))
		}
	}
	return list
}

// Durations is a histogram of how long calls took. Unlike percentiles, the durations of several replicas can be added.
type Durations struct {
	counts [bucketCount]int64
	all    int64
}

func (t *Durations) addPairs(pairs []int64) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if bucket, n := pairs[i], pairs[i+1]; bucket >= 0 && bucket < bucketCount && n > 0 {
			t.counts[bucket] += n
			t.all += n
		}
	}
}

// Add adds the durations of other calls.
func (t *Durations) Add(other *Durations) {
	for bucket, n := range other.counts {
		t.counts[bucket] += n
	}
	t.all += other.all
}

// Count returns the number of calls.
func (t *Durations) Count() int64 { return t.all }

// Percentile returns the duration within which a percentage of the calls ended, to within 6%. It returns false without calls.
func (t *Durations) Percentile(percent int64) (time.Duration, bool) {
	if t.all == 0 {
		return 0, false
	}
	left := (t.all*percent + percentWhole - 1) / percentWhole
	for bucket, n := range t.counts {
		if left -= n; n > 0 && left <= 0 {
			return bucketMiddle(bucket), true
		}
	}
	return bucketMiddle(bucketCount - 1), true
}
