// Package telemetry makes the spans of calls and of their attempts at providers, with the names of OpenTelemetry for generative models.
// A nil Tracer makes none and costs nothing. Spans contain no text of a caller: no prompt, no key, no account and no message of a
// provider. New takes a TracerProvider, which has the exporter.
package telemetry

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"umg/app/catalog"
	"umg/app/provider"
)

// These are the operations of calls.
const (
	Chat     = "chat"             // Chat is a text answer in a style of messages.
	Generate = "generate_content" // Generate is any other call.
)

const (
	scope        = "umg"
	parentHeader = "traceparent" // The gateway neither reads nor sends tracestate.
	parentBytes  = 55            // A header of version 00 has this many bytes.
)

// Tracer makes the spans.
type Tracer struct{ tracer trace.Tracer }

// New makes a Tracer.
func New(p trace.TracerProvider) *Tracer { return &Tracer{tracer: p.Tracer(scope)} }

// Call is the span of one call.
type Call struct {
	span      trace.Span
	operation string
}

// Call begins the span of a call. Its parent is the trace in the headers of the caller, of which nothing else is used.
func (t *Tracer) Call(ctx context.Context, operation string, headers http.Header, at time.Time) (context.Context, *Call) {
	if t == nil {
		return ctx, nil
	}
	if parents := headers[http.CanonicalHeaderKey(parentHeader)]; len(parents) == 1 && len(parents[0]) == parentBytes {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{parentHeader: parents[0]})
	}
	//nolint:spancheck // Call.End ends it
	ctx, span := t.tracer.Start(ctx, operation, trace.WithTimestamp(at), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("gen_ai.operation.name", operation)))
	return ctx, &Call{span: span, operation: operation} //nolint:spancheck // the caller of Start ends the span
}

// Ending is the result of a call. Empty texts and numbers that are zero are left out of the span.
type Ending struct {
	RequestID string
	Model     string // Model is the public id, or empty if the catalog does not know it.
	Style     string
	Provider  string // Provider answered, or was asked last if no provider answered.
	Upstream  string // Upstream is the provider's name of the model.
	Outcome   string
	Finish    string
	Error     string // Error is the class of a fault, or the gateway's own code.
	Output    string // Output is the kind of output, or empty for text.
	Stream    bool
	Attempts  int
	FirstByte time.Duration

	InputTokens, OutputTokens, ReasoningTokens int64 // Output tokens include reasoning tokens.
	CacheReadTokens, CacheWriteTokens          int64 // Tokens of the cache are parts of the input tokens.
}

// End ends the span.
func (c *Call) End(e *Ending) {
	if c == nil {
		return
	}
	defer c.span.End()
	if !c.span.IsRecording() {
		return
	}
	attributes := make(spanAttributes, 0, 20)
	attributes.text("umg.request_id", e.RequestID)
	if e.Model != "" {
		c.span.SetName(c.operation + " " + e.Model)
		attributes.text("gen_ai.request.model", e.Model)
	}
	attributes.text("gen_ai.provider.name", e.Provider)
	attributes.text("gen_ai.response.model", e.Upstream)
	attributes.text("gen_ai.output.type", e.Output)
	attributes.text("umg.style", e.Style)
	attributes.text("umg.outcome", e.Outcome)
	attributes.number("umg.attempts", int64(e.Attempts))
	if e.Finish != "" {
		attributes = append(attributes, attribute.StringSlice("gen_ai.response.finish_reasons", []string{e.Finish}))
	}
	if e.Stream {
		attributes = append(attributes, attribute.Bool("gen_ai.request.stream", true))
		if e.FirstByte > 0 {
			attributes = append(attributes, attribute.Float64("gen_ai.response.time_to_first_chunk", e.FirstByte.Seconds()))
		}
	}
	attributes.number("gen_ai.usage.input_tokens", e.InputTokens)
	attributes.number("gen_ai.usage.output_tokens", e.OutputTokens)
	attributes.number("gen_ai.usage.reasoning.output_tokens", e.ReasoningTokens)
	attributes.number("gen_ai.usage.cache_read.input_tokens", e.CacheReadTokens)
	attributes.number("gen_ai.usage.cache_creation.input_tokens", e.CacheWriteTokens)
	attributes.failure(c.span, e.Error)
	c.span.SetAttributes(attributes...)
}

// Attempt is the span of one attempt at a provider, below that of its call.
type Attempt struct{ span trace.Span }

// Attempt begins the span of an attempt, the first or a later one. What is sent with the context names it as its parent.
func (t *Tracer) Attempt(ctx context.Context, r *catalog.Route, number int) (context.Context, *Attempt) {
	if t == nil {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, http.MethodPost+" "+r.Provider.ID, trace.WithSpanKind(trace.SpanKindClient))
	if span.IsRecording() {
		attributes := make(spanAttributes, 0, 6)
		attributes.text("http.request.method", http.MethodPost)
		attributes.text("gen_ai.provider.name", r.Provider.ID)
		attributes.text("gen_ai.request.model", r.Model)
		attributes.number("http.request.resend_count", int64(number-1))
		attributes.address(r.BaseURL())
		span.SetAttributes(attributes...)
	}
	return ctx, &Attempt{span: span}
}

// End ends the span: nil for an answer.
func (a *Attempt) End(f *provider.Fault) {
	if a == nil {
		return
	}
	defer a.span.End()
	if !a.span.IsRecording() {
		return
	}
	attributes := make(spanAttributes, 0, 2)
	if f == nil {
		attributes.number("http.response.status_code", http.StatusOK)
	} else {
		attributes.number("http.response.status_code", int64(f.Status))
		attributes.failure(a.span, string(f.Class))
	}
	a.span.SetAttributes(attributes...)
}

// spanAttributes collects the attributes of a span.
type spanAttributes []attribute.KeyValue

func (s *spanAttributes) text(key, value string) {
	if value != "" {
		*s = append(*s, attribute.String(key, value))
	}
}

func (s *spanAttributes) number(key string, n int64) {
	if n != 0 {
		*s = append(*s, attribute.Int64(key, n))
	}
}

// failure marks a span as failed. It leaves out the message of the failure, in which a provider may repeat the prompt.
func (s *spanAttributes) failure(span trace.Span, class string) {
	if class != "" {
		s.text("error.type", class)
		span.SetStatus(codes.Error, class)
	}
}

// address adds the host and the port of a provider, without other parts of its address.
func (s *spanAttributes) address(base string) {
	u, err := url.Parse(base)
	if err != nil {
		return
	}
	s.text("server.address", u.Hostname())
	port, err := strconv.Atoi(u.Port())
	switch {
	case err == nil:
	case u.Scheme == "http":
		port = 80
	default:
		port = 443
	}
	s.number("server.port", int64(port))
}
