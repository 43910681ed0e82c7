package api_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/admission"
	"umg/app/apikey"
	"umg/billing"
)

// refusalMax is what a refusal may take of a processor, on average.
const refusalMax = 50 * time.Microsecond

// taken is a gate with some places taken.
func taken(t testing.TB, max int64, n int) *admission.Controller {
	t.Helper()
	g := admission.New(admission.Options{InFlightMax: max})
	for range n {
		_, err := g.Enter(false)
		must(t, err)
	}
	return g
}

// endless is a body that must not be read.
type endless struct{ t *testing.T }

func (e endless) Read([]byte) (int, error) {
	e.t.Error("the body of a refused call is read")
	return 0, io.EOF
}

// TestACallWithoutAPlaceIsRefusedInTheStyleOfItsRoute calls a full replica: the status is the true one whatever the key's mode,
// the store is not asked about the key, the body is not read, and the client learns when to come back.
func TestACallWithoutAPlaceIsRefusedInTheStyleOfItsRoute(t *testing.T) {
	t.Parallel()
	h, s := build(t, func(p *plan) { p.api.Gate = taken(t, 4, 4) })
	secret := h.secret()
	must(t, h.db.Close())
	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/v1/chat/completions": {503, `"code":503`}, "/v1/messages": {529, `"type":"overloaded_error"`},
		"/v1/responses": {503, `"code":"overloaded"`}, "/vendorc/native": {503, `"status":"UNAVAILABLE"`}, "/v1/videos": {503, `"code":"overloaded"`},
	} {
		r := httptest.NewRequest(http.MethodPost, path, endless{t})
		r.ContentLength = 1000
		r.Header.Set("Authorization", "Bearer "+secret)
		r.Header.Set("X-Error-Status", "documented")
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		ms, _ := strconv.Atoi(w.Header().Get("Retry-After-Ms"))
		if w.Code != want.status || !strings.Contains(w.Body.String(), want.body) || w.Header().Get("X-Error-Code") != "overloaded" ||
			w.Header().Get("X-Should-Retry") != "true" || w.Header().Get("Retry-After") != "2" || ms < 1000 || ms > 2000 {
			t.Errorf("%s: %d %v %s", path, w.Code, w.Header(), w.Body)
		}
	}
}

// TestTrialCallsAreRefusedBeforePaidOnes has two accounts call a replica that is almost full.
func TestTrialCallsAreRefusedBeforePaidOnes(t *testing.T) {
	t.Parallel()
	var ledger *billing.Ledger
	h := setup(t, func(p *plan) { p.api.Gate, ledger = taken(t, 10, 8), p.api.Ledger })
	trial := h.secret()
	payer, err := h.accounts.SignUp(t.Context(), account.SignUp{Email: "payer@example.com", Password: "a long enough passphrase", IP: "192.0.2.1"})
	must(t, err)
	must(t, ledger.Grant(t.Context(), h.db, billing.Grant{AccountID: payer.AccountID, Kind: billing.Purchased, Amount: app.Dollar, Source: "pay:1"}))
	_, paid, err := h.apiKeys.Create(t.Context(), payer.Principal(), apikey.Spec{Name: "paid"})
	must(t, err)
	for range 3 {
		a := h.call("POST", "/v1/chat/completions", ask("test/plain", ""), bearer(trial)...)
		if a.status != http.StatusServiceUnavailable || a.header.Get("X-Error-Code") != "overloaded" || !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
			t.Errorf("trial: %d %s", a.status, a.body)
		}
		if a := h.call("POST", "/v1/chat/completions", ask("test/plain", ""), bearer(paid)...); a.status != http.StatusOK || !strings.Contains(a.body, "hello") {
			t.Errorf("paid: %d %s", a.status, a.body)
		}
		if a := h.call("GET", "/v1/models", "", bearer(trial)...); a.status != http.StatusOK {
			t.Errorf("a look: %d %s", a.status, a.body)
		}
	}
}

