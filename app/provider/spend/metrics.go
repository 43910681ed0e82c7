package spend

import (
	"github.com/prometheus/client_golang/prometheus"

	"umg/app/telemetry/metric"
)

// Collector returns the metrics of the spend caps. The credential is its reference in the catalog, and empty for the whole provider.
func (t *Tracker) Collector() prometheus.Collector {
	return metric.NewCollector(func(w *metric.Writer) {
		labels := []string{"provider", "credential", "period"}
		reached := w.GaugeVec("umg_provider_spend_cap_reached", "1 while a spend cap is reached and calls go elsewhere.", labels...)
		spent := w.GaugeVec("umg_provider_spend_dollars", "Dollars spent at a provider in the day or month of a cap.", labels...)
		limit := w.GaugeVec("umg_provider_spend_cap_dollars", "The spend caps of the catalog.", labels...)
		for _, p := range t.o.Providers() {
			for _, u := range t.Usages(p) {
				reached.SetBool(u.IsReached(), u.Provider, u.Credential, string(u.Period))
				spent.SetDollars(int64(u.Spent), u.Provider, u.Credential, string(u.Period))
				limit.SetDollars(int64(u.Cap), u.Provider, u.Credential, string(u.Period))
			}
		}
	})
}
