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

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/net/http/httpguts"

	"umg/app/telemetry"
	"umg/app/telemetry/metric"
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
	for _, variable := range collectorSecrets {
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

// collector returns the metrics of spans.
func (s *spanSender) collector() prometheus.Collector {
	return metric.NewCollector(func(w *metric.Writer) {
		w.Counter("umg_trace_spans_exported_total", "Spans that the collector accepted.", s.sent.Load())
		w.Counter("umg_trace_spans_dropped_total", "Spans that the collector did not accept.", s.lost.Load())
	})
}
