package admission

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"

	"umg/app"
)

// collectLooks is for how many measurements memory may refuse calls without a garbage collection. The live bytes are known only after a
// collection, and while no calls are admitted too little is allocated to start one.
const collectLooks = 10

// idleLookEvery is the interval of measurements while no call is in flight and none is refused. The next call that enters ends it.
const idleLookEvery = 5 * time.Second

// Run measures the process until ctx ends. Without it only the number of calls is limited. It returns the error of ctx.
func (g *Controller) Run(ctx context.Context) error {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	p, pace := newProbe(), collectorPace{headroom: g.o.Headroom, set: debug.SetGCPercent}
	var collections uint64
	looks := 0
	for {
		r := p.read()
		g.Look(r)
		if looks++; r.Collections != collections {
			collections, looks = r.Collections, 0
			pace.adjust(r.InUse)
		}
		if looks >= collectLooks && g.memoryRefuses() {
			runtime.GC()
		}
		if err := g.awaitLook(ctx, timer); err != nil {
			return err
		}
	}
}

// awaitLook waits until the next measurement is due. A call that ends the sleep is measured after lookEvery, and not at once: short
// calls would otherwise each cause a measurement.
func (g *Controller) awaitLook(ctx context.Context, timer *time.Timer) error {
	timer.Reset(lookEvery)
	if g.idle() {
		timer.Reset(idleLookEvery)
		g.asleep.Store(true)
		if g.inFlight.Load() > 0 { // The call may have entered before it could see that Run sleeps.
			g.wake()
		}
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-g.entering:
			timer.Reset(lookEvery)
		case <-timer.C:
			g.asleep.Store(false)
			return nil
		}
	}
}

// idle reports whether measurements would change nothing: no call is in flight, and none would be refused.
func (g *Controller) idle() bool {
	return g.inFlight.Load() == 0 && g.latency.pressure == 0 && g.latency.row == 0 && !g.memoryRefuses()
}

// wake ends the sleep of Run, once.
func (g *Controller) wake() {
	if g.asleep.CompareAndSwap(true, false) {
		app.Wake(g.entering)
	}
}
