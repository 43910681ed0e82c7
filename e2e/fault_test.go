package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// upstreamFault is a way for the upstream to fail, and what the client and the ledger see of it.
type upstreamFault struct {
	name    string
	does    string // what the simulator does, in its own words
	code    int    // 0: the call succeeds all the same
	errCode string
	outcome string // of the usage record; empty where none is expected to matter
}

// faultsBeforeContent end a call before anything was delivered: another try where that can help, an error otherwise,
// and nothing charged.
var faultsBeforeContent = []upstreamFault{
	{"fails once", "status=503+times=1", 0, "", "succeeded"},
	{"resets once", "reset+times=1", 0, "", "succeeded"},
	{"rate limited once", "status=429+times=1", 0, "", "succeeded"},
	{"fails always", "status=500", 502, "upstream_error", "failed"},
	{"resets always", "reset", 502, "upstream_error", "failed"},
	{"never answers", "stall", 504, "upstream_timeout", "timed_out"},
	{"rate limited always", "status=429", 429, "rate_limit_exceeded", "failed"},
	{"refuses our credential", "auth", 503, "no_available_provider", "failed"},
	{"refuses the request", "status=422", 422, "", "failed"},
	{"answers with a page", "html", 502, "upstream_error", "failed"},
	{"answers nothing", "empty", 502, "upstream_error", "failed"},
	{"answers half a body", "truncated-json", 502, "upstream_error", "failed"},
	{"answers 200 with an error", "error-in-200", 502, "upstream_error", "failed"},
	{"redirects inside", "redirect=http://169.254.169.254/", 502, "upstream_error", "failed"},
}

func TestFaultBeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	g := running(t)
	for _, f := range faultsBeforeContent {
		id := g.faultyModel(t, f.does)
		for _, streamed := range []bool{false, true} {
			t.Run(f.name+"/"+map[bool]string{false: "json", true: "stream"}[streamed], func(t *testing.T) {
				t.Parallel()
				members := []string{}
				if streamed {
					members = append(members, `"stream":true`)
					if f.does == "truncated-json" || f.does == "error-in-200" {
						return
					}
				}
				a := g.call(t, "POST", "/v1/chat/completions", ask(id, "echo: x", members...), "X-Error-Status", "standard")
				if f.code == 0 {
					if a.status != http.StatusOK || !strings.Contains(a.body, "x") {
						t.Fatalf("status %d: %s", a.status, a.body)
					}
				} else if got := decodeFailure(t, a.body); a.status != f.code || (f.errCode != "" && got.Error.Code != f.errCode) {
					t.Fatalf("status %d: %s", a.status, a.body)
				}
				r := g.record(t, a.header.Get("X-Request-Id"))
				if f.code != 0 && r.Cost != 0 {
					t.Errorf("nothing was delivered, %d nano-dollars were charged", r.Cost)
				}
				if r.Outcome != f.outcome {
					t.Errorf("the outcome is %s, not %s", r.Outcome, f.outcome)
				}
			})
		}
	}
}

// faultsAfterContent end a stream when some of it was delivered: the client gets an error in the stream and never an
// invented finish reason, and pays for what it got.
var faultsAfterContent = []upstreamFault{
	{"cut", "cut-after=8", 502, "upstream_error", "cut"},
	{"reset", "reset-after=8", 502, "upstream_error", "cut"},
	{"stall", "stall-after=8", 504, "upstream_timeout", "timed_out"},
	{"no end marker and no finish", "cut-after=8+no-end", 502, "upstream_error", "cut"},
}

