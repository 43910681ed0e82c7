package admission

import (
	"context"
	"runtime"
	"time"
)

// collectLooks is how many measurements memory may reject calls without a collection. The live bytes are only known
// after a collection, and while no calls are admitted too little is allocated to start one.
const collectLooks = 10

// Run looks at the process again and again until ctx ends. Without it a gate counts places only. It returns ctx's error.
func (g *Controller) Run(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	p := newProbe()
	var collections uint64
	looks := 0 // since the last collection
	for {
		r := p.read()
		g.Look(r)
		if looks++; r.Collections != collections {
			collections, looks = r.Collections, 0
		}
		if looks >= collectLooks && g.tight() {
			runtime.GC()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
