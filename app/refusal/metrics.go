package refusal

import (
	"github.com/prometheus/client_golang/prometheus"

	"umg/app/telemetry/metric"
)

// Collector returns the metrics of recorded refusals.
func (l *Log) Collector() prometheus.Collector {
	return metric.NewCollector(func(w *metric.Writer) {
		stats := l.Stats()
		w.Counter("umg_refusals_recorded_total", "Refused requests that were recorded, alone or in a sample.", stats.Written)
		w.Counter("umg_refusals_dropped_total", "Refused requests that were lost, as memory or the database was full or failed.", stats.Dropped)
	})
}
