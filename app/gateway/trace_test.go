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
	"umg/app/telemetry"
)

func TestACallTellsItsTimeAndItsAttempts(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	b := setup(t, startMoney, func(o *gateway.Options) {
		o.Tracer = telemetry.New(sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)))
	})
	b.fault("alpha", "status=503;slow-first=30ms")
	call := b.call("test/two", "echo: found", "")
	timing := &gateway.Timing{}
	call.Timing, call.AuthDuration = timing, time.Millisecond
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
		t.Errorf("of %s %s went by waiting for providers, %s in attempts, and the caller got %s",
			report.Duration, report.Upstream, waited, timing.Upstream(time.Now()))
	}
	if report.GatewayDuration <= 0 || report.GatewayDuration+report.Upstream > report.Duration {
		t.Errorf("the gateway took %s itself, the provider %s, all together %s", report.GatewayDuration, report.Upstream, report.Duration)
	}
	if n := len(spans.Ended()); n != 1+report.Attempts {
		t.Errorf("%d spans ended", n)
	}
	trail := b.record().Trail
	if trail.Door != time.Millisecond || trail.Checked <= 0 || trail.Admitted < trail.Checked || trail.Funded < trail.Admitted {
		t.Errorf("the steps of the record: %+v", trail)
	}
	first, last := trail.Attempts[0], trail.Attempts[len(trail.Attempts)-1]
	if first.Provider != "alpha" || first.Status != 503 || first.Cause != "server_error" || first.Start < trail.Funded || first.First != 0 ||
		first.Took < 30*time.Millisecond || last.Provider != "beta" || last.Status != 200 || last.Cause != "" ||
		last.Start < first.Start+first.Took || last.First <= 0 || last.Took != 0 {
		t.Errorf("the attempts of the record: %+v", trail.Attempts)
	}
}

// TestTheRecordHidesWhatIsTheOperators keeps from an account that a credential of the gateway was refused.
func TestTheRecordHidesWhatIsTheOperators(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	b.fault("alpha", "status=401")
	r, _, err := b.generate(b.call("test/two", "echo: found", streamed))
	must(t, err)
	first := b.record().Trail.Attempts[0]
	if r.Tries[0].Fault != "credential" || first.Provider != "alpha" || first.Cause != "unavailable" || first.Status != 0 || first.Took <= 0 {
		t.Errorf("%+v of %+v", first, r.Tries)
	}
}

// BenchmarkTracing is a call as it is, and one whose spans are made and dropped.
func BenchmarkTracing(b *testing.B) {
	drop := telemetry.New(sdk.NewTracerProvider(sdk.WithSpanProcessor(sdk.NewSimpleSpanProcessor(nowhere{}))))
	for name, tracer := range map[string]*telemetry.Tracer{"Off": nil, "On": drop} {
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
