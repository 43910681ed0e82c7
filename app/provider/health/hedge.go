package health

import (
	"time"

	"umg/app/catalog"
	"umg/app/provider"
)

// How late an answer must be before another route is asked, where too few answers of the route are known: later than all of them,
// and than this. An answer in one piece takes as long as all of it, so there it is longer.
const (
	hedgeStandard      = 2 * time.Second
	hedgeWholeStandard = 4 * time.Second
	hedgeMin           = 20 * time.Millisecond
	hedgePercentile    = 95
)

// hedgeTimes is how often as long as another route usually takes a route may take whose content usually comes later than the
// standard. Without it a route that has become slow would soon be waited for, as then that is usual.
const hedgeTimes = 3

// unhedgedProbeAfter is how long after its ejection a slow route is probed although its hedge budget is used up.
const unhedgedProbeAfter = 2 * time.Minute

// The hedge budget of a route: each call earns a tenth of a hedge, and so many may be saved up. A route begins with all of them.
const (
	hedgeBurst  = 10
	hedgeTenths = 10 // tenths of a hedge that a call earns one of
)

// HedgeAfter counts the first attempt of a call that has other routes. It returns how late the answer must be before one of them is
// asked too: later than 95 of 100 recent answers of its own route.
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
	if t.Whole { // how long an answer is says more about its time than which route it comes from
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

// PassedOver counts a call that goes elsewhere because the route is slow. It earns the route its part of a hedge, with which the route
// is probed later.
func (m *Monitor) PassedOver(r *catalog.Route) {
	now := m.since()
	s := m.lock(r.Provider)
	defer s.mu.Unlock()
	s.upstream(r.Model, now).earnHedge()
}

// MayHedge takes one hedge from the budget of the route whose answer is late.
func (m *Monitor) MayHedge(r *catalog.Route) bool {
	now := m.since()
	s := m.lock(r.Provider)
	defer s.mu.Unlock()
	u := s.upstream(r.Model, now)
	if !u.mayHedge() {
		return false
	}
	u.hedgesSpent += hedgeTenths
	return true
}

// Hedged says that another route was asked beside the attempt, and after which time if that one answered first. An attempt that is
// outpaced so is given up and counts neither as an answer nor as a failure, but as often in a row as failures would it ejects the
// route: calls go to the others first for a while.
func (t *Try) Hedged(outpacedAfter time.Duration) { t.outpacedAfter, t.slowAfter = outpacedAfter, 0 }

// slow reports whether content came so late that another route would have outpaced the attempt.
func (t *Try) slow(firstByte time.Duration) bool { return t.slowAfter > 0 && firstByte > t.slowAfter }

// outcome is what the outcome says about the provider's model, and how long its content took as far as that is known. An attempt
// that was outpaced counts for as long as the other route was waited with, so that the percentile stays where it is.
func (t *Try) outcome(f *provider.Fault, firstByte, now time.Duration) (v outcome, waited time.Duration) {
	switch {
	case t.outpacedAfter > 0 && f != nil && f.Class == provider.ClassEnded:
		return outcomeOutpaced, max(t.outpacedAfter-time.Microsecond, time.Microsecond)
	case f == nil && t.slow(firstByte):
		return outcomeOutpaced, firstByte
	case firstByte > 0:
		return outcomeOf(f, 0), firstByte
	}
	return outcomeOf(f, now-t.began), 0
}

// earnHedge earns a route its part of a hedge, and returns how long its answers take as a rule, which is the standard at least
// where few are known.
func (m *Monitor) earnHedge(r *catalog.Route, whole bool, standard time.Duration) time.Duration {
	now := m.since()
	s := m.lock(r.Provider)
	defer s.mu.Unlock()
	u := s.upstream(r.Model, now)
	u.earnHedge()
	p95, enough := u.waits(whole).percentile(hedgePercentile, now)
	if !enough {
		return max(u.waits(whole).longest(), standard)
	}
	return p95
}

// usualFirstByte is how soon nearly all streams of a route began of late, if more than a few are known.
func (m *Monitor) usualFirstByte(r *catalog.Route) (time.Duration, bool) {
	now := m.since()
	s := m.lock(r.Provider)
	defer s.mu.Unlock()
	h := &s.upstream(r.Model, now).firstBytes
	if p95, enough := h.percentile(hedgePercentile, now); enough {
		return p95, true
	}
	return h.longest(), h.weight >= weightFew
}

func (u *upstream) mayHedge() bool { return u.hedgesSpent+hedgeTenths <= hedgeBurst*hedgeTenths }

// waitsForHedge reports whether a route that is slow is not probed yet, because no other could be asked beside the probe.
func (u *upstream) waitsForHedge(now time.Duration) bool {
	b := &u.breaker
	return b.ejected && b.slow && now < b.until+unhedgedProbeAfter && !u.mayHedge()
}

func (u *upstream) earnHedge() { u.hedgesSpent = max(0, u.hedgesSpent-1) }

// waits is the histogram of how long answers take until they count.
func (u *upstream) waits(whole bool) *histogram {
	if whole {
		return &u.wholes
	}
	return &u.firstBytes
}
