package health

import (
	"time"

	"umg/app/catalog"
)

// Forget is what the worker does every few seconds.
func (m *Monitor) Forget() { m.dropIdle() }

// FirstByteP95 is the time in which 95 of 100 recent streams of a route began, when enough of them are known.
func (m *Monitor) FirstByteP95(r *catalog.Route) (time.Duration, bool) {
	now := m.since()
	s, u := m.lock(r, now)
	defer s.mu.Unlock()
	return u.firstBytes.percentile(hedgePercentile, now)
}
