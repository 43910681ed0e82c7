package pulse

import (
	"math/bits"
	"time"
)

// Times are counted in classes: eight to each doubling, from 32 µs to four and a half minutes. The middle of a class is at most
// six hundredths from whatever fell into it.
const (
	stepBits     = 3
	octaveFirst  = 5  // 2^5 µs
	octaveLast   = 28 // 2^28 µs
	bucketCount      = (octaveLast - octaveFirst) << stepBits
	percentWhole = 100
)

type histogram [bucketCount]uint32

func (h *histogram) add(d time.Duration) {
	if d > 0 {
		h[bucketOf(d)]++
	}
}

// bucketOf is the class a time falls into: its power of two, and its next bits.
func bucketOf(d time.Duration) int {
	us := uint64(max(1<<octaveFirst, d.Microseconds()))
	octave := bits.Len64(us) - 1
	if octave >= octaveLast {
		return bucketCount - 1
	}
	return (octave-octaveFirst)<<stepBits + int(us>>(octave-stepBits)&(1<<stepBits-1))
}

// bucketMiddle is the time that stands for a class.
func bucketMiddle(class int) time.Duration {
	octave, part := class>>stepBits+octaveFirst, class&(1<<stepBits-1)
	begin := time.Duration(1<<octave+part<<(octave-stepBits)) * time.Microsecond
	return begin + time.Duration(1<<(octave-stepBits))*time.Microsecond/2
}

// pairs are the classes that are not empty, each followed by its count.
func (h *histogram) pairs() []int64 {
	list := []int64{}
	for class, n := range h {
		if n > 0 {
			list = append(list, int64(class), int64(n))
		}
	}
	return list
}

// Durations are how long many calls took. They can be added up, unlike percentiles.
type Durations struct {
	counts [bucketCount]int64
	all    int64
}

func (t *Durations) addPairs(pairs []int64) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if class, n := pairs[i], pairs[i+1]; class >= 0 && class < bucketCount && n > 0 {
			t.counts[class] += n
			t.all += n
		}
	}
}

// Add adds the times of other calls.
func (t *Durations) Add(other *Durations) {
	for class, n := range other.counts {
		t.counts[class] += n
	}
	t.all += other.all
}

// Count is how many calls there are.
func (t *Durations) Count() int64 { return t.all }

// Percentile is the time in which so many of a hundred were done, within six hundredths of it; false when there are none.
func (t *Durations) Percentile(percent int64) (time.Duration, bool) {
	if t.all == 0 {
		return 0, false
	}
	left := (t.all*percent + percentWhole - 1) / percentWhole
	for class, n := range t.counts {
		if left -= n; n > 0 && left <= 0 {
			return bucketMiddle(class), true
		}
	}
	return bucketMiddle(bucketCount - 1), true
}
