package health

import (
	"time"
)

// MayRetry takes one retry from the provider's retry budget, which is ten and a tenth of the first attempts of the last ten seconds.
// Call it before the Begin of a retry.
func (m *Monitor) MayRetry(providerID string) bool {
	now := m.since()
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.providers[providerID]
	if s == nil {
		return true // There was no attempt yet.
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.retriesLeft(now) < 1 {
		return false
	}
	s.retries.add(now)
	return true
}

// retriesLeft returns what is left of the retry budget. The count of attempts includes retries, which are subtracted.
func (s *providerState) retriesLeft(now time.Duration) int64 {
	retries := s.retries.last(retryWindow, now)
	firsts := max(0, s.attempts.last(retryWindow, now)-retries)
	return max(0, firsts/retryOneOf+retryFloor-retries)
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
