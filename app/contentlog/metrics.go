package contentlog

import (
	"github.com/prometheus/client_golang/prometheus"

	"umg/app/telemetry/metric"
)

// Collector returns the metrics of content logging.
func (s *Service) Collector() prometheus.Collector {
	return metric.NewCollector(func(w *metric.Writer) {
		stats := s.Stats()
		w.Counter("umg_contentlog_records_total", "Calls whose content was stored.", stats.Kept)
		w.Counter("umg_contentlog_dropped_total", "Calls whose content was lost, because memory, the queue or the database was full or failed.",
			stats.Dropped)
	})
}
