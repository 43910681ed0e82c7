package server

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"umg/api"
	"umg/billing"
)

// metrics are what operators graph. Labels are routes, models, providers, styles, outcomes and classes of faults, whose number the
// operator or this program decides on; never keys, accounts or anything else a caller can invent.
type metrics struct {
	registry  *prometheus.Registry
	inFlight  atomic.Int64
	requests  *prometheus.CounterVec
	seconds   *prometheus.HistogramVec
	errors    *prometheus.CounterVec
	text      *prometheus.CounterVec
	firstByte *prometheus.HistogramVec
	own       *prometheus.HistogramVec
	tokens    *prometheus.CounterVec
	cost      *prometheus.CounterVec
	retries   *prometheus.CounterVec
	attempts  *prometheus.CounterVec
	upstream  *prometheus.HistogramVec
	hedges    *prometheus.CounterVec
	recovered *prometheus.CounterVec
	fallbacks *prometheus.CounterVec
	// implausible counts reports of usage that cannot be true as they stand.
	implausible *prometheus.CounterVec
	repeats     *prometheus.CounterVec
}

var (
	secondsBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	ownBuckets     = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1}
)

func newMetrics(o Options) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: counter("umg_http_requests_total", "Requests answered, by route and class of status.", "method", "route", "status"),
		seconds: histogram("umg_http_request_seconds", "Time from the first byte of a request to the last of its answer.",
			secondsBuckets, "route"),
		errors: counter("umg_http_errors_total", "Requests that failed, by kind of error.", "kind"),
		text:   counter("umg_text_requests_total", "Text calls.", "model", "provider", "style", "outcome"),
		firstByte: histogram("umg_text_first_byte_seconds", "Time to the first byte of a text answer.",
			secondsBuckets, "model"),
		own: histogram("umg_text_gateway_seconds",
			"What the gateway took of a text call itself: without the body's coming and without waiting for providers.", ownBuckets, "style"),
		tokens:   counter("umg_tokens_total", "Tokens charged, by model and meter.", "model", "meter"),
		cost:     counter("umg_cost_nano_dollars_total", "Cost charged, in billionths of a dollar, by model.", "model"),
		retries:  counter("umg_upstream_retries_total", "Attempts beyond the first, by model.", "model"),
		attempts: counter("umg_upstream_attempts_total", "Attempts of text calls at providers.", "model", "provider", "fault"),
		upstream: histogram("umg_upstream_first_byte_seconds", "Time until a provider's answer had content.",
			secondsBuckets, "provider"),
		hedges:    counter("umg_text_hedged_total", "Calls for which a second route was asked beside the first.", "model"),
		recovered: counter("umg_text_recovered_total", "Times another route went on with an answer that was cut.", "model"),
		fallbacks: counter("umg_text_fallbacks_total", "Calls that a fallback model served, by the model that was asked for.", "model"),
		implausible: counter("umg_usage_implausible_total",
			"Answers whose provider reported usage that cannot be true. What cannot be true was charged by an estimate.", "provider", "model"),
		repeats: counter("umg_repeated_requests_total", "Requests that came again with their Idempotency-Key.", "answer"),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.errors, m.text, m.firstByte, m.own, m.tokens, m.cost, m.retries, m.attempts, m.upstream,
		m.hedges, m.recovered, m.fallbacks, m.implausible, m.repeats,
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
	for _, t := range o.Tables {
		m.registry.MustRegister(t.collector())
	}
	return m
}

// Metric is one number of a room.
type Metric struct {
	Name, Help string
	Gauge      bool // the value may fall; a counter only grows
	Value      func() int64
}

func (f Metric) collector() prometheus.Collector {
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

func (m *metrics) observe(c echo.Context, x *api.RequestLog, took time.Duration) {
	status := strconv.Itoa(c.Response().Status/100) + "xx"
	m.requests.WithLabelValues(method(c.Request().Method), route(c), status).Inc()
	m.seconds.WithLabelValues(route(c)).Observe(took.Seconds())
	if x.Failed {
		m.errors.WithLabelValues(api.KindWord(x.ErrorKind)).Inc()
	}
	if answer := repeated(c, x); answer != "" {
		m.repeats.WithLabelValues(answer).Inc()
	}
	if x.Model != "" && x.Style != "" {
		m.observeText(x)
	}
}

func (m *metrics) observeText(x *api.RequestLog) {
	m.text.WithLabelValues(x.Model, orNone(x.Provider), x.Style, x.Outcome).Inc()
	if x.FirstByte > 0 {
		m.firstByte.WithLabelValues(x.Model).Observe(x.FirstByte.Seconds())
	}
	if x.Own > 0 {
		m.own.WithLabelValues(x.Style).Observe(x.Own.Seconds())
	}
	for _, meter := range tokenMeters {
		if n := x.Usage[meter]; n > 0 {
			m.tokens.WithLabelValues(x.Model, meter.String()).Add(float64(n))
		}
	}
	if x.Cost > 0 {
		m.cost.WithLabelValues(x.Model).Add(float64(x.Cost))
	}
	if x.Hedged {
		m.hedges.WithLabelValues(x.Model).Inc()
	}
	if x.Recovered > 0 {
		m.recovered.WithLabelValues(x.Model).Add(float64(x.Recovered))
	}
	if x.FallbackOf != "" {
		m.fallbacks.WithLabelValues(x.FallbackOf).Inc()
	}
	if x.Implausible {
		m.implausible.WithLabelValues(orNone(x.Provider), x.Model).Inc()
	}
	if x.Attempts > 1 {
		m.retries.WithLabelValues(x.Model).Add(float64(x.Attempts - 1))
	}
	for i := range x.Tries {
		try := &x.Tries[i]
		m.attempts.WithLabelValues(x.Model, try.Provider, orNone(string(try.Fault))).Inc()
		if try.Fault == "" {
			m.upstream.WithLabelValues(try.Provider).Observe(try.Waited.Seconds())
		}
	}
}

// repeated is what became of a request that came again with its Idempotency-Key, empty for all others.
func repeated(c echo.Context, x *api.RequestLog) string {
	if c.Response().Header()["Idempotency-Replayed"] != nil {
		return "replayed"
	}
	switch x.ErrorCode {
	case "idempotency_in_progress":
		return "in_progress"
	case "idempotency_error":
		return "other_body"
	case "idempotent_stream_completed":
		return "stream_completed"
	}
	return ""
}

// orNone is a label that says something.
func orNone(label string) string {
	if label == "" {
		return "none"
	}
	return label
}
