package ratelimit

import (
	"github.com/prometheus/client_golang/prometheus"

	"umg/app/telemetry/metric"
)

// Collector returns the metrics of the limits of accounts, models and keys.
func (l *Limiter) Collector() prometheus.Collector {
	return metric.NewCollector(func(w *metric.Writer) {
		s := l.Stats()
		w.GaugeBool("umg_ratelimit_redis_configured", "1 when replicas share limits in Redis.", s.Shared)
		w.GaugeBool("umg_ratelimit_redis_up", "1 while Redis answers.", s.Up)
		w.Gauge("umg_ratelimit_redis_slots", "Running calls that are counted in Redis.", s.Leases)
		w.Counter("umg_ratelimit_redis_outages_total", "Times that Redis became unavailable.", s.Away)
		w.Counter("umg_ratelimit_redis_timeouts_total", "Calls whose wait for Redis timed out.", s.Late)
		w.Counter("umg_ratelimit_local_fallback_total", "Calls that this replica counted alone, because Redis was unavailable.", s.Alone)
		w.Counter("umg_ratelimit_release_failures_total", "Ends of calls that did not reach Redis. Their slots expire.", s.Lost)
		rejected := w.CounterVec("umg_ratelimit_rejected_total", "Requests rejected by a limit.", "limit")
		rejected.Set(s.RefusedPlaces, "concurrency")
		rejected.Set(s.RefusedRequests, "requests_per_minute")
		rejected.Set(s.RefusedDaily, "requests_per_day")
		rejected.Set(s.RefusedTokens, "tokens_per_minute")
		rejected.Set(s.RefusedReads, "account_reads")
		rejected.Set(s.RefusedChanges, "account_changes")
		rejected.Set(s.RefusedChecks, "account_dry_runs")
		rejected.Set(s.RefusedBursts, "account_requests")
	})
}

// Collector returns the metrics of the limits of visitors.
func (a *Addresses) Collector() prometheus.Collector {
	return metric.NewCollector(func(w *metric.Writer) {
		rejected := w.CounterVec("umg_ratelimit_ip_rejected_total", "Requests of visitors rejected by the limit of their IP address.", "limit")
		rejected.Set(a.Refused(Pages), "pages")
		rejected.Set(a.Refused(Forms), "forms")
	})
}
