package billing

import (
	"github.com/prometheus/client_golang/prometheus"

	"umg/app/telemetry/metric"
)

// Collector returns the metrics of the ledger. All but the expired grants should stay 0.
func (l *Ledger) Collector() prometheus.Collector {
	return metric.NewCollector(func(w *metric.Writer) {
		s := l.Stats()
		w.Counter("umg_job_settlements_after_hold_end_total", "Settlements of jobs whose hold had expired.", s.SettledLate)
		w.Counter("umg_job_overruns_total", "Jobs that cost more than their hold.", s.Overruns)
		w.Counter("umg_holds_expired_total", "Holds of jobs that expired without a settlement.", s.HoldsExpired)
		w.Counter("umg_grants_expired_total", "Grants that expired with credit left.", s.GrantsExpired)
	})
}
