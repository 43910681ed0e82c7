package health

import (
	"github.com/prometheus/client_golang/prometheus"

	"umg/app/telemetry/metric"
)

// Collector returns the metrics of providers and of their models, as this replica sees them.
func (m *Monitor) Collector() prometheus.Collector {
	return metric.NewCollector(func(w *metric.Writer) {
		report := m.Report()
		labels := []string{"provider", "upstream_model"}
		ejected := w.GaugeVec("umg_upstream_ejected", "1 while a model of a provider is ejected. It then gets probes only.", labels...)
		ejections := w.CounterVec("umg_upstream_ejections_total", "Ejections of a model of a provider.", labels...)
		inFlight := w.GaugeVec("umg_upstream_in_flight", "Attempts that are running at a model of a provider.", labels...)
		coolingDown := w.GaugeVec("umg_upstream_credentials_cooling_down",
			"Credentials that are not used for a model for a while, because the provider rejected them.", labels...)
		for i := range report.Upstreams {
			u := &report.Upstreams[i]
			ejected.SetBool(u.State == StateEjected || u.State == StateHalfOpen, u.Provider, u.Model)
			ejections.Set(u.Ejections, u.Provider, u.Model)
			inFlight.Set(int64(u.InFlight), u.Provider, u.Model)
			coolingDown.Set(int64(len(u.CoolingDown)), u.Provider, u.Model)
		}
		providersInFlight := w.GaugeVec("umg_provider_in_flight", "Attempts that are running at a provider.", "provider")
		providersCoolingDown := w.GaugeVec("umg_provider_credentials_cooling_down",
			"Credentials that are not used for a while, because the provider rejected them.", "provider")
		retriesLeft := w.GaugeVec("umg_provider_retries_left", "Retries left in the retry budget of a provider.", "provider")
		for i := range report.Providers {
			p := &report.Providers[i]
			providersInFlight.Set(int64(p.InFlight), p.Provider)
			providersCoolingDown.Set(int64(len(p.CoolingDown)), p.Provider)
			retriesLeft.Set(p.RetriesLeft, p.Provider)
		}
		paused := w.GaugeVec("umg_paused", "1 for each model and provider that an operator has paused.", "kind", "id")
		for _, p := range m.Pauses() {
			paused.SetBool(true, p.Kind, p.ID)
		}
	})
}