func TestFaultInTheMiddleOfAStream(t *testing.T) {
	t.Parallel()
	g := running(t)
	for _, f := range faultsAfterContent {
		id := g.faultyModel(t, f.does)
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			a := g.call(t, "POST", "/v1/chat/completions", ask(id, "count to 50", `"stream":true`))
			all := events(t, a.body)
			if len(all) < 3 || all[len(all)-1] != "[DONE]" {
				t.Fatalf("the stream does not end: %s", a.body)
			}
			if got := decodeFailure(t, all[len(all)-2]); got.Code != f.code || got.Error.Code != f.errCode {
				t.Errorf("the error is %+v", got)
			}
			if strings.Contains(a.body, `"finish_reason":"`) {
				t.Error("a finish reason was invented")
			}
			r := g.record(t, a.header.Get("X-Request-Id"))
			if r.Cost == 0 || r.Cost > r.Reserved || !r.Estimated || r.Outcome != f.outcome || r.Output > 50 {
				t.Errorf("the record is %+v", r)
			}
		})
	}
	g.books(t)
}

// TestFaultHostileUsage lets the upstream lie about usage: the answer is delivered, and the charge is never more than
// what was reserved.
func TestFaultHostileUsage(t *testing.T) {
	t.Parallel()
	g := running(t)
	for _, usage := range []string{"none", "negative", "huge", "string", "float"} {
		id := g.faultyModel(t, "usage="+usage)
		t.Run(usage, func(t *testing.T) {
			t.Parallel()
			a := g.call(t, "POST", "/v1/chat/completions", ask(id, "echo: paid fairly", `"max_tokens":50`))
			c := decodeCompletion(t, a)
			r := g.record(t, a.header.Get("X-Request-Id"))
			if c.Usage == nil || nanos(t, string(c.Usage.Cost)) != r.Cost || r.Cost <= 0 || r.Cost > r.Reserved || !r.Estimated {
				t.Errorf("shown %+v, recorded %+v", c.Usage, r)
			}
		})
	}
}

func TestFaultMalformedChunkIsSkipped(t *testing.T) {
	t.Parallel()
	g := running(t)
	id := g.faultyModel(t, "malformed-at=3")
	a := g.call(t, "POST", "/v1/chat/completions", ask(id, "count to 10", `"stream":true`))
	all := events(t, a.body)
	for _, data := range all[:len(all)-1] {
		if !json.Valid([]byte(data)) {
			t.Errorf("the client got %q", data)
		}
	}
	if all[len(all)-1] != "[DONE]" || !strings.Contains(a.body, `"finish_reason":"stop"`) {
		t.Errorf("the stream does not end properly: %s", a.body)
	}
}

// TestFaultClientLeaves closes the connection after a few chunks: the upstream call ends, and what was delivered is
// charged, marked as estimated.
func TestFaultClientLeaves(t *testing.T) {
	t.Parallel()
	g := running(t)
	id := g.faultyModel(t, "pace=20ms")
	ctx, cancel := context.WithCancel(context.Background())
	req, err := g.request(ctx, "POST", "/v1/chat/completions", ask(id, "count to 400", `"stream":true`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(resp.Body)
	for range 20 {
		lines.Scan()
	}
	cancel()
	resp.Body.Close()
	r := g.record(t, resp.Header.Get("X-Request-Id"))
	if r.Outcome != "client_left" || !r.Estimated || r.Cost == 0 || r.Output == 0 || r.Output > 200 {
		t.Errorf("the record is %+v", r)
	}
}

func TestFaultPausedAndMissingProviders(t *testing.T) {
	t.Parallel()
	g := running(t)
	g.addModels(t, model{id: "test/paused", upstream: "sim", paused: true}, model{id: "test/lost", upstream: "sim", provider: "test-lost"})
	for id, code := range map[string]string{"test/paused": "model_temporarily_unavailable", "test/lost": "no_available_provider"} {
		a := g.call(t, "POST", "/v1/chat/completions", ask(id, "x"), "X-Error-Status", "documented")
		if f := decodeFailure(t, a.body); a.status != http.StatusOK || f.Code != 503 || f.Error.Code != code || f.Error.Type != "server_error" {
			t.Errorf("%s: status %d: %s", id, a.status, a.body)
		}
	}
}
