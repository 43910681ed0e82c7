package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"umg/e2e/harness"
)

const (
	// inventions is the number of invented models, paths and methods.
	inventions   = 1000
	tracedModel  = "meridian/atlas-small"
	tracedPrompt = "canary-prompt-7f3a"
	tracedParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
)

// spanCollector is a collector of traces that can be made to hang.
type spanCollector struct {
	url   string
	hangs atomic.Bool
	// waiting counts the requests that hang.
	waiting atomic.Int64
	release chan struct{}
	came    chan struct{}

	mu    sync.Mutex
	raw   bytes.Buffer
	spans []*otlp.Span
}

func newSpanCollector(t *testing.T) *spanCollector {
	t.Helper()
	r := &spanCollector{release: make(chan struct{}), came: make(chan struct{}, 1)}
	s := httptest.NewServer(r)
	r.url = s.URL
	t.Cleanup(func() {
		close(r.release)
		s.Close()
	})
	return r
}

func (r *spanCollector) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var batch collector.ExportTraceServiceRequest
	if err != nil || req.URL.Path != "/v1/traces" || proto.Unmarshal(body, &batch) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if r.hangs.Load() {
		r.waiting.Add(1)
		<-r.release
		return
	}
	r.mu.Lock()
	r.raw.Write(body)
	for _, resource := range batch.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			r.spans = append(r.spans, scope.GetSpans()...)
		}
	}
	r.mu.Unlock()
	w.Header().Set("Content-Type", "application/x-protobuf")
	select {
	case r.came <- struct{}{}:
	default:
	}
}

// call waits for the span of a request, and returns it with those below it in the order of their beginning.
func (r *spanCollector) call(t *testing.T, requestID string) (whole *otlp.Span, attempts []*otlp.Span) {
	t.Helper()
	for deadline := time.After(harness.CallTimeMax); ; {
		r.mu.Lock()
		spans := slices.Clone(r.spans)
		r.mu.Unlock()
		for _, s := range spans {
			if spanSays(s)["umg.request_id"] == requestID {
				whole = s
			}
		}
		if whole != nil {
			for _, s := range spans {
				if bytes.Equal(s.GetParentSpanId(), whole.GetSpanId()) {
					attempts = append(attempts, s)
				}
			}
			slices.SortFunc(attempts, func(a, b *otlp.Span) int { return int(a.GetStartTimeUnixNano()) - int(b.GetStartTimeUnixNano()) })
			return whole, attempts
		}
		select {
		case <-r.came:
		case <-deadline:
			t.Fatalf("no span of %s came; there are %d", requestID, len(spans))
		}
	}
}

// spanSays are the attributes of a span as texts.
func spanSays(s *otlp.Span) map[string]string {
	all := map[string]string{}
	for _, one := range s.GetAttributes() {
		v := one.GetValue()
		switch {
		case v.GetArrayValue() != nil:
			for _, item := range v.GetArrayValue().GetValues() {
				all[one.GetKey()] += item.GetStringValue()
			}
		case v.GetStringValue() != "":
			all[one.GetKey()] = v.GetStringValue()
		case v.GetDoubleValue() != 0:
			all[one.GetKey()] = fmt.Sprint(v.GetDoubleValue())
		case v.GetBoolValue():
			all[one.GetKey()] = "true"
		default:
			all[one.GetKey()] = strconv.FormatInt(v.GetIntValue(), 10)
		}
	}
	return all
}

// spanHas compares attributes of a span.
func spanHas(t *testing.T, s *otlp.Span, want ...string) {
	t.Helper()
	have := spanSays(s)
	for i := 0; i < len(want); i += 2 {
		if have[want[i]] != want[i+1] {
			t.Errorf("%s: %s is %q, want %q", s.GetName(), want[i], have[want[i]], want[i+1])
		}
	}
}

// measured are the series of the gateway's own metrics.
func measured(t *testing.T, g *harness.Gateway) map[string]float64 {
	t.Helper()
	resp, err := harness.HTTPClient.Get(g.MetricsURL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("/metrics: %d %v", resp.StatusCode, err)
	}
	all := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok && strings.HasPrefix(name, "umg_") {
			all[name+"}"], _ = strconv.ParseFloat(value, 64)
		} else if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(name, "umg_") {
			all[name], _ = strconv.ParseFloat(value, 64)
		}
	}
	return all
}

// watched is a gateway of its own, whose spans go to a collector of the test's.
func watched(t *testing.T) (*harness.Gateway, *spanCollector) {
	t.Helper()
	r := newSpanCollector(t)
	dir := harness.DemoDir(t)
	bin, err := harness.GatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
	g, err := harness.StartDemoBinary(bin, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.url}, dir, "--token-interval", "1ms", "--render-time", "0s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	return g, r
}

