package admission

import (
	"math"
	"runtime/metrics"
	"slices"
	"time"
)

// lateMille is the share of goroutines, in thousandths, that got to run no later than a reading says.
const lateMille = 900

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
	r.Late, r.Waited = p.lateness(waits)
	r.Held = n(1) - n(2) - n(3) - n(4) - n(5) + n(6)
	r.Collections = p.samples[7].Value.Uint64()
	return r
}

// lateness is the duration within which most goroutines got to run since the previous measurement, and how many goroutines waited.
func (p *probe) lateness(h *metrics.Float64Histogram) (time.Duration, uint64) {
	if p.seen == nil {
		p.seen = slices.Clone(h.Counts)
		return 0, 0
	}
	var all uint64
	for i, n := range h.Counts {
		all += n - p.seen[i]
	}
	var late time.Duration
	below, wanted := uint64(0), all-all*(perMille-lateMille)/perMille
	for i, n := range h.Counts {
		below += n - p.seen[i]
		if all > 0 && below >= wanted {
			late = seconds(h.Buckets[i+1])
			break
		}
	}
	copy(p.seen, h.Counts)
	return late, all
}

func seconds(s float64) time.Duration {
	if math.IsInf(s, 0) || s > math.MaxInt32 {
		return math.MaxInt32 * time.Second
	}
	return time.Duration(s * float64(time.Second))
}
