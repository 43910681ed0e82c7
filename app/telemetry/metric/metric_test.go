package metric_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"umg/app/telemetry/metric"
)

func TestACollectorWritesItsMetricsInBaseUnits(t *testing.T) {
	t.Parallel()
	calls, rows := int64(2), []string(nil)
	registry := prometheus.NewRegistry()
	registry.MustRegister(metric.NewCollector(func(w *metric.Writer) {
		w.Counter("umg_calls_total", "Calls.", calls)
		w.Gauge("umg_calls_running", "Running calls.", 1)
		w.GaugeBool("umg_up", "1 while it is up.", true)
		w.GaugeSeconds("umg_lag_seconds", "Lag.", 1500*time.Millisecond)
		w.GaugeDollars("umg_reserved_dollars", "Credit.", 250_000_000)
		v := w.GaugeVec("umg_provider_ejected", "1 for an ejected provider.", "provider")
		for _, row := range rows {
			v.SetBool(false, row)
		}
		w.CounterVec("umg_provider_calls_total", "Calls of a provider.", "provider", "model").Set(7, "meridian", "atlas")
	}))
	scrape := func() string {
		r := httptest.NewRecorder()
		promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(r, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		return r.Body.String()
	}
	// The collector had no row when it was registered, and has one at the second scrape.
	if strings.Contains(scrape(), "umg_provider_ejected") {
		t.Error("a metric without a row is written")
	}
	calls, rows = 3, []string{"meridian"}
	got := scrape()
	for _, want := range []string{
		"# TYPE umg_calls_total counter\numg_calls_total 3\n", "# TYPE umg_calls_running gauge\numg_calls_running 1\n", "\numg_up 1\n",
		"\numg_lag_seconds 1.5\n", "\numg_reserved_dollars 0.25\n", "\numg_provider_ejected{provider=\"meridian\"} 0\n",
		"\numg_provider_calls_total{model=\"atlas\",provider=\"meridian\"} 7\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the metrics lack %q:\n%s", want, got)
		}
	}
}
