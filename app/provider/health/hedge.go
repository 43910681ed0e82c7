package health

import (
	"time"

	"umg/app/catalog"
)

// A hedge waits this long on a route with few known answers. The delay is also no shorter than the longest of these answers. Whole
// answers take longer than the first content of a stream.
const (
	hedgeStandard      = 2 * time.Second
	hedgeWholeStandard = 4 * time.Second
	hedgeMin           = 20 * time.Millisecond
	hedgePercentile    = 95
)

// hedgeTimes bounds the delay of a hedge to a multiple of the usual time of another route. Without it, the usual time of a route that
// has become slow would soon delay its own hedges.
const hedgeTimes = 3

// These numbers define the hedge budget of a route. Each call earns a tenth of a hedge. A route begins with hedgeBurst hedges, the maximum.
const (
	hedgeBurst  = 10
	hedgeTenths = 10 // A hedge costs this many tenths, and each call earns one.
)

// HedgeAfter counts the first attempt of a call that has other routes. It returns the delay before the hedge, which is the 95th
// percentile of recent answers of its own route.
func (t *Try) HedgeAfter(routes []catalog.Route) time.Duration {
	m := t.monitor
	if m == nil {
		return hedgeStandard
	}
	standard := hedgeStandard
	if t.Whole {
		standard = hedgeWholeStandard
	}
	after := max(hedgeMin, m.earnHedge(t.route, t.Whole, standard))
	if t.Whole { // The time of a whole answer depends more on its length than on its route.
		return after
	}
	for i := range routes {
		other := &routes[i]
		if other.Provider.ID == t.route.Provider.ID && other.Model == t.route.Model {
			continue
		}
		usual, known := m.usualFirstByte(other)
		if !known {
			continue
		}
		after = min(after, max(standard, hedgeTimes*usual))
		if limit := after + usual; t.slowAfter == 0 || limit < t.slowAfter {
			t.slowAfter = limit
		}
	}
	return after
}

// PassedOver counts a call that goes to another route because this one is slow. The call earns the route a tenth of a hedge for a later
// probe.
func (m *Monitor) PassedOver(r *catalog.Route) {
	s, u := m.lock(r, m.since())
	defer s.mu.Unlock()
	u.earnHedge()
}

// MayHedge takes one hedge from the budget of the route whose answer is late.
func (m *Monitor) MayHedge(r *catalog.Route) bool {
	s, u := m.lock(r, m.since())
	defer s.mu.Unlock()
	if !u.mayHedge() {
		return false
	}
	u.hedgesSpent += hedgeTenths
	return true
}

// Hedged records that the attempt had a hedge, and its delay when the hedge answered first. Being outpaced is neither an answer nor a
// failure, but as many in a row as failures eject the route, so that calls go to the other routes first.
func (t *Try) Hedged(outpacedAfter time.Duration) { t.outpacedAfter, t.slowAfter = outpacedAfter, 0 }

// slow reports whether the first content came so late that another route would have outpaced the attempt.
func (t *Try) slow(firstByte time.Duration) bool { return t.slowAfter > 0 && firstByte > t.slowAfter }

// earnHedge adds a tenth of a hedge to the budget of a route. It returns the usual time of its answers, which is at least the standard
// when few are known.
func (m *Monitor) earnHedge(r *catalog.Route, whole bool, standard time.Duration) time.Duration {
	now := m.since()
	s, u := m.lock(r, now)
	defer s.mu.Unlock()
	u.earnHedge()
	p95, enough := u.waits(whole).percentile(hedgePercentile, now)
	if !enough {
		return max(u.waits(whole).longest(), standard)
	}
	return p95
}

// usualFirstByte returns the 95th percentile of recent times to first byte of a route. It reports false when too few are known.
func (m *Monitor) usualFirstByte(r *catalog.Route) (time.Duration, bool) {
	now := m.since()
	s, u := m.lock(r, now)
	defer s.mu.Unlock()
	h := &u.firstBytes
	if p95, enough := h.percentile(hedgePercentile, now); enough {
		return p95, true
	}
	return h.longest(), h.weight >= weightFew
}

func (u *upstream) mayHedge() bool { return u.hedgesSpent+hedgeTenths <= hedgeBurst*hedgeTenths }

func (u *upstream) earnHedge() { u.hedgesSpent = max(0, u.hedgesSpent-1) }

// waits returns the histogram of whole answers, or of first bytes.
func (u *upstream) waits(whole bool) *histogram {
	if whole {
		return &u.wholes
	}
	return &u.firstBytes
}
