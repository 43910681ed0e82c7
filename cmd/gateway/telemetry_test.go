package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"umg/app/telemetry"
)

// collectorOf starts a collector with the given responses, and traces that go to it.
func collectorOf(t *testing.T, log *slog.Logger, answer http.HandlerFunc) *traces {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	all, err := openTraces(t.Context(), telemetryFlags{OTLPEndpoint: s.URL}, log)
	if err != nil || all == nil {
		t.Fatal(all, err)
	}
	return all
}

func TestACollectorThatHangsDelaysNoCallAndFillsNoMemory(t *testing.T) { //nolint:paralleltest // looks at the heap of the process
	release := make(chan struct{})
	all := collectorOf(t, slog.New(slog.DiscardHandler), func(http.ResponseWriter, *http.Request) { <-release })
	defer close(release)
	tracer := all.tracer()
	end := func() {
		ctx, call := tracer.Call(context.Background(), telemetry.Chat, nil, time.Now())
		_ = ctx
		call.End(&telemetry.Ending{Model: strings.Repeat("m", 1000), Outcome: "succeeded"})
	}
	var before, after runtime.MemStats
	for range 2 * spansQueuedMax {
		end() // The queue is full, and a batch is being sent.
	}
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 20_000 {
		end() // The call would never end if it waited for the collector.
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	began := time.Now()
	all.close()
	if took := time.Since(began); took > 10*spansFlushMax {
		t.Errorf("the end took %s", took)
	}
}

func TestARejectingCollectorIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var logged strings.Builder
	all := collectorOf(t, slog.New(slog.NewTextHandler(&logged, nil)), func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	})
	defer all.close()
	tracer := all.tracer()
	for range 3 {
		_, call := tracer.Call(t.Context(), telemetry.Chat, nil, time.Now())
		call.End(&telemetry.Ending{})
		if err := all.provider.ForceFlush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(logged.String(), "trace export failed"); n != 1 || all.sender.lost.Load() != 3 || all.sender.sent.Load() != 0 {
		t.Errorf("%d spans are lost, %d sent, and the log has %d warnings: %s", all.sender.lost.Load(), all.sender.sent.Load(), n, logged.String())
	}
}

// TestTheHeadersOfACollectorComeFromAFileOrTheEnvironment sends a span for each way to configure headers, and checks the
// received headers.
func TestTheHeadersOfACollectorComeFromAFileOrTheEnvironment(t *testing.T) { //nolint:paralleltest // sets the environment
	const all, traces = "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
	path := filepath.Join(t.TempDir(), "headers")
	if err := os.WriteFile(path, []byte("Authorization=Basic%20Q0FOQVJZ, x-tenant = ours\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		environment             map[string]string
		authorization, ofTenant string
	}{
		"none":                 {nil, "", ""},
		"a file":               {map[string]string{all + fileSuffix: path}, "Basic Q0FOQVJZ", "ours"},
		"a file of traces":     {map[string]string{traces + fileSuffix: path, all: "x-tenant=another"}, "Basic Q0FOQVJZ", "ours"},
		"the environment":      {map[string]string{all: "x-tenant=another"}, "", "another"},
		"an environment twice": {map[string]string{all + fileSuffix: path, traces: "x-tenant=another"}, "", "another"},
	} {
		t.Run(name, func(t *testing.T) { //nolint:paralleltest // sets the environment
			for variable, value := range c.environment {
				t.Setenv(variable, value)
			}
			came := make(chan http.Header, 1)
			sent := collectorOf(t, slog.New(slog.DiscardHandler), func(_ http.ResponseWriter, r *http.Request) { came <- r.Header })
			_, call := sent.tracer().Call(t.Context(), telemetry.Chat, nil, time.Now())
			call.End(&telemetry.Ending{})
			sent.close()
			if got := <-came; got.Get("Authorization") != c.authorization || got.Get("X-Tenant") != c.ofTenant {
				t.Errorf("the collector gets %v", got)
			}
		})
	}
	for name, wrong := range map[string]string{
		"no value": "CANARY", "no name": "=CANARY", "a space in a name": "a b=CANARY", "a broken escape": "x-tenant=%zzCANARY", "a line": "x-tenant=CANARY%0Ab",
	} {
		t.Setenv(all, wrong)
		_, err := openTraces(t.Context(), telemetryFlags{OTLPEndpoint: "http://127.0.0.1:1"}, slog.New(slog.DiscardHandler))
		if err == nil || !strings.Contains(err.Error(), all) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhereTracesGo(t *testing.T) {
	for name, c := range map[string]struct {
		flags     telemetryFlags
		off, want string
	}{
		"nowhere":       {telemetryFlags{}, "", ""},
		"a collector":   {telemetryFlags{OTLPEndpoint: "http://collector:4318/"}, "", "http://collector:4318/v1/traces"},
		"whole address": {telemetryFlags{OTLPEndpoint: "http://collector:4318", OTLPTraces: "https://traces.example/in"}, "", "https://traces.example/in"},
		"switched off":  {telemetryFlags{OTLPEndpoint: "http://collector:4318"}, "true", ""},
	} {
		t.Setenv("OTEL_SDK_DISABLED", c.off)
		if got := c.flags.address(); got != c.want || c.flags.checkTelemetry() != nil {
			t.Errorf("%s: %q, %v", name, got, c.flags.checkTelemetry())
		}
	}
	for _, wrong := range []string{"collector:4318", "grpc://collector:4317", "http://"} {
		if (&telemetryFlags{OTLPEndpoint: wrong}).checkTelemetry() == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}