// TestLooksAreShedLastAndBounded calls a replica that stays late, and one where an account has many looks open.
func TestLooksAreShedLastAndBounded(t *testing.T) {
	t.Parallel()
	gate := admission.New(admission.Options{InFlightMax: 100, Busy: 1, LateMax: 10 * time.Millisecond})
	h := setup(t, func(p *plan) { p.api.Gate = gate })
	secret := h.secret()
	look := func(n int) (passed int) {
		for range n {
			a := h.call("GET", "/v1/models", "", bearer(secret)...)
			switch {
			case a.status == http.StatusOK:
				passed++
			case a.status != http.StatusServiceUnavailable || a.header.Get("X-Error-Code") != "overloaded" || a.header.Get("Retry-After") == "":
				t.Fatalf("a look: %d %s", a.status, a.body)
			}
		}
		return passed
	}
	_, err := gate.Enter(false)
	must(t, err)
	late := admission.Sample{Queued: time.Second, Waited: 1000}
	for range 25 { // After this, all trial calls are refused, and some paid ones.
		gate.Look(late)
	}
	if n := look(20); n != 20 {
		t.Errorf("%d of 20 looks pass where calls are refused", n)
	}
	for range 50 {
		gate.Look(late)
	}
	if n := look(50); n < 5 || n > 25 {
		t.Errorf("%d of 50 looks at a replica that stays late pass", n)
	}
	for range 100 {
		gate.Look(admission.Sample{})
	}
	if n := look(20); n != 20 {
		t.Errorf("%d of 20 looks pass after it", n)
	}
}

// TestARefusalWaitsForNoBody promises bodies that never come. A small one would be skipped, and with a large one the connection
// ends; a small one that came lets the connection be used again.
func TestARefusalWaitsForNoBody(t *testing.T) {
	t.Parallel()
	h := setup(t, func(p *plan) { p.api.Gate = taken(t, 4, 4) })
	for _, c := range []struct {
		length int
		body   string
		closes bool
	}{{1000, "", true}, {10 << 20, `{"model":`, true}, {15, `{"model":"x/y"}`, false}} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
		must(t, err)
		must(t, conn.SetDeadline(time.Now().Add(20*time.Second)))
		_, err = io.WriteString(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Type: application/json"+
			"\r\nContent-Length: "+strconv.Itoa(c.length)+"\r\n\r\n"+c.body)
		must(t, err)
		b := bufio.NewReader(conn)
		resp, err := http.ReadResponse(b, nil)
		must(t, err)
		_, err = io.Copy(io.Discard, resp.Body)
		must(t, err)
		if resp.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%d bytes: %d", c.length, resp.StatusCode)
		}
		_, err = io.WriteString(conn, "GET /v1/nothing HTTP/1.1\r\nHost: x\r\n\r\n")
		again, err2 := http.ReadResponse(b, nil)
		if ended := err != nil || err2 != nil; ended != c.closes {
			t.Errorf("%d bytes of which %d came: the connection ended: %v (%v, %v)", c.length, len(c.body), ended, err, err2)
		}
		if again != nil {
			_ = again.Body.Close()
		}
		_ = conn.Close()
	}
}

// BenchmarkRefusal is what a call costs that gets no place, from the door to its log line; the aim is 50 µs.
func BenchmarkRefusal(b *testing.B) {
	for name, places := range map[string]struct {
		max  int64
		take int
	}{"replica full": {4, 4}, "trial, nearly full": {10, 8}} {
		b.Run(name, func(b *testing.B) {
			h, s := build(b, func(p *plan) { p.api.Gate = taken(b, places.max, places.take) })
			handler := s.Handler()
			_, secret := h.key(apikey.Spec{})
			r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(ask("test/plain", "")))
			r.Header.Set("Authorization", "Bearer "+secret)
			r.Header.Set("Content-Type", "application/json")
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != http.StatusServiceUnavailable {
				b.Fatal(w.Code, w.Body)
			}
			b.ReportAllocs()
			before := cpuTime(b)
			for b.Loop() {
				w.Body.Reset()
				handler.ServeHTTP(w, r)
			}
			took := (cpuTime(b) - before) / time.Duration(b.N)
			b.ReportMetric(float64(took.Nanoseconds()), "cpu-ns/op")
			if took > refusalMax && b.N > 1000 {
				b.Errorf("a refusal takes %v of a processor", took)
			}
		})
	}
}

// cpuTime is what the process has taken so far, whatever else the machine does.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
