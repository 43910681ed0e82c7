package lease

import (
	"github.com/prometheus/client_golang/prometheus"

	"umg/app/telemetry/metric"
)

// Collector returns the metrics of holds, leases and settlements of this replica.
func (m *Manager) Collector() prometheus.Collector {
	return metric.NewCollector(func(w *metric.Writer) {
		s := m.Stats()
		w.Gauge("umg_holds_running", "Running text calls that hold credit.", s.Running)
		w.Gauge("umg_leases", "Leases of credit, including empty ones.", int64(s.Leases))
		w.GaugeDollars("umg_leased_dollars", "Credit in leases.", int64(s.Granted))
		w.GaugeDollars("umg_reserved_dollars", "Credit in leases that running calls reserve.", int64(s.Reserved))
		w.Gauge("umg_settlements_unapplied", "Journal records that are not in the ledger yet.", s.Unapplied)
		w.Gauge("umg_settlements_pending", "Settlements that are neither in the journal nor in the ledger yet.", int64(s.Kept))
		w.Counter("umg_settlements_applied_total", "Settlements written to the ledger.", s.Applied)
		w.Counter("umg_settlements_recovered_total", "Calls that a crash interrupted, settled at their last checkpoint.", s.Orphans)
		w.Counter("umg_settlements_without_journal_total", "Settlements written to the ledger without the journal.", s.Direct)
		w.Counter("umg_settlements_quarantined_total", "Settlements that the ledger rejected.", s.Quarantined)
		w.Counter("umg_responses_withheld_total", "Responses withheld without charge, because they could not be recorded.", s.Undelivered)
		w.Counter("umg_lease_acquisitions_total", "Requests for credit to the ledger.", s.Takes)
		w.Gauge("umg_replica_epoch", "Epoch of this replica. It grows with each start.", s.Epoch)
		w.Counter("umg_replica_fenced_total", "Epochs of this replica that ended before the process did.", s.Fenced)
		rejected := w.CounterVec("umg_holds_rejected_total", "Text calls that got no credit.", "reason")
		rejected.Set(s.RefusedUnfunded, "insufficient_credit")
		rejected.Set(s.RefusedLimit, "spend_limit")
		rejected.Set(s.RefusedBudget, "key_budget")
		rejected.Set(s.RefusedFrozen, "account_frozen")
		rejected.Set(s.RefusedAway, "ledger_unavailable")
		rejected.Set(s.RefusedUnwritten, "journal_full")
	})
}

// Collector returns the metrics of settlements in the database.
func (s *SQLStore) Collector() prometheus.Collector {
	return metric.NewCollector(func(w *metric.Writer) {
		c := s.Counts()
		w.Counter("umg_settlements_after_lease_end_total", "Settlements whose lease had ended.", c.Late)
		w.Counter("umg_text_overruns_total", "Text calls that cost more than their hold.", c.Overruns)
	})
}
