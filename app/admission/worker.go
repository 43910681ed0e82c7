package admission

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"
)

// collectLooks is for how many measurements memory may refuse calls without a garbage collection. The live bytes are known only after a
// collection, and while no calls are admitted too little is allocated to start one.
const collectLooks = 10

// Run measures the process until ctx ends. Without it only the number of calls is limited. It returns the error of ctx.
func (g *Controller) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	p, pace := newProbe(), collectorPace{headroom: g.o.Headroom, set: debug.SetGCPercent}
	var collections uint64
	looks := 0 // since the last collection
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
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
