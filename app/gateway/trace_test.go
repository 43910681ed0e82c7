package gateway_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"umg/app"
	"umg/app/gateway"
	"umg/app/tracing"
)

func TestACallTellsItsTimeAndItsAttempts(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	b := setup(t, startMoney, func(o *gateway.Options) {
		o.Tracer = tracing.New(sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)))
	})
	b.fault("alpha", "status=503;slow-first=30ms")
	call := b.call("test/two", "echo: found", "")
	timing := &gateway.Timing{}
	call.Timing = timing
	report, err := b.gateway.Generate(t.Context(), call, &sink{})
	must(t, err)
	if n := len(report.Tries); n != report.Attempts || n < 2 || report.Tries[0].Fault != "server_error" || report.Tries[n-1].Fault != "" ||
		report.Tries[n-1].Provider != "beta" || report.Fault != "server_error" {
		t.Errorf("%d attempts: %+v, the last fault is %q", report.Attempts, report.Tries, report.Fault)
	}
	var waited time.Duration
	for _, try := range report.Tries {
		waited += try.Waited
	}
	if report.Upstream < waited || report.Upstream > report.Duration || timing.Upstream(time.Now()) != report.Upstream {
		t.Errorf("of %s %s went by waiting for providers, %s in attempts, and the caller is told %s",
			report.Duration, report.Upstream, waited, timing.Upstream(time.Now()))
	}
	if report.Own <= 0 || report.Own+report.Upstream > report.Duration {
		t.Errorf("the gateway took %s itself, the provider %s, all together %s", report.Own, report.Upstream, report.Duration)
	}
	if n := len(spans.Ended()); n != 1+report.Attempts {
		t.Errorf("%d spans ended", n)
	}
}

// BenchmarkTracing is a call as it is, and one whose spans are made and dropped.
func BenchmarkTracing(b *testing.B) {
	drop := tracing.New(sdk.NewTracerProvider(sdk.WithSpanProcessor(sdk.NewSimpleSpanProcessor(nowhere{}))))
	for name, tracer := range map[string]*tracing.Tracer{"Off": nil, "On": drop} {
		b.Run(name, func(b *testing.B) {
			bench := setup(b, 1000*app.Dollar, func(o *gateway.Options) { o.Tracer = tracer })
			bench.answerWith(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":`+
					`{"role":"assistant","content":"word"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`)
			}))
			call := bench.call("test/fast", "some words", `,"max_tokens":300`)
			b.ReportAllocs()
			for b.Loop() {
				call.ID, call.Timing = bench.ids.New("req"), &gateway.Timing{}
				if _, err := bench.gateway.Generate(b.Context(), call, &sink{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// nowhere drops spans.
type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []sdk.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                        { return nil }
