package journal

import (
	"github.com/prometheus/client_golang/prometheus"

	"umg/app/telemetry/metric"
)

// Collector returns the metrics of the journal.
func (l *Log) Collector() prometheus.Collector {
	return metric.NewCollector(func(w *metric.Writer) {
		s := l.Stats()
		w.Gauge("umg_journal_unapplied_bytes", "Bytes of journal records that are not in the ledger yet.", s.UnappliedBytes)
		w.GaugeSeconds("umg_journal_unapplied_age_seconds", "Age of the oldest record that is not in the ledger yet.", s.UnappliedAge)
		w.Gauge("umg_journal_segments", "Files of the journal.", s.Segments)
	})
}
