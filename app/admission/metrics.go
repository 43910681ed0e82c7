package admission

import (
	"github.com/prometheus/client_golang/prometheus"

	"umg/app/telemetry/metric"
)

// Collector returns the metrics of admission control.
func (g *Controller) Collector() prometheus.Collector {
	return metric.NewCollector(func(w *metric.Writer) {
		w.Gauge("umg_admission_in_flight_limit", "API calls that may run at once.", g.InFlightMax())
		w.Gauge("umg_admission_heap_live_bytes", "Memory in use after the last garbage collection.", g.Held())
		w.GaugeSeconds("umg_admission_scheduling_delay_seconds", "90th percentile of the time that goroutines waited to run.", g.Late())
		w.Gauge("umg_admission_body_bytes", "Memory in use by request bodies.", g.BodyBytes())
		rejected := w.CounterVec("umg_admission_rejected_total", "Calls rejected because of the load of this replica.", "reason", "class")
		for why := range g.refused {
			for class := range g.refused[why] {
				rejected.Set(g.refused[why][class].Load(), reason(why).label(), Class(class).label())
			}
		}
	})
}

// label is the value of the label reason.
func (r reason) label() string {
	switch r {
	case placesFull:
		return "in_flight"
	case memory:
		return "memory"
	case late:
		return "scheduling_delay"
	case accountFull:
		return "account_in_flight"
	case bodies:
		return "body_bytes"
	case accountBodies:
		return "account_body_bytes"
	}
	return "unknown"
}

// label is the value of the label class.
func (c Class) label() string {
	switch c {
	case Trial:
		return "trial"
	case Paid:
		return "paid"
	case Critical:
		return "critical"
	}
	return "unknown"
}
