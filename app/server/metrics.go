package server

import (
	"cmp"
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"umg/api"
	"umg/app"
	"umg/app/meter"
)

// metrics are what operators graph. Labels are routes, models, providers, styles, outcomes and classes of faults, whose number the
// operator or this program decides on; never keys, accounts or anything else a caller can invent.
type metrics struct {
	inFlight      atomic.Int64
	requests      *prometheus.CounterVec
	duration      *prometheus.HistogramVec
	errors        *prometheus.CounterVec
	text          *prometheus.CounterVec
	firstToken    *prometheus.HistogramVec
	overhead      *prometheus.HistogramVec
	tokens        *prometheus.CounterVec
	cost          *prometheus.CounterVec
	retries       *prometheus.CounterVec
	attempts      *prometheus.CounterVec
	upstreamFirst *prometheus.HistogramVec
	hedges        *prometheus.CounterVec
	recoveries    *prometheus.CounterVec
	fallbacks     *prometheus.CounterVec
	implausible   *prometheus.CounterVec
	unpriced      *prometheus.CounterVec
	replays       *prometheus.CounterVec
	routes        seriesCache[routeLabels, *routeSeries]
	texts         seriesCache[textLabels, *textSeries]
	requestsGauge prometheus.GaugeFunc
	apiCallsGauge prometheus.GaugeFunc
}

var (
	secondsBuckets  = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	overheadBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1}
)

func newMetrics(o Options) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	m := &metrics{
		requests: counter("umg_http_requests_total", "Requests answered, by route and class of status.", "method", "route", "status"),
		duration: histogram("umg_http_request_duration_seconds", "Time from the first byte of a request to the last of its response.",
			secondsBuckets, "route"),
		errors: counter("umg_http_errors_total", "Requests that failed, by kind of error.", "kind"),
		text:   counter("umg_text_requests_total", "Text calls.", "model", "provider", "style", "outcome"),
		firstToken: histogram("umg_gen_ai_server_time_to_first_token_seconds", "Time until the client got the first byte of a text answer.",
			secondsBuckets, "model"),
		overhead: histogram("umg_gateway_overhead_seconds",
			"Time of a text call in the gateway, without the request upload and without providers.", overheadBuckets, "style"),
		tokens:   counter("umg_gen_ai_token_usage_total", "Tokens charged, by model and meter.", "model", "meter"),
		cost:     counter("umg_cost_dollars_total", "Dollars charged for text calls, by model.", "model"),
		retries:  counter("umg_upstream_retries_total", "Attempts after the first one of a text call.", "model"),
		attempts: counter("umg_upstream_attempts_total", "Attempts of text calls at providers.", "model", "provider", "fault"),
		upstreamFirst: histogram("umg_upstream_time_to_first_token_seconds", "Time until the response of a provider had content.",
			secondsBuckets, "provider"),
		hedges:     counter("umg_text_hedges_total", "Text calls with a second, parallel attempt.", "model"),
		recoveries: counter("umg_text_recoveries_total", "Interrupted streams that another route continued.", "model"),
		fallbacks:  counter("umg_text_fallbacks_total", "Text calls that a fallback model served, by the requested model.", "model"),
		implausible: counter("umg_usage_implausible_total",
			"Responses whose provider reported implausible usage. An estimate was charged in its place.", "provider", "model"),
		unpriced: counter("umg_usage_unpriced_total",
			"Responses whose provider reported something that no usage reader or no price knows. It was not charged.", "provider", "model"),
		replays: counter("umg_idempotent_replays_total", "Requests that reused their Idempotency-Key, by what they got.", "result"),
	}
	m.routes.resolve = func(l routeLabels) *routeSeries {
		status := strconv.Itoa(l.class) + "xx"
		return &routeSeries{requests: m.requests.WithLabelValues(l.method, l.route, status), duration: m.duration.WithLabelValues(l.route)}
	}
	m.texts.resolve = func(l textLabels) *textSeries {
		return &textSeries{text: m.text.WithLabelValues(l.model, l.provider, l.style, l.outcome)}
	}
	m.requestsGauge = prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "umg_http_requests_in_flight", Help: "Requests that are running."},
		func() float64 { return float64(m.inFlight.Load()) })
	m.apiCallsGauge = prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "umg_api_requests_in_flight", Help: "API requests that are running."},
		func() float64 { return float64(o.API.InFlight()) })
	return m
}

