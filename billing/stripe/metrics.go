package stripe

import (
	"github.com/prometheus/client_golang/prometheus"

	"umg/app/telemetry/metric"
)

// Collector returns the metrics of payments. They count what this replica did.
func (s *Service) Collector() prometheus.Collector {
	return metric.NewCollector(func(w *metric.Writer) {
		stats := s.Stats()
		w.Counter("umg_payment_events_total", "Events of Stripe with a valid signature.", stats.Events)
		w.Counter("umg_payment_events_rejected_total", "Events without a valid signature.", stats.Refused)
		w.Counter("umg_payment_mismatches_total", "Payments that differ from their order. They are not credited.", stats.Mismatches)
		w.Counter("umg_topups_credited_total", "Top-ups credited.", stats.Credited)
		w.Counter("umg_auto_topups_declined_total", "Automatic top-ups that failed.", stats.Declined)
		reversals := w.CounterVec("umg_payment_reversals_total", "Payments returned to the card, in whole or in part.", "kind")
		reversals.Set(stats.Refunds, "refund")
		reversals.Set(stats.Disputes, "dispute")
	})
}
