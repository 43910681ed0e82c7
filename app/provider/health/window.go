package health

import "time"

// Calls are counted in these time spans.
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

// perSecond counts events in each second of the last minute.
type perSecond struct {
	seconds [secondsPerMinute]int64
	second  int64 // Second is the latest one.
	sum     int64
}

func (c *perSecond) add(now time.Duration) {
	c.advance(now)
	c.seconds[c.second%secondsPerMinute]++
	c.sum++
}

// last returns the count of the last seconds, at most a minute.
func (c *perSecond) last(seconds int64, now time.Duration) int64 {
	c.advance(now)
	if seconds >= secondsPerMinute {
		return c.sum
	}
	var n int64
	for i := max(0, c.second-seconds+1); i <= c.second; i++ {
		n += c.seconds[i%secondsPerMinute]
	}
	return n
}

// advance clears the seconds since the last call.
func (c *perSecond) advance(now time.Duration) {
	second := int64(now / time.Second)
	if second-c.second >= secondsPerMinute {
		*c = perSecond{second: second}
		return
	}
	for c.second < second {
		c.second++
		place := &c.seconds[c.second%secondsPerMinute]
		c.sum -= *place
		*place = 0
	}
}
