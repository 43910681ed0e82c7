package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/net/http/httpguts"

	"umg/app/provider/health"
	"umg/app/server"
	"umg/app/telemetry"
)

// These limits bound the cost of traces. A slow or missing collector loses spans; calls never wait for it.
const (
	spansQueuedMax     = 2048
	spansSentMax       = 512 // One request has at most this many spans.
	spansSentEvery     = 2 * time.Second
	spansSendMax       = 5 * time.Second // One request takes at most this long, including its retries.
	spansFlushMax      = time.Second     // At the end of the process, the last spans get this long.
	spanAttributesMax  = 32
	spanTextBytesMax   = 256
	collectorBodyBytes = 64 << 10 // At most this much of a collector's response is read.
)

// address is the URL that receives spans; empty means none.
func (f *telemetryFlags) address() string {
	switch {
	case strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true"), os.Getenv("OTEL_TRACES_EXPORTER") == "none":
		return ""
	case f.OTLPTraces != "":
		return f.OTLPTraces
	case f.OTLPEndpoint != "":
		return strings.TrimSuffix(f.OTLPEndpoint, "/") + "/v1/traces"
	}
	return ""
}

// traces sends the spans of the process. A nil one makes none.
type traces struct {
	provider *sdktrace.TracerProvider
	sender   *spanSender
}

func openTraces(ctx context.Context, f telemetryFlags, log *slog.Logger) (*traces, error) {
	address := f.address()
	if address == "" {
		return nil, nil //nolint:nilnil // none is what a gateway without a collector has
	}
	headers, err := collectorHeaders()
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(address), otlptracehttp.WithTimeout(spansSendMax),
		otlptracehttp.WithHeaders(headers),
		otlptracehttp.WithMaxResponseSize(collectorBodyBytes), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
			Enabled: true, InitialInterval: time.Second, MaxInterval: time.Second, MaxElapsedTime: spansSendMax,
		}))
	if err != nil {
		return nil, fmt.Errorf("--otlp-endpoint: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", "unified-model-gateway")), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	sender := &spanSender{exporter: exporter, log: log}
	limits := sdktrace.NewSpanLimits()
	limits.AttributeCountLimit, limits.AttributeValueLengthLimit = spanAttributesMax, spanTextBytesMax
	return &traces{sender: sender, provider: sdktrace.NewTracerProvider(
		sdktrace.WithResource(about), sdktrace.WithRawSpanLimits(limits),
		sdktrace.WithBatcher(sender, sdktrace.WithMaxQueueSize(spansQueuedMax), sdktrace.WithMaxExportBatchSize(spansSentMax),
			sdktrace.WithBatchTimeout(spansSentEvery), sdktrace.WithExportTimeout(spansSendMax)),
	)}, nil
}

// collectorHeaders are the headers that go to the collector with each batch, from the environment or from a file: names and
// values in OpenTelemetry's format, NAME=VALUE,NAME=VALUE with percent-encoded values. OpenTelemetry's package would log a
// malformed value, so this returns an error that names the variable and no value.
func collectorHeaders() (map[string]string, error) {
	var chosen map[string]string
	for _, variable := range collectorSecrets() {
		text, _, err := secretOf(variable)
		if err != nil {
			return nil, err
		}
		headers, err := parseHeaders(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", variable, err)
		}
		if chosen == nil && len(headers) > 0 {
			chosen = headers
		}
	}
	return chosen, nil
}

// parseHeaders parses a list of headers. Its errors identify a wrong header by its number, because each may contain a secret.
func parseHeaders(text string) (map[string]string, error) {
	headers := map[string]string{}
	for i, pair := range strings.Split(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, coded, found := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(coded))
		if err != nil || !found || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("header %d is not NAME=VALUE with the value in percent-encoding", i+1)
		}
		headers[name] = value
	}
	return headers, nil
}

