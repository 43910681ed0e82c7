package server

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"umg/api"
	"umg/app"
	"umg/billing"
)

// metrics are what operators graph. Labels are routes, models and providers, whose number the operator decides on;
// never keys, accounts or anything else a caller can invent.
type metrics struct {
	registry  *prometheus.Registry
	inFlight  atomic.Int64
	requests  *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	text      *prometheus.CounterVec
	firstByte *prometheus.HistogramVec
	tokens    *prometheus.CounterVec
	cost      *prometheus.CounterVec
	attempts  *prometheus.CounterVec
	faults    *prometheus.CounterVec
}

func newMetrics(o Options) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	buckets := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: counter("umg_http_requests_total", "Requests answered, by route and class of status.", "method", "route", "status"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "umg_http_request_seconds", Help: "Time from the first byte of a request to the last of its answer.", Buckets: buckets,
		}, []string{"route"}),
		text: counter("umg_text_requests_total", "Text calls by model, style and outcome.", "model", "style", "outcome"),
		firstByte: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "umg_text_first_byte_seconds", Help: "Time to the first byte of a text answer.", Buckets: buckets,
		}, []string{"model"}),
		tokens:   counter("umg_tokens_total", "Tokens charged, by model and meter.", "model", "meter"),
		cost:     counter("umg_cost_nano_dollars_total", "Cost charged, in billionths of a dollar, by model.", "model"),
		attempts: counter("umg_upstream_retries_total", "Attempts beyond the first, by model.", "model"),
		faults:   counter("umg_upstream_faults_total", "Calls that failed because of an upstream, by provider and code.", "provider", "code"),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.text, m.firstByte, m.tokens, m.cost, m.attempts, m.faults,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "umg_http_in_flight", Help: "Requests being served now."},
			func() float64 { return float64(m.inFlight.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "umg_api_in_flight", Help: "API requests being served now."},
			func() float64 { return float64(o.API.InFlight()) }))
	if o.Ledger != nil {
		m.registry.MustRegister(ledgerMetrics(o.Ledger)...)
	}
	for _, f := range o.Figures {
		m.registry.MustRegister(f.collector())
	}
	return m
}

// Figure is one number of a room.
type Figure struct {
	Name, Help string
	Gauge      bool // it may fall; else it only grows
	Value      func() int64
}

func (f Figure) collector() prometheus.Collector {
	value := func() float64 { return float64(f.Value()) }
	if f.Gauge {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: f.Name, Help: f.Help}, value)
	}
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: f.Name, Help: f.Help}, value)
}

// ledgerMetrics are the ledger's counters. All but the grants should stay 0.
func ledgerMetrics(stats func() billing.Stats) []prometheus.Collector {
	var list []prometheus.Collector
	for _, c := range []struct {
		name, help string
		value      func(billing.Stats) int64
	}{
		{"umg_job_settlements_late_total", "Settlements of jobs whose hold had expired.", func(s billing.Stats) int64 { return s.SettledLate }},
		{"umg_holds_expired_total", "Holds released because nobody settled them.", func(s billing.Stats) int64 { return s.HoldsExpired }},
		{"umg_job_overruns_total", "Jobs that cost more than their hold.", func(s billing.Stats) int64 { return s.Overruns }},
		{"umg_grants_lapsed_total", "Expired grants taken back.", func(s billing.Stats) int64 { return s.GrantsLapsed }},
	} {
		list = append(list, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: c.name, Help: c.help},
			func() float64 { return float64(c.value(stats())) }))
	}
	return list
}

// tokenMeters are the meters that count tokens.
var tokenMeters = []billing.Meter{
	billing.InputTokens, billing.CacheReadTokens, billing.CacheWriteTokens, billing.OutputTokens, billing.ReasoningTokens,
}

func (m *metrics) observe(c echo.Context, x *api.Access, took time.Duration) {
	status := strconv.Itoa(c.Response().Status/100) + "xx"
	m.requests.WithLabelValues(method(c.Request().Method), route(c), status).Inc()
	m.seconds.WithLabelValues(route(c)).Observe(took.Seconds())
	if x.Failed && (x.ErrorKind == app.Upstream || x.ErrorKind == app.Timeout) {
		m.faults.WithLabelValues(x.Provider, faultCode(x.ErrorCode)).Inc()
	}
	if x.Model == "" || x.Style == "" {
		return
	}
	m.text.WithLabelValues(x.Model, x.Style, x.Outcome).Inc()
	if x.FirstByte > 0 {
		m.firstByte.WithLabelValues(x.Model).Observe(x.FirstByte.Seconds())
	}
	for _, meter := range tokenMeters {
		if n := x.Usage[meter]; n > 0 {
			m.tokens.WithLabelValues(x.Model, meter.String()).Add(float64(n))
		}
	}
	if x.Cost > 0 {
		m.cost.WithLabelValues(x.Model).Add(float64(x.Cost))
	}
	if x.Attempts > 1 {
		m.attempts.WithLabelValues(x.Model).Add(float64(x.Attempts - 1))
	}
}

// faultCode is the code where it is one of ours; a provider that refuses a request may call that anything.
func faultCode(code string) string {
	if code == "upstream_error" || code == "upstream_timeout" {
		return code
	}
	return "refused"
}
