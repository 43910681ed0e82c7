package admission

import (
	"testing"
	"time"
)

// TestABurstRefusesNoCall makes the process late for less than the patience, again and again, and once more for single goroutines only.
func TestABurstRefusesNoCall(t *testing.T) {
	t.Parallel()
	g := New(Options{InFlightMax: 1000, Busy: 10, LateMax: 10 * time.Millisecond})
	fill(t, g, 10)
	for n := range 200 {
		r := Sample{Queued: time.Second, Late: time.Second, Waited: 1000}
		if n%patience == 0 {
			r.Queued = time.Millisecond
		}
		g.Look(r)
		if passed(g, false) != 100 {
			t.Fatalf("after look %d of bursts, calls are refused", n)
		}
	}
	for range 200 {
		g.Look(Sample{Late: time.Second, Queued: time.Millisecond, Waited: 1000})
	}
	if passed(g, false) != 100 {
		t.Error("calls are refused though most goroutines run at once")
	}
}

// TestADelayThatReturnsRefusesSoon ends a long delay for a moment.
func TestADelayThatReturnsRefusesSoon(t *testing.T) {
	t.Parallel()
	g := New(Options{InFlightMax: 1000, Busy: 10, LateMax: 10 * time.Millisecond})
	fill(t, g, 10)
	late := Sample{Queued: 60 * time.Millisecond, Waited: 1000}
	for range patience + 5 {
		g.Look(late)
	}
	g.Look(Sample{Queued: time.Millisecond, Waited: 1000})
	before := g.latency.pressure
	for range patienceAgain {
		g.Look(late)
	}
	if before == 0 || g.latency.pressure <= before {
		t.Errorf("the pressure is %d, and was %d before the delay returned", g.latency.pressure, before)
	}
}
