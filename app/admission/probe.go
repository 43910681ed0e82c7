package admission

import (
	"math"
	"runtime/metrics"
	"slices"
	"time"
)

// Shares of goroutines, in thousandths, that got to run no later than a reading says.
const (
	lateMille   = 900
	queuedMille = 500
)

// The runtime's names of what is read.
const (
	waitsMetric    = "/sched/latencies:seconds"
	totalMetric    = "/memory/classes/total:bytes"
	objectsMetric  = "/memory/classes/heap/objects:bytes"
	unusedMetric   = "/memory/classes/heap/unused:bytes"
	freeMetric     = "/memory/classes/heap/free:bytes"
	releasedMetric = "/memory/classes/heap/released:bytes"
	liveMetric     = "/gc/heap/live:bytes"
	cyclesMetric   = "/gc/cycles/total:gc-cycles"
	stacksMetric   = "/gc/scan/stack:bytes"
	globalsMetric  = "/gc/scan/globals:bytes"
)

// probe measures the process. One goroutine uses it, and it allocates nothing after its first measurement.
type probe struct {
	samples []metrics.Sample
	seen    []uint64 // the counts of each bucket of waits at the sample before
}

func newProbe() *probe {
	p := &probe{}
	for _, name := range []string{
		waitsMetric, totalMetric, objectsMetric, unusedMetric, freeMetric, releasedMetric, liveMetric, cyclesMetric,
		stacksMetric, globalsMetric,
	} {
		p.samples = append(p.samples, metrics.Sample{Name: name})
	}
	return p
}

func (p *probe) read() Sample {
	metrics.Read(p.samples)
	waits := p.samples[0].Value.Float64Histogram()
	n := func(i int) int64 { return int64(p.samples[i].Value.Uint64()) }
	var r Sample
	r.Late, r.Queued, r.Waited = p.lateness(waits)
	r.Held = n(1) - n(2) - n(3) - n(4) - n(5) + n(6)
	r.InUse = n(6) + n(8) + n(9)
	r.Collections = p.samples[7].Value.Uint64()
	return r
}

// lateness returns the durations within which most goroutines and half of them got to run since the previous measurement, and how many
// goroutines waited.
func (p *probe) lateness(h *metrics.Float64Histogram) (late, queued time.Duration, waited uint64) {
	if p.seen == nil {
		p.seen = slices.Clone(h.Counts)
		return 0, 0, 0
	}
	for i, n := range h.Counts {
		waited += n - p.seen[i]
	}
	late, queued = p.quantile(h, waited, lateMille), p.quantile(h, waited, queuedMille)
	copy(p.seen, h.Counts)
	return late, queued, waited
}

// quantile is the duration within which a share of the goroutines that waited since the previous measurement got to run.
func (p *probe) quantile(h *metrics.Float64Histogram, waited, mille uint64) time.Duration {
	below, wanted := uint64(0), waited-waited*(perMille-mille)/perMille
	for i, n := range h.Counts {
		below += n - p.seen[i]
		if waited > 0 && below >= wanted {
			return seconds(h.Buckets[i+1])
		}
	}
	return 0
}

func seconds(s float64) time.Duration {
	if math.IsInf(s, 0) || s > math.MaxInt32 {
		return math.MaxInt32 * time.Second
	}
	return time.Duration(s * float64(time.Second))
}