func TestWhatOperatorsSeeOfCalls(t *testing.T) {
	t.Parallel()
	g, r := watched(t)
	send := func(prompt string, members ...string) harness.Response {
		t.Helper()
		return g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(tracedModel, prompt, members...), "X-Error-Status", "standard", "Traceparent", tracedParent)
	}
	plain := send(tracedPrompt)
	streamed := send(tracedPrompt+" again", `"stream":true`)
	rescued := send("simulate: status=503;times=2;key=rescued\n" + tracedPrompt + " once more")
	failed := send("simulate: status=500;code=" + tracedPrompt + "\n" + tracedPrompt)
	unknown := g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(tracedPrompt, "x"), "X-Error-Status", "standard")
	film := g.Call(t, "POST", "/v1/videos", `{"model":"meridian/reel","prompt":"`+tracedPrompt+`","size":"1280x720","seconds":"4"}`, "Traceparent", tracedParent)
	for i, a := range []harness.Response{plain, streamed, rescued, failed, unknown, film} {
		if want := []int{200, 200, 200, 502, 404, 200}[i]; a.Status != want {
			t.Fatalf("call %d: status %d: %s", i, a.Status, a.Body)
		}
		tellsItsTime(t, i, a)
	}
	t.Run("metrics", func(t *testing.T) { countsThem(t, g) })
	t.Run("spans", func(t *testing.T) { tracesThem(t, g, r, plain, streamed, rescued, failed, unknown, film) })
	t.Run("series", func(t *testing.T) { growsNoSeries(t, g) })
	t.Run("collector", func(t *testing.T) { outlivesItsCollector(t, g, r) })
}

// tellsItsTime checks the headers that say where the time went.
func tellsItsTime(t *testing.T, i int, a harness.Response) {
	t.Helper()
	var own, upstream float64
	timing := a.Header.Get("Server-Timing")
	if _, err := fmt.Sscanf(timing, "gateway;dur=%f, upstream;dur=%f", &own, &upstream); err != nil || own <= 0 {
		t.Errorf("call %d: Server-Timing is %q: %v", i, timing, err)
	}
	if asked := i != 4; asked != (upstream > 0) {
		t.Errorf("call %d: Server-Timing is %q", i, timing)
	}
	if whole := a.Header.Get("Openai-Processing-Ms"); a.Status == http.StatusOK && whole != strconv.Itoa(int(own+upstream)) {
		t.Errorf("call %d: %q took %q ms", i, timing, whole)
	}
}