// Collectors are the metrics of requests and of the process.
func (s *Server) Collectors() []prometheus.Collector {
	m := s.metrics
	return []prometheus.Collector{
		m.requests, m.duration, m.errors, m.text, m.firstToken, m.overhead, m.tokens, m.cost, m.retries, m.attempts, m.upstreamFirst,
		m.hedges, m.recoveries, m.fallbacks, m.implausible, m.unpriced, m.replays, m.requestsGauge, m.apiCallsGauge,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	}
}

// tokenMeters are the meters that count tokens.
var tokenMeters = [...]meter.Meter{
	meter.InputTokens, meter.CacheReadTokens, meter.CacheWriteTokens, meter.OutputTokens, meter.ReasoningTokens,
}

func (m *metrics) observe(x *endedRequest) {
	route := m.routes.get(routeLabels{method(x.request.Method), x.route, x.status / 100})
	route.requests.Inc()
	route.duration.Observe(x.took.Seconds())
	if x.Err != nil {
		m.errors.WithLabelValues(api.KindWord(x.Err.Kind)).Inc()
	}
	if result := replayResult(x); result != "" {
		m.replays.WithLabelValues(result).Inc()
	}
	if x.Model != "" && x.Style != "" {
		m.observeText(x.RequestLog)
	}
}

func (m *metrics) observeText(x *api.RequestLog) {
	s := m.texts.get(textLabels{x.Model, cmp.Or(x.Result.Provider, "none"), x.Style, x.Result.Outcome})
	s.text.Inc()
	if x.FirstByte > 0 {
		s.firstToken.of(func() prometheus.Observer { return m.firstToken.WithLabelValues(x.Model) }).Observe(x.FirstByte.Seconds())
	}
	if x.Overhead > 0 {
		s.overhead.of(func() prometheus.Observer { return m.overhead.WithLabelValues(x.Style) }).Observe(x.Overhead.Seconds())
	}
	for i, counted := range tokenMeters {
		if n := x.Result.Usage[counted]; n > 0 {
			tokens := func() prometheus.Counter { return m.tokens.WithLabelValues(x.Model, counted.String()) }
			s.tokens[i].of(tokens).Add(float64(n))
		}
	}
	if x.Result.Cost > 0 {
		cost := func() prometheus.Counter { return m.cost.WithLabelValues(x.Model) }
		s.cost.of(cost).Add(float64(x.Result.Cost) / float64(app.Dollar))
	}
	if x.Result.Hedged {
		m.hedges.WithLabelValues(x.Model).Inc()
	}
	if x.Result.Recovered > 0 {
		m.recoveries.WithLabelValues(x.Model).Add(float64(x.Result.Recovered))
	}
	if x.Result.FallbackOf != "" {
		m.fallbacks.WithLabelValues(x.Result.FallbackOf).Inc()
	}
	if x.Result.Implausible {
		m.implausible.WithLabelValues(cmp.Or(x.Result.Provider, "none"), x.Model).Inc()
	}
	if x.Result.Unpriced {
		m.unpriced.WithLabelValues(cmp.Or(x.Result.Provider, "none"), x.Model).Inc()
	}
	if x.Result.Attempts > 1 {
		m.retries.WithLabelValues(x.Model).Add(float64(x.Result.Attempts - 1))
	}
	for i := range x.Result.Tries {
		try := &x.Result.Tries[i]
		if try.Fault == "" && try.Provider == x.Result.Provider { // This is the usual attempt: the one that answered.
			answered := func() prometheus.Counter { return m.attempts.WithLabelValues(x.Model, try.Provider, "none") }
			s.answered.of(answered).Inc()
			first := func() prometheus.Observer { return m.upstreamFirst.WithLabelValues(try.Provider) }
			s.upstreamFirst.of(first).Observe(try.Waited.Seconds())
			continue
		}
		m.attempts.WithLabelValues(x.Model, try.Provider, cmp.Or(string(try.Fault), "none")).Inc()
		if try.Fault == "" {
			m.upstreamFirst.WithLabelValues(try.Provider).Observe(try.Waited.Seconds())
		}
	}
}

// replayResult names what a request got that reused its Idempotency-Key. It is empty for all others.
func replayResult(x *endedRequest) string {
	if x.header["Idempotency-Replayed"] != nil {
		return "replayed"
	}
	switch x.ErrorCode() {
	case "idempotency_in_progress":
		return "in_progress"
	case "idempotency_error":
		return "other_body"
	case "idempotent_stream_completed":
		return "stream_completed"
	}
	return ""
}
