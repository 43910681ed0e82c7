package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"umg/app/catalog"
	"umg/app/postgres/pgtest"
	"umg/app/provider/health"
)

// TestEveryMetricIsListed compares the metrics of a whole server with testdata/metrics.txt: name, type and labels. A new metric
// must be listed there, and a removed or renamed one breaks dashboards and alerts.
func TestEveryMetricIsListed(t *testing.T) {
	t.Parallel()
	g := wholeServer(t)
	for _, c := range g.http.server.Collectors() {
		writeChild(t, c)
	}
	route := &catalog.Route{Provider: &catalog.Provider{ID: "meridian", Credentials: []catalog.Secret{catalog.NewSecret("x")}}, Model: "atlas"}
	if _, block := g.services.health.Begin(route, true); block != "" {
		t.Fatal(block)
	}
	if err := g.services.health.Pause(t.Context(), health.Pause{Kind: "model", ID: "meridian/atlas", By: "ann@example.com"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed, found := strings.Split(strings.TrimSpace(string(text)), "\n"), exposed(t, g.http.metrics)
	for _, one := range found {
		if !slices.Contains(listed, one) {
			t.Errorf("testdata/metrics.txt lacks the metric: %s", one)
		}
	}
	for _, one := range listed {
		if !slices.Contains(found, one) {
			t.Errorf("the server lacks the metric: %s", one)
		}
	}
	if !slices.IsSorted(listed) {
		t.Error("testdata/metrics.txt is not sorted")
	}
	lint(t, g.http.metrics)
}

// lint checks the names with the linter of Prometheus: base units, _total at counters alone, a help text.
func lint(t *testing.T, from prometheus.Gatherer) {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "umg_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// wholeServer has all parts that have metrics: a journal and a trace collector too.
func wholeServer(t *testing.T) *gatewayServer {
	t.Helper()
	cfg := Config{
		httpFlags:      httpFlags{Listen: "127.0.0.1:0", OpsListen: "127.0.0.1:0", KeepAlive: time.Second},
		databaseFlags:  databaseFlags{DatabaseURL: pgtest.DSN(t, pgtest.New(t)), Data: t.TempDir()},
		journalFlags:   journalFlags{UsageRetention: monthMax},
		trialFlags:     trialFlags{TrialDays: 1},
		videoFlags:     videoFlags{VideoRetention: time.Hour},
		telemetryFlags: telemetryFlags{OTLPEndpoint: "http://127.0.0.1:1"},
	}
	if err := cfg.AfterApply(); err != nil {
		t.Fatal(err)
	}
	g, err := build(t.Context(), cfg, func(string) (string, bool) { return "", false }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.close() })
	return g
}

var labelNames = regexp.MustCompile(`variableLabels: \{([^}]*)\}`)

// writeChild gives a metric with labels a first value, without which it does not show.
func writeChild(t *testing.T, c prometheus.Collector) {
	t.Helper()
	descs := make(chan *prometheus.Desc, 1000)
	c.Describe(descs)
	m := labelNames.FindStringSubmatch((<-descs).String())
	if m == nil {
		t.Fatal("a description has another form than the test knows")
	}
	values := strings.Split(m[1], ",")
	switch vec := c.(type) {
	case *prometheus.CounterVec:
		vec.WithLabelValues(values...).Inc()
	case *prometheus.HistogramVec:
		vec.WithLabelValues(values...).Observe(1)
	}
}

var (
	typeLine   = regexp.MustCompile(`^# TYPE (umg_\S+) (\S+)$`)
	sampleLine = regexp.MustCompile(`^(umg_[a-z_]+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? \S+$`)
	labelName  = regexp.MustCompile(`([a-z_]+)="`)
)

// exposed lists the metrics of the product in the text that Prometheus reads, as NAME TYPE LABEL,LABEL.
func exposed(t *testing.T, from prometheus.Gatherer) (list []string) {
	t.Helper()
	r := httptest.NewRecorder()
	promhttp.HandlerFor(from, promhttp.HandlerOpts{}).ServeHTTP(r, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	types, labels := map[string]string{}, map[string]string{}
	for line := range strings.Lines(r.Body.String()) {
		line = strings.TrimSuffix(line, "\n")
		if m := typeLine.FindStringSubmatch(line); m != nil {
			types[m[1]] = m[2]
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil || labels[m[1]] != "" {
			continue
		}
		var names []string
		for _, name := range labelName.FindAllStringSubmatch(m[2], -1) {
			if name[1] != "le" {
				names = append(names, name[1])
			}
		}
		labels[m[1]] = strings.Join(names, ",")
	}
	for name, kind := range types {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s", name, kind, labels[name])))
	}
	slices.Sort(list)
	return list
}
