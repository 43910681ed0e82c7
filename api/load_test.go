package api_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/app/admission"
)

// waiting returns once n calls wait at the upstream.
func (h *house) waiting(n string) {
	h.t.Helper()
	resp, err := client.Get(h.upstream + "/_control/waiting?at_least=" + n + "&timeout=10s")
	must(h.t, err)
	text, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if !strings.Contains(string(text), `"reached":true`) {
		h.t.Fatalf("%s calls do not wait at the upstream: %s", n, text)
	}
}

func (h *house) release() {
	h.t.Helper()
	resp, err := client.Post(h.upstream+"/_control/release", "", nil)
	must(h.t, err)
	_ = resp.Body.Close()
}

func TestTooManyCallsAtOnceAreRefusedAtTheDoor(t *testing.T) {
	t.Parallel()
	h := setup(t, func(p *plan) { p.api.Gate = admission.New(admission.Options{InFlightMax: 1}) })
	secret := h.secret()
	first := make(chan reply, 1)
	go func() { first <- h.call("POST", "/v1/chat/completions", ask("test/slow", ""), bearer(secret)...) }()
	h.waiting("1")
	for _, path := range []string{"/v1/chat/completions", "/v1/models"} {
		method := map[bool]string{true: "POST", false: "GET"}[strings.Contains(path, "chat")]
		a := h.call(method, path, "", bearer(secret)...)
		if a.status != http.StatusServiceUnavailable || a.header.Get("X-Error-Code") != "overloaded" || a.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	h.release()
	if a := <-first; a.status != http.StatusOK || !strings.Contains(a.body, "hello") {
		t.Errorf("the call that was let in: %d %s", a.status, a.body)
	}
	a := h.call("GET", "/v1/models", "", bearer(secret)...)
	for t.Context().Err() == nil && a.status == http.StatusServiceUnavailable { // The response arrives a moment before its place is free.
		a = h.call("GET", "/v1/models", "", bearer(secret)...)
	}
	if a.status != http.StatusOK {
		t.Errorf("afterwards: %d", a.status)
	}
}

func TestAClientThatLeavesIsInTheLogAndPaysItsInput(t *testing.T) {
	t.Parallel()
	h := setup(t)
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/v1/chat/completions", strings.NewReader(ask("test/slow", `,"stream":true`)))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+h.secret())
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Client-Request-Id", "leaver")
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if resp, err := http.DefaultTransport.RoundTrip(req); err == nil {
			_ = resp.Body.Close()
			t.Error("an answer came though the upstream holds it")
		}
	}()
	h.waiting("1")
	leave()
	<-gone
	line := h.lineWith("client_request_id", "leaver")
	if line["outcome"] != "client_left" || line["error_kind"] != "canceled" || line["cost_nanos"] == float64(0) {
		t.Errorf("the line is %v", line)
	}
	h.release()
}

// TestAStreamThatOutlivesTheDrainEndsProperly stops the server while the upstream has delivered half of a stream.
func TestAStreamThatOutlivesTheDrainEndsProperly(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.control("faults", map[string]string{"model": "slow", "spec": "stall-after=5"})
	req, err := http.NewRequest(http.MethodPost, h.url+"/v1/chat/completions", strings.NewReader(
		`{"model":"test/slow","stream":true,"messages":[{"role":"user","content":"count to 50"}]}`))
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+h.secret())
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultTransport.RoundTrip(req)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	b := bufio.NewReader(resp.Body)
	first, err := b.ReadString('\n')
	if err != nil || !strings.HasPrefix(first, "data: ") {
		t.Fatalf("%q, %v", first, err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- h.stop() }()
	rest, err := io.ReadAll(b)
	if err != nil || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") || !strings.Contains(string(rest), `"error":{"code":`) {
		t.Errorf("the stream ended with %v after %q", err, rest)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// TestManyCallsOnOneConnection sends good and bad calls in turn, so that nothing of one can be left for the next.
func TestManyCallsOnOneConnection(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := h.secret()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	must(t, err)
	defer func() { _ = conn.Close() }()
	must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	b := bufio.NewReader(conn)
	for i, c := range []struct {
		body   string
		key    string
		status int
	}{
		{ask("test/plain", ""), secret, 200}, {ask("test/plain", ""), "wrong", 401}, {ask("test/plain", `,"stream":true`), secret, 200},
		{"{", secret, 400}, {ask("test/nothing", ""), secret, 404}, {ask("test/plain", ""), secret, 200},
	} {
		req, err := http.NewRequest(http.MethodPost, h.url+"/v1/chat/completions", strings.NewReader(c.body))
		must(t, err)
		req.Header.Set("Authorization", "Bearer "+c.key)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Error-Status", "standard")
		must(t, req.Write(conn))
		resp, err := http.ReadResponse(b, req)
		must(t, err)
		text, err := io.ReadAll(resp.Body)
		must(t, err)
		if resp.StatusCode != c.status {
			t.Errorf("call %d: %d %s", i, resp.StatusCode, text)
		}
	}
}

func TestMetricsOfCalls(t *testing.T) {
	t.Parallel()
	h := setup(t)
	secret := h.secret()
	for _, body := range []string{ask("test/plain", ""), ask("test/failing", ""), ask("canary/model", "")} {
		h.line(h.call("POST", "/v1/chat/completions", body, bearer(secret)...).header.Get("X-Request-Id"))
	}
	odd := `{"model":"test/plain","messages":[{"role":"user","content":"simulate: usage=1000000\ncount to 3"}]}`
	h.line(h.call("POST", "/v1/chat/completions", odd, bearer(secret)...).header.Get("X-Request-Id"))
	resp, err := client.Get(h.ops + "/metrics")
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	must(t, err)
	for _, want := range []string{
		`umg_usage_implausible_total{model="test/plain",provider="up"} 1`,
		`umg_text_requests_total{model="test/plain",outcome="succeeded",provider="up",style="chat"} 2`,
		`umg_text_requests_total{model="test/failing",outcome="failed",provider="up",style="chat"} 1`,
		`umg_upstream_attempts_total{fault="server_error",model="test/failing",provider="up"} 2`, `umg_gen_ai_token_usage_total{meter="output_tokens",model="test/plain"}`,
		`umg_cost_dollars_total{model="test/plain"}`, `umg_gen_ai_server_time_to_first_token_seconds_count{model="test/plain"} 2`,
		`umg_upstream_retries_total{model="test/failing"} 1`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if strings.Contains(string(b), "canary") || strings.Contains(string(b), "sk-umg") || strings.Contains(string(b), h.owner.AccountID) {
		t.Error("a caller's word, a key or an account is a label")
	}
}

// TestABodyThatStopsHalfwayIsGivenUp uses a clock by which the body's grace is almost over when it begins.
func TestABodyThatStopsHalfwayIsGivenUp(t *testing.T) {
	t.Parallel()
	h := setup(t, func(p *plan) { p.api.Now = func() time.Time { return time.Now().Add(-4500 * time.Millisecond) } })
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	must(t, err)
	defer func() { _ = conn.Close() }()
	must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = io.WriteString(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+h.secret()+
		"\r\nContent-Type: application/json\r\nX-Error-Status: standard\r\nContent-Length: 100\r\n\r\n{\"model\":")
	must(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	must(t, err)
	text, err := io.ReadAll(resp.Body)
	must(t, err)
	if resp.StatusCode != http.StatusBadRequest || resp.Header.Get("X-Error-Code") != "request_timeout" || !resp.Close {
		t.Errorf("%d, close %v: %s", resp.StatusCode, resp.Close, text)
	}
}