// tracer makes the spans of calls. It is nil when no collector is configured.
func (t *traces) tracer() *telemetry.Tracer {
	if t == nil {
		return nil
	}
	return telemetry.New(t.provider)
}

// close sends the remaining spans, if the collector accepts them at once.
func (t *traces) close() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), spansFlushMax)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // The sender has logged lost spans.
}

// spanSender counts the spans that the collector accepted. It logs when the collector begins to reject spans and when it
// accepts them again, not each time.
type spanSender struct {
	exporter *otlptrace.Exporter
	log      *slog.Logger
	sent     atomic.Int64
	lost     atomic.Int64
	away     atomic.Bool
}

// ExportSpans sends a batch.
func (s *spanSender) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := s.exporter.ExportSpans(ctx, spans)
	if err != nil {
		s.lost.Add(int64(len(spans)))
		if !s.away.Swap(true) {
			s.log.Warn("trace export failed, dropping spans", "error", err)
		}
		return nil
	}
	s.sent.Add(int64(len(spans)))
	if s.away.Swap(false) {
		s.log.Info("trace export recovered")
	}
	return nil
}

// Shutdown ends the exporter.
func (s *spanSender) Shutdown(ctx context.Context) error { return s.exporter.Shutdown(ctx) }

// figures are the metrics of spans.
func (t *traces) figures() []server.Metric {
	if t == nil {
		return nil
	}
	return []server.Metric{
		{Name: "umg_trace_spans_sent_total", Help: "Spans that the collector took.", Value: t.sender.sent.Load},
		{Name: "umg_trace_spans_lost_total", Help: "Spans that it did not take.", Value: t.sender.lost.Load},
	}
}

// upstreamTables are the metrics of providers, computed when /metrics is read. Their rows are the routes of the catalog.
func (h *gatewayServer) upstreamTables() []server.MetricVec {
	gauge := func(name, help string) server.Column { return server.Column{Name: name, Help: help, Gauge: true} }
	truth := func(is bool) float64 {
		if is {
			return 1
		}
		return 0
	}
	return []server.MetricVec{{
		Labels: []string{"provider", "upstream_model"},
		Columns: []server.Column{
			gauge("umg_upstream_ejected", "1 while calls are kept away from a provider's model, but for probes, because they failed."),
			{Name: "umg_upstream_ejections_total", Help: "Times that a provider's model was ejected."},
			gauge("umg_upstream_in_flight", "Attempts under way."),
			gauge("umg_upstream_calls_minute", "Attempts of the last minute."),
			gauge("umg_upstream_failures_minute", "Of them, those that count against the provider."),
			gauge("umg_upstream_credentials_resting", "Credentials that are not used for the model for a while."),
		},
		Rows: func(row func([]string, ...float64)) {
			for _, u := range h.health.Report().Upstreams {
				ejected := truth(u.State == health.StateEjected || u.State == health.StateHalfOpen)
				row([]string{u.Provider, u.Model}, ejected, float64(u.Ejections), float64(u.InFlight), float64(u.CallsMinute),
					float64(u.FailuresMinute), float64(len(u.Resting)))
			}
		},
	}, {
		Labels: []string{"provider"},
		Columns: []server.Column{
			gauge("umg_provider_in_flight", "Attempts under way at a provider."),
			gauge("umg_provider_credentials_resting", "Credentials that are not used at all for a while."),
			gauge("umg_provider_retries_left", "What is left of a provider's retry budget."),
		},
		Rows: func(row func([]string, ...float64)) {
			for _, s := range h.health.Report().Suppliers {
				row([]string{s.Provider}, float64(s.InFlight), float64(len(s.Resting)), float64(s.RetriesLeft))
			}
		},
	}, {
		Labels:  []string{"kind", "id"},
		Columns: []server.Column{gauge("umg_paused", "1 for each model and provider that an operator has paused.")},
		Rows: func(row func([]string, ...float64)) {
			for _, p := range h.health.Pauses() {
				row([]string{p.Kind, p.ID}, 1)
			}
		},
	}}
}
