package simulator

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// open starts a request and returns what comes, and the way to leave.
func (u *upstream) open(path string, body any) (*bufio.Reader, context.CancelFunc) {
	u.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		u.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(u.t.Context())
	u.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.url+path, bytes.NewReader(raw))
	if err != nil {
		u.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	res, err := u.client.Do(req)
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() { _ = res.Body.Close() })
	return bufio.NewReader(res.Body), cancel
}

// finished waits for n finished requests and returns what was recorded.
func (u *upstream) finished(n int) []Request {
	u.t.Helper()
	got := decode[struct {
		Requests []Request
		Reached  bool
	}](u.t, u.do("GET", "/_control/requests?timeout=5s&finished="+string(rune('0'+n)), nil, nil).body)
	if !got.Reached || len(got.Requests) < n {
		u.t.Fatalf("waited for %d requests, have %d", n, len(got.Requests))
	}
	return got.Requests
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(h[:])
}

func TestRecorderKeepsWhatCameButNoSecret(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Control: true, Key: "secret-1"})
	body := `{"model":"small","messages":[{"role":"user","content":"echo: hi"}]}`
	u.do("POST", "/meridian/v1/chat/completions?a=b", []byte(body), map[string]string{"Authorization": "Bearer secret-1", "X-Trace": "7"})
	u.do("POST", "/kestrel/v1/messages", []byte("{"), map[string]string{"X-Api-Key": "secret-2"})
	u.do("POST", "/v1/responses", bytes.Repeat([]byte("ü"), recordBytesMax), map[string]string{"X-Goog-Api-Key": "secret-1"})
	res := u.do("GET", "/_control/requests?finished=3", nil, nil)
	if strings.Contains(string(res.body), "secret-") {
		t.Errorf("a secret in clear: %s", res.body)
	}
	all := u.finished(3)
	first := all[0]
	if first.Method != "POST" || first.Path != "/meridian/v1/chat/completions" || first.Query != "a=b" || first.Provider != "meridian" ||
		first.Model != "small" || first.Body != body || first.BodyBytes != len(body) || first.Status != 200 || first.OutputTokens != 1 ||
		first.Finished == nil || !first.Started.Equal(noon) || first.ClientLeft || first.BrokenOff || first.BytesSent == 0 {
		t.Errorf("%+v", first)
	}
	if first.Header.Get("Authorization") != "Bearer "+sum("secret-1") || first.Header.Get("X-Trace") != "7" {
		t.Errorf("%v", first.Header)
	}
	if all[1].Status != 401 || all[1].Provider != "kestrel" || all[1].Header.Get("X-Api-Key") != sum("secret-2") {
		t.Errorf("%+v", all[1])
	}
	if long := all[2]; long.Status != 400 || len(long.Body) != recordBytesMax || long.BodyBytes != 2*recordBytesMax {
		t.Errorf("%d of %d bytes, %d", len(long.Body), long.BodyBytes, long.Status)
	}
	only := u.do("GET", "/_control/requests?provider=kestrel", nil, nil)
	if strings.Count(string(only.body), `"number":`) != 1 {
		t.Errorf("%s", only.body)
	}
	u.do("DELETE", "/_control/requests", nil, nil)
	if left := u.sim.Requests(); len(left) != 0 {
		t.Errorf("%d requests after they were deleted", len(left))
	}
	stats := decode[Stats](t, u.do("GET", "/_control/stats", nil, nil).body)
	if stats.Requests != 3 || stats.Finished != 3 || stats.InFlight != 0 || stats.ByStatus[200] != 1 || stats.ByStatus[401] != 1 ||
		stats.ByProvider["meridian"] != 1 {
		t.Errorf("%+v", stats)
	}
}

func TestRecorderForgetsTheOldest(t *testing.T) {
	t.Parallel()
	sim := New(Options{Control: true, Now: func() time.Time { return noon }})
	for range recordsMax + 5 {
		sim.recorder.begin(&http.Request{Method: "POST", URL: mustURL(t, "/v1/responses")}, "").end(false)
	}
	all := sim.Requests()
	if len(all) != recordsMax || all[0].Number != 6 || all[recordsMax-1].Number != recordsMax+5 {
		t.Errorf("%d requests, from %d to %d", len(all), all[0].Number, all[len(all)-1].Number)
	}
}

