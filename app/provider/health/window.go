package health

import "time"

// The time spans in which calls are counted.
const (
	slotSpan     = 5 * time.Second
	slotsCount   = 12 // Reports use one minute.
	breakerSlots = 6  // The breaker uses half a minute.
)

// window counts the outcomes of the last minute.
type window struct{ slots [slotsCount]slot }

type slot struct {
	number                        int64 // Number counts slots since the start.
	calls, failures               int64
	breakerCalls, breakerFailures int64 // These are the calls that count for the breaker.
}

// count counts an outcome. Ignored outcomes count as calls only.
func (w *window) count(now time.Duration, v outcome) {
	number := int64(now / slotSpan)
	s := &w.slots[number%slotsCount]
	if s.number != number {
		*s = slot{number: number}
	}
	s.calls++
	switch v {
	case outcomeSuccess:
		s.breakerCalls++
	case outcomeFailure, outcomeTimeout:
		s.failures++
		s.breakerCalls++
		s.breakerFailures++
	case outcomeIgnored, outcomeOutpaced:
	}
}

// breakerCounts returns the calls and failures that count for the breaker.
func (w *window) breakerCounts(now time.Duration) (calls, failures int64) {
	oldest := int64(now/slotSpan) - breakerSlots
	for i := range w.slots {
		if s := &w.slots[i]; s.number > oldest {
			calls, failures = calls+s.breakerCalls, failures+s.breakerFailures
		}
	}
	return calls, failures
}

// minute returns the calls and failures of the last minute.
func (w *window) minute(now time.Duration) (calls, failures int64) {
	oldest := int64(now/slotSpan) - slotsCount
	for i := range w.slots {
		if s := &w.slots[i]; s.number > oldest {
			calls, failures = calls+s.calls, failures+s.failures
		}
	}
	return calls, failures
}

// resetBreakerCounts resets the counts of the breaker.
func (w *window) resetBreakerCounts() {
	for i := range w.slots {
		w.slots[i].breakerCalls, w.slots[i].breakerFailures = 0, 0
	}
}
