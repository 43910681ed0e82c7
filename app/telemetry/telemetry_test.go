package telemetry_test

import (
	"net/http"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"umg/app"
	"umg/app/catalog"
	"umg/app/provider"
	"umg/app/telemetry"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func recorder() (*telemetry.Tracer, *tracetest.SpanRecorder) {
	spans := tracetest.NewSpanRecorder()
	return telemetry.New(sdk.NewTracerProvider(sdk.WithSpanProcessor(spans))), spans
}

func route() *catalog.Route {
	return &catalog.Route{Provider: &catalog.Provider{ID: "alpha", BaseURL: "https://user:SECRET@api.example/v1?key=SECRET"}, Model: "up"}
}

func said(s sdk.ReadOnlySpan) map[string]any {
	all := map[string]any{}
	for _, one := range s.Attributes() {
		all[string(one.Key)] = one.Value.AsInterface()
	}
	return all
}

func TestACallAndItsAttemptsAreSpansOfTheCallersTrace(t *testing.T) {
	t.Parallel()
	tracer, spans := recorder()
	ctx, call := tracer.Call(t.Context(), telemetry.Chat, http.Header{"Traceparent": {parent}, "Tracestate": {"vendor=word"}}, time.Now())
	_, first := tracer.Attempt(ctx, route(), 1)
	first.End(&provider.Fault{Class: provider.ClassServer, Status: 503, Err: app.Errorf(app.Upstream, "upstream_error", "SECRET")})
	_, second := tracer.Attempt(ctx, route(), 2)
	second.End(nil)
	call.End(&telemetry.Ending{Model: "test/two", Provider: "alpha", Upstream: "up", Finish: "stop", Stream: true, FirstByte: time.Second, InputTokens: 9})
	ended := spans.Ended()
	if len(ended) != 3 {
		t.Fatalf("%d spans", len(ended))
	}
	whole := ended[2]
	if whole.Name() != "chat test/two" || whole.SpanContext().TraceID().String() != parent[3:35] || whole.Parent().SpanID().String() != parent[36:52] {
		t.Errorf("the call is %q in %s below %s", whole.Name(), whole.SpanContext().TraceID(), whole.Parent().SpanID())
	}
	if whole.SpanContext().TraceState().Len() != 0 {
		t.Error("what the caller's own tracing keeps is taken over")
	}
	for key, want := range map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.request.model": "test/two", "gen_ai.response.model": "up", "gen_ai.provider.name": "alpha",
		"gen_ai.usage.input_tokens": int64(9), "gen_ai.request.stream": true, "gen_ai.response.time_to_first_chunk": 1.0,
	} {
		if got := said(whole)[key]; got != want {
			t.Errorf("%s is %v", key, got)
		}
	}
	for i, want := range []map[string]any{
		{"http.request.method": "POST", "server.address": "api.example", "server.port": int64(443), "http.response.status_code": int64(503), "error.type": "server_error"},
		{"gen_ai.provider.name": "alpha", "http.request.resend_count": int64(1), "http.response.status_code": int64(200)},
	} {
		if ended[i].Parent().SpanID() != whole.SpanContext().SpanID() {
			t.Errorf("attempt %d is not below its call", i+1)
		}
		for key, value := range want {
			if got := said(ended[i])[key]; got != value {
				t.Errorf("attempt %d: %s is %v", i+1, key, got)
			}
		}
		for key, value := range said(ended[i]) {
			if text, ok := value.(string); ok && len(text) > 12 {
				t.Errorf("attempt %d: %s says %q", i+1, key, text)
			}
		}
	}
	if s := ended[0].Status(); s.Code != codes.Error || s.Description != "server_error" {
		t.Errorf("the failed attempt ended as %+v", s)
	}
}

func TestAParentThatIsNoneIsPassedOver(t *testing.T) {
	t.Parallel()
	for name, said := range map[string][]string{
		"absent": nil, "two": {parent, parent}, "zeros": {"00-00000000000000000000000000000000-0000000000000000-01"},
		"words": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b71692033zz-01"}, "long": {parent + "-and-so-on"}, "short": {"00-1-2-01"},
	} {
		tracer, spans := recorder()
		_, call := tracer.Call(t.Context(), telemetry.Chat, http.Header{"Traceparent": said}, time.Now())
		call.End(&telemetry.Ending{})
		if one := spans.Ended()[0]; one.Parent().IsValid() || one.Name() != "chat" {
			t.Errorf("%s: %q is below %s", name, one.Name(), one.Parent().SpanID())
		}
	}
}

func TestNoTracerCostsNothing(t *testing.T) { //nolint:paralleltest // other tests would be counted, too
	var none *telemetry.Tracer
	headers, ending, to := http.Header{"Traceparent": {parent}}, &telemetry.Ending{Model: "test/two"}, route()
	if n := testing.AllocsPerRun(100, func() {
		ctx, call := none.Call(t.Context(), telemetry.Chat, headers, time.Time{})
		_, attempt := none.Attempt(ctx, to, 1)
		attempt.End(nil)
		call.End(ending)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