func TestRecorderSeesBrokenAndAbandonedAnswers(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Control: true})
	u.post("chat", ask{text: "count to 9", stream: true, simulated: "cut-after=2"})
	if got := u.finished(1)[0]; !got.BrokenOff || got.ClientLeft || got.Fault != "cut-after=2" {
		t.Errorf("%+v", got)
	}
	in, leave := u.open("/v1/chat/completions", object{"model": "m+stall-after=3", "stream": true,
		"messages": []any{object{"role": "user", "content": "count to 9"}}})
	for range 6 {
		if _, err := in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	leave()
	if got := u.finished(2)[1]; !got.ClientLeft || got.BrokenOff {
		t.Errorf("%+v", got)
	}
}

// TestHoldGathersRequests proves that held requests wait until they are released, in the order in which they came,
// and that no test has to sleep for it.
func TestHoldGathersRequests(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Control: true})
	waiting := func(query string) (int, bool) {
		got := decode[struct {
			Count   int
			Reached bool
		}](t, u.do("GET", "/_control/waiting"+query, nil, nil).body)
		return got.Count, got.Reached
	}
	u.do("POST", "/_control/hold", nil, nil)
	const many = 20
	done := make(chan int, many)
	var all sync.WaitGroup
	for range many {
		all.Go(func() { done <- u.post("chat", ask{text: "echo: x"}).status })
	}
	if n, ok := waiting("?at_least=20&timeout=10s"); n != many || !ok {
		t.Fatalf("%d wait", n)
	}
	if len(done) != 0 {
		t.Error("an answer in spite of the hold")
	}
	if n, ok := waiting("?at_least=21&timeout=1ms"); n != many || ok {
		t.Errorf("%d wait, %t", n, ok)
	}
	if got := string(u.do("POST", "/_control/release?count=3", nil, nil).body); !strings.Contains(got, `"released":3`) {
		t.Errorf("%s", got)
	}
	for range 3 {
		<-done
	}
	if n, _ := waiting(""); n != many-3 {
		t.Errorf("%d wait", n)
	}
	u.do("POST", "/_control/release", nil, nil)
	all.Wait()
	for range many - 3 {
		if status := <-done; status != 200 {
			t.Errorf("status %d", status)
		}
	}
	if res := u.post("chat", ask{text: "echo: x"}); res.status != 200 {
		t.Error("still held")
	}
}

func TestHoldCanBeNarrow(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Control: true})
	u.do("POST", "/_control/hold?model=held", nil, nil)
	if res := u.post("chat", ask{text: "echo: x", model: "free"}); res.status != 200 {
		t.Errorf("%d", res.status)
	}
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- u.sim.gate.pass(ctx, false, "", "held") }()
	if n := u.sim.gate.await(t.Context(), 1); n != 1 {
		t.Errorf("%d wait", n)
	}
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if n := u.sim.gate.await(t.Context(), 0); n != 0 {
		t.Errorf("%d wait after the only one left", n)
	}
	go func() { left <- u.sim.gate.pass(t.Context(), true, "", "free") }() // The directive hold calls pass in the same way.
	u.sim.gate.await(t.Context(), 1)
	u.sim.gate.release(0)
	if err := <-left; err != nil {
		t.Error(err)
	}
}

func TestFaultTable(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Control: true})
	put := func(entry string) answered { return u.do("PUT", "/_control/faults", []byte(entry), nil) }
	status := func(path, model string) int {
		return u.do("POST", path, []byte(`{"model":"`+model+`","messages":[{"role":"user","content":"echo: x"}]}`), nil).status
	}
	for _, entry := range []string{`{"spec":"status=500"}`, `{"model":"a","spec":"status=501"}`, `{"provider":"p","spec":"status=502"}`,
		`{"provider":"p","model":"a","spec":"status=503;times=1"}`} {
		if res := put(entry); res.status != 204 {
			t.Fatalf("%s: %d %s", entry, res.status, res.body)
		}
	}
	const here, there = "/v1/chat/completions", "/p/v1/chat/completions"
	if got := []int{status(here, "b"), status(here, "a"), status(there, "b"), status(there, "a"), status(there, "a")}; got[0] != 500 ||
		got[1] != 501 || got[2] != 502 || got[3] != 503 || got[4] != 200 {
		t.Errorf("%v", got)
	}
	if res := u.post("chat", ask{model: "b", text: "echo: x", simulated: "status=504"}); res.status != 504 {
		t.Errorf("the header does not come before the table: %d", res.status)
	}
	put(`{"provider":"p","model":"a","spec":"status=503;times=1"}`)
	if got := status(there, "a"); got != 503 {
		t.Errorf("a new row does not start at zero: %d", got)
	}
	if got := string(u.do("GET", "/_control/faults", nil, nil).body); strings.Count(got, "spec") != 4 {
		t.Errorf("%s", got)
	}
	u.do("DELETE", "/_control/faults?model=a", nil, nil)
	if got := status(here, "a"); got != 500 {
		t.Errorf("%d", got)
	}
	u.do("DELETE", "/_control/faults", nil, nil)
	if got := status(here, "a"); got != 200 {
		t.Errorf("%d", got)
	}
	for _, bad := range []string{`{"spec":"explode"}`, `{"spec":1}`, `[]`, `{"colour":"red"}`, ``} {
		if res := put(bad); res.status != 400 {
			t.Errorf("%s: %d", bad, res.status)
		}
	}
	for i := range faultEntriesMax {
		put(`{"model":"m` + strings.Repeat("x", i) + `","spec":"auth"}`)
	}
	if res := put(`{"model":"one too many","spec":"auth"}`); res.status != 400 {
		t.Errorf("a full table takes more: %d", res.status)
	}
}