// countsThem checks what the metrics say of the calls before.
func countsThem(t *testing.T, g *harness.Gateway) {
	t.Helper()
	all := measured(t, g)
	text := func(provider, outcome string) string {
		return fmt.Sprintf(`umg_text_requests_total{model=%q,outcome=%q,provider=%q,style="chat"}`, tracedModel, outcome, provider)
	}
	attempts := func(provider, fault string) string {
		return fmt.Sprintf(`umg_upstream_attempts_total{fault=%q,model=%q,provider=%q}`, fault, tracedModel, provider)
	}
	for name, want := range map[string]float64{
		text("meridian", "succeeded"): 2, text("crossroads", "succeeded"): 1, text("crossroads", "failed"): 1,
		attempts("meridian", "none"): 2, attempts("crossroads", "none"): 1,
		attempts("meridian", "server_error"): 4, attempts("crossroads", "server_error"): 2,
		`umg_upstream_retries_total{model="` + tracedModel + `"}`:                          5,
		`umg_upstream_time_to_first_token_seconds_count{provider="meridian"}`:              2,
		`umg_gateway_overhead_seconds_count{style="chat"}`:                                 4,
		`umg_http_errors_total{kind="upstream"}`:                                           1,
		`umg_http_errors_total{kind="not_found"}`:                                          1,
		`umg_upstream_ejected{provider="meridian",upstream_model="atlas-small-2026-05"}`:   0,
		`umg_upstream_in_flight{provider="meridian",upstream_model="atlas-small-2026-05"}`: 0,
		`umg_provider_in_flight{provider="crossroads"}`:                                    0,
	} {
		if got, ok := all[name]; !ok || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for name := range all {
		if strings.Contains(name, tracedPrompt) {
			t.Errorf("a caller chose the label of %s", name)
		}
	}
}

// tracesThem checks the spans of the calls before.
func tracesThem(t *testing.T, g *harness.Gateway, r *spanCollector, plain, streamed, rescued, failed, unknown, film harness.Response) {
	t.Helper()
	whole, attempts := r.call(t, plain.Header.Get("X-Request-Id"))
	if whole.GetName() != "chat "+tracedModel || fmt.Sprintf("00-%x-%x-01", whole.GetTraceId(), whole.GetParentSpanId()) != tracedParent || len(attempts) != 1 {
		t.Errorf("%q of %x below %x with %d attempts", whole.GetName(), whole.GetTraceId(), whole.GetParentSpanId(), len(attempts))
	}
	spanHas(t, whole, "gen_ai.operation.name", "chat", "gen_ai.request.model", tracedModel, "gen_ai.response.model", "atlas-small-2026-05",
		"gen_ai.provider.name", "meridian", "gen_ai.response.finish_reasons", "stop", "umg.outcome", "succeeded", "umg.style", "chat", "error.type", "")
	if said := spanSays(whole); said["gen_ai.usage.input_tokens"] == "" || said["gen_ai.usage.output_tokens"] == "" {
		t.Errorf("the span has no usage: %v", said)
	}
	spanHas(t, attempts[0], "http.request.method", "POST", "server.address", "127.0.0.1", "http.response.status_code", "200")
	sent := upstreamCalls(t, g, `"`+tracedPrompt+`"`)
	if want := fmt.Sprintf("00-%x-%x-01", attempts[0].GetTraceId(), attempts[0].GetSpanId()); len(sent) == 0 || sent[0].Header.Get("Traceparent") != want {
		t.Errorf("the provider was told of another parent than %s: %v", want, sent)
	}
	whole, _ = r.call(t, streamed.Header.Get("X-Request-Id"))
	if spanHas(t, whole, "gen_ai.request.stream", "true"); spanSays(whole)["gen_ai.response.time_to_first_chunk"] == "" {
		t.Error("a stream has no time of its first chunk")
	}
	whole, attempts = r.call(t, rescued.Header.Get("X-Request-Id"))
	if spanHas(t, whole, "umg.attempts", "3", "gen_ai.provider.name", "crossroads", "error.type", ""); len(attempts) != 3 {
		t.Fatalf("%d attempts", len(attempts))
	}
	spanHas(t, attempts[1], "gen_ai.provider.name", "meridian", "http.response.status_code", "503", "error.type", "server_error", "http.request.resend_count", "1")
	spanHas(t, attempts[2], "gen_ai.provider.name", "crossroads", "http.response.status_code", "200", "error.type", "")
	whole, _ = r.call(t, failed.Header.Get("X-Request-Id"))
	if spanHas(t, whole, "error.type", "server_error"); whole.GetStatus().GetCode() != otlp.Status_STATUS_CODE_ERROR {
		t.Errorf("a failed call is %s", whole.GetStatus())
	}
	whole, attempts = r.call(t, unknown.Header.Get("X-Request-Id"))
	if spanHas(t, whole, "error.type", "model_not_found"); whole.GetName() != "chat" || len(attempts) != 0 {
		t.Errorf("a call of an unknown model is %q with %d attempts", whole.GetName(), len(attempts))
	}
	whole, attempts = r.call(t, film.Header.Get("X-Request-Id"))
	if spanHas(t, whole, "gen_ai.output.type", "video", "gen_ai.provider.name", "meridian"); whole.GetName() != "generate_content meridian/reel" || len(attempts) != 1 {
		t.Errorf("a call for a video is %q with %d attempts", whole.GetName(), len(attempts))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, secret := range map[string]string{
		"a prompt": tracedPrompt, "a key": g.APIKey, "a part of a key": g.APIKey[len(g.APIKey)-12:], "a person": g.Email, "the provider's credential": "simulated",
	} {
		if bytes.Contains(r.raw.Bytes(), []byte(secret)) {
			t.Errorf("the spans hold %s", name)
		}
	}
}

// growsNoSeries sends values that callers can invent. They must not add metric series, which fill the memory of the metrics server.
func growsNoSeries(t *testing.T, g *harness.Gateway) {
	t.Helper()
	invent := func(i int) {
		name := fmt.Sprintf("invented/%d", i)
		ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
		defer cancel()
		_, err1 := g.TryCall(ctx, "POST", "/v1/chat/completions", harness.ChatRequest(name, "x"))
		_, err2 := g.TryCall(ctx, "GET", "/v1/"+name, "")
		_, err3 := g.TryCall(ctx, fmt.Sprintf("INVENT%d", i), "/"+name, "")
		if err1 != nil || err2 != nil || err3 != nil {
			t.Error(err1, err2, err3)
		}
	}
	// The kinds of failures are series, so the first round adds them.
	invent(0)
	before := measured(t, g)
	var all sync.WaitGroup
	for part := range 4 {
		all.Go(func() {
			for i := 1 + part; i <= inventions/3; i += 4 {
				invent(i)
			}
		})
	}
	all.Wait()
	after := measured(t, g)
	for name := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("there is %s now", name)
		}
	}
}

// outlivesItsCollector checks that calls go on as before while the collector takes nothing.
func outlivesItsCollector(t *testing.T, g *harness.Gateway, r *spanCollector) {
	t.Helper()
	r.hangs.Store(true)
	calls := 0
	for deadline := time.Now().Add(harness.CallTimeMax); r.waiting.Load() == 0 || calls < 100; calls++ {
		began := time.Now()
		if a := g.Call(t, "POST", "/v1/chat/completions", harness.ChatRequest(tracedModel, "echo: x")); a.Status != http.StatusOK {
			t.Fatalf("status %d: %s", a.Status, a.Body)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Fatalf("a call took %s", took)
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was sent to the collector")
		}
	}
}
