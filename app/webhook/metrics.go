package webhook

import (
	"github.com/prometheus/client_golang/prometheus"

	"umg/app/telemetry/metric"
)

// Collector returns the metrics of webhooks. They count what this replica did.
func (s *Service) Collector() prometheus.Collector {
	return metric.NewCollector(func(w *metric.Writer) {
		stats := s.Stats()
		w.Gauge("umg_webhook_attempts_in_flight", "Attempts that are running.", stats.Running)
		w.Counter("umg_webhook_events_total", "Events recorded.", stats.Events)
		w.Counter("umg_webhook_attempts_failed_total", "Attempts that failed.", stats.FailedAttempts)
		w.Counter("umg_webhook_deliveries_succeeded_total", "Deliveries that a receiver accepted.", stats.Delivered)
		w.Counter("umg_webhook_deliveries_failed_total", "Deliveries that failed at the last attempt.", stats.GivenUp)
		w.Counter("umg_webhook_endpoints_disabled_total", "Endpoints disabled because their deliveries failed.", stats.Disabled)
	})
}