func TestControlIsOffByDefaultAndRefusesNonsense(t *testing.T) {
	t.Parallel()
	off := setup(t, Options{})
	if res := off.do("GET", "/_control/stats", nil, nil); res.status != 404 {
		t.Errorf("%d", res.status)
	}
	if off.sim.Requests() != nil {
		t.Error("requests are recorded without control")
	}
	on := setup(t, Options{Control: true})
	for _, path := range []string{"/_control/waiting?at_least=x", "/_control/waiting?timeout=1h", "/_control/requests?finished=-1"} {
		if res := on.do("GET", path, nil, nil); res.status != 400 {
			t.Errorf("%s: %d", path, res.status)
		}
	}
	if res := on.do("POST", "/_control/release?count=x", nil, nil); res.status != 400 {
		t.Errorf("%d", res.status)
	}
}

// TestPaceIsKept proves the timing of a stream on a clock that does not run by itself.
func TestPaceIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sim := New(Options{Pace: time.Second, FirstToken: 3 * time.Second})
		for _, style := range styleNames {
			for _, stream := range []bool{true, false} {
				path, body := forms[style](ask{model: "m", text: "count to 5", stream: stream})
				raw, err := json.Marshal(body)
				if err != nil {
					t.Fatal(err)
				}
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(raw))
				if err != nil {
					t.Fatal(err)
				}
				req.Header = http.Header{"Content-Type": {"application/json"}, "Anthropic-Version": {"1"}}
				w := &timed{header: http.Header{}, start: time.Now()}
				sim.ServeHTTP(w, req)
				want := 3*time.Second + 4*time.Second // The first token needs no pace.
				if !stream {
					want += time.Second
				}
				if took := time.Since(w.start); took != want {
					t.Errorf("%s, stream %t: took %s, want %s", style, stream, took, want)
				}
				if stream && w.first != 3*time.Second {
					t.Errorf("%s: first byte after %s", style, w.first)
				}
			}
		}
	})
}

// timed notes when the first byte came.
type timed struct {
	header http.Header
	start  time.Time
	first  time.Duration
}

func (w *timed) Header() http.Header { return w.header }
func (w *timed) WriteHeader(int)     {}
func (w *timed) Flush()              {}
func (w *timed) Write(p []byte) (int, error) {
	if w.first == 0 {
		w.first = time.Since(w.start)
	}
	return len(p), nil
}

// TestServeEndsInOrder proves that running answers finish, that stalled ones are cut when the grace is over, and
// that the listener is closed.
func TestServeEndsInOrder(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]string{"running": "pace=2ms", "stalled": "stall-after=1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			grace := 10 * time.Second
			if name == "stalled" {
				grace = 20 * time.Millisecond
			}
			sim := New(Options{GraceMax: grace})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- sim.Serve(ctx, l) }()
			client := &http.Client{Transport: &http.Transport{}}
			t.Cleanup(client.CloseIdleConnections)
			u := &upstream{t: t, sim: sim, url: "http://" + l.Addr().String(), client: client}
			if res := u.do("GET", "/healthz", nil, nil); res.status != 200 || string(res.body) != "ok\n" {
				t.Errorf("%d %s", res.status, res.body)
			}
			in, _ := u.open("/v1/chat/completions", object{"model": "m+" + spec, "stream": true,
				"messages": []any{object{"role": "user", "content": "count to 20"}}})
			if _, err := in.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			stop()
			var rest bytes.Buffer
			_, err = rest.ReadFrom(in)
			complete := strings.Contains(rest.String(), "[DONE]")
			if complete != (name == "running") || (err == nil) != complete {
				t.Errorf("complete %t, %v", complete, err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if _, err := net.Dial("tcp", l.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("still listening: %v", err)
			}
		})
	}
}

func TestServeReportsABrokenListener(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := New(Options{}).Serve(t.Context(), l); err == nil {
		t.Error("no error")
	}
}
