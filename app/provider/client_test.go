package provider_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"umg/app"
	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const credential = "upstream-credential-7"

func route(url string) *catalog.Route {
	return &catalog.Route{
		Provider: &catalog.Provider{ID: "p", BaseURL: url + "/v1", Credentials: []catalog.Secret{catalog.NewSecret(credential)}, Headers: map[string]string{"X-Extra": "yes"}},
		Model:    "up", Style: llm.Chat, Timeouts: catalog.Timeouts{Connect: time.Second},
	}
}

func client(t *testing.T, o provider.Options) *provider.Client {
	t.Helper()
	c := provider.New(o)
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func payload(text string) *provider.Payload {
	p := provider.NewPayload(len(text))
	p.Data = append(p.Data, text...)
	return p
}

func send(t *testing.T, c *provider.Client, r *catalog.Route, stream bool) (*provider.Answer, *provider.Fault) {
	t.Helper()
	p := payload(`{"x":1}`)
	defer p.Release()
	return c.Send(t.Context(), provider.Attempt{Route: r, Payload: p, Stream: stream})
}

func TestAProviderIsAskedAsTheCatalogSays(t *testing.T) {
	t.Parallel()
	seen := make(chan *http.Request, 3)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		seen <- r
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = io.WriteString(w, `{"ok":true}`)
	})
	c := client(t, provider.Options{})
	r := route(s.URL)
	a, f := send(t, c, r, false)
	if f != nil {
		t.Fatal(f)
	}
	got, f := a.ReadAll()
	a.Close()
	if f != nil || string(got) != `{"ok":true}` || a.Stream {
		t.Errorf("%s, %v", got, f)
	}
	req := <-seen
	body, _ := io.ReadAll(req.Body)
	if req.Method != "POST" || req.URL.Path != "/v1/chat/completions" || string(body) != `{"x":1}` || req.ContentLength != 7 ||
		req.Header.Get("Authorization") != "Bearer "+credential || req.Header.Get("X-Extra") != "yes" || req.Header.Get("Accept-Encoding") != "identity" {
		t.Errorf("%s %s %s %v", req.Method, req.URL, body, req.Header)
	}
	r = route(s.URL)
	r.Provider.CredentialHeader, r.Provider.Paths = "X-Api-Key", map[llm.Style]string{llm.Chat: "/other"}
	p := payload(`{}`)
	defer p.Release()
	if a, f = c.Send(t.Context(), provider.Attempt{Route: r, Payload: p, Header: http.Header{"X-Call": {"c"}}}); f != nil {
		t.Fatal(f)
	}
	a.Close()
	req = <-seen
	if req.URL.Path != "/v1/other" || req.Header.Get("X-Api-Key") != credential || req.Header.Get("Authorization") != "" || req.Header.Get("X-Call") != "c" {
		t.Errorf("%s %v", req.URL, req.Header)
	}
	if a, f = send(t, c, r, false); f != nil {
		t.Fatal(f)
	}
	a.Close()
	if req = <-seen; req.Header.Get("X-Call") != "" {
		t.Error("the header of one call shows in another")
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	var conns atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{}`)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	c, r := client(t, provider.Options{}), route(s.URL)
	for range 20 {
		a, f := send(t, c, r, false)
		if f != nil {
			t.Fatal(f)
		}
		if _, f := a.ReadAll(); f != nil {
			t.Fatal(f)
		}
		a.Close()
	}
	if conns.Load() != 1 {
		t.Errorf("%d connections for 20 calls", conns.Load())
	}
}

func TestWhatStatusesMean(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]struct {
		class provider.Class
		retry provider.Retry
		kind  app.Kind
		code  string
		shown int
	}{
		400: {provider.ClassRefused, provider.Nowhere, app.Upstream, "bad_thing", 400},
		401: {provider.ClassCredential, provider.Elsewhere, app.Unavailable, "no_available_provider", 0},
		402: {provider.ClassCredential, provider.Elsewhere, app.Unavailable, "no_available_provider", 0},
		403: {provider.ClassCredential, provider.Elsewhere, app.Unavailable, "no_available_provider", 0},
		404: {provider.ClassRefused, provider.Elsewhere, app.Unavailable, "no_available_provider", 0},
		410: {provider.ClassRefused, provider.Elsewhere, app.Unavailable, "no_available_provider", 0},
		413: {provider.ClassRefused, provider.Nowhere, app.Upstream, "bad_thing", 413},
		422: {provider.ClassRefused, provider.Nowhere, app.Upstream, "bad_thing", 422},
		429: {provider.ClassRateLimited, provider.Here, app.Exhausted, "rate_limit_exceeded", 0},
		500: {provider.ClassServer, provider.Here, app.Upstream, "upstream_error", 0},
		503: {provider.ClassServer, provider.Here, app.Upstream, "upstream_error", 0},
		529: {provider.ClassServer, provider.Here, app.Upstream, "upstream_error", 0},
		204: {provider.ClassContent, provider.Elsewhere, app.Upstream, "upstream_error", 0},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			if status != 204 {
				_, _ = io.WriteString(w, `{"error":{"message":"the field is wrong","code":"bad_thing"}}`)
			}
		})
		_, f := send(t, client(t, provider.Options{}), route(s.URL), false)
		if f == nil || f.Class != want.class || f.Retry != want.retry || f.Err.Kind != want.kind || f.Err.Code != want.code || f.Err.Status != want.shown {
			t.Errorf("%d: %+v, %+v", status, f, f.Err)
			continue
		}
		if shown := strings.Contains(f.Err.Message, "the field is wrong"); shown != (want.shown != 0) {
			t.Errorf("%d: %s", status, f.Err.Message)
		}
		if status != 204 && !strings.Contains(f.Error(), "the field is wrong") {
			t.Errorf("%d: the operator does not see what the upstream said: %v", status, f)
		}
	}
}

func TestRetryAfterIsHonouredAndCapped(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "0.5": 500 * time.Millisecond, "3600": time.Minute, "-1": 0, "soon": 0, "NaN": 0,
		"Sat, 21 Nov 2026 10:00:09 GMT": 9 * time.Second, "Sat, 21 Nov 2026 09:00:00 GMT": 0, "Sun, 22 Nov 2026 09:00:00 GMT": time.Minute,
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", "Sat, 21 Nov 2026 10:00:00 GMT")
			if header != "" {
				w.Header().Set("Retry-After", header)
			}
			w.WriteHeader(429)
		})
		_, f := send(t, client(t, provider.Options{}), route(s.URL), false)
		told := cmp.Or(want, 5*time.Second) // every 429 names a wait
		if f.After != want || f.Err.RetryAfter != told {
			t.Errorf("%q: %s and %s, want %s", header, f.After, f.Err.RetryAfter, want)
		}
	}
}

func TestUpstreamMessagesShowNoSecrets(t *testing.T) {
	t.Parallel()
	var said string
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		_, _ = io.WriteString(w, said)
	})
	c := client(t, provider.Options{})
	host, _, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	for _, secret := range []string{
		"sk-proj-abc123def456", "org-4fG7h2", "https://internal.example/v1?key=1", credential, host + ":8080", "acct_1234567",
		"AKIAIOSFODNN7EXAMPLE12345", "'sk-abcdefgh'", "(key:sk-abcdefgh)", "Bearer abcdefgh12",
	} {
		said = `{"error":{"message":"Your key ` + secret + ` may not use it.","code":"Weird Code\u0000"}}`
		_, f := send(t, c, route(s.URL), false)
		bare := strings.Trim(secret, "'()")
		if strings.Contains(f.Err.Message, bare) || !strings.Contains(f.Err.Message, "may not use it.") || f.Err.Code != "upstream_error" {
			t.Errorf("%s: %s (%s)", secret, f.Err.Message, f.Err.Code)
		}
	}
	for in, want := range map[string]string{
		`{"error":"plain words"}`:                         "The upstream provider refused the request: plain words",
		`{"message":"at the top","code":"c_1"}`:           "The upstream provider refused the request: at the top",
		`{"detail":"a detail"}`:                           "The upstream provider refused the request: a detail",
		`{"error":{"message":"two\nlines\u0007 \ud83d"}}`: "The upstream provider refused the request: two lines",
		`<html>secret</html>`:                             "The upstream provider refused the request.",
		`{"error":{"message":7}}`:                         "The upstream provider refused the request.",
		``:                                                "The upstream provider refused the request.",
		`{"error":{"message":"maximum context length is 128000 tokens for get_weather_by_city_v2_extended"}}`: "The upstream provider refused the request: maximum context length is 128000 tokens for get_weather_by_city_v2_extended",
	} {
		said = in
		_, f := send(t, c, route(s.URL), false)
		if f.Err.Message != want {
			t.Errorf("%s: %q", in, f.Err.Message)
		}
	}
	said = `{"error":{"message":"` + strings.Repeat("ä ", 5000) + `"}}`
	if _, f := send(t, c, route(s.URL), false); len(f.Err.Message) > 2000 {
		t.Errorf("a message of %d bytes is passed on", len(f.Err.Message))
	}
}

func TestAnswersThatAreNotWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	for name, c := range map[string]struct {
		h      http.HandlerFunc
		stream bool
		class  provider.Class
	}{
		"HTML":    {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/html") }, false, provider.ClassContent},
		"no type": {func(w http.ResponseWriter, _ *http.Request) { w.Header()["Content-Type"] = nil }, false, provider.ClassContent},
		"compressed": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "gzip")
		}, true, provider.ClassContent},
		"redirect": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) }, true, provider.ClassRedirect},
		"permanent": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusPermanentRedirect)
		}, true, provider.ClassRedirect},
		"many headers": {func(w http.ResponseWriter, _ *http.Request) {
			for i := range 10_000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), "y")
			}
		}, false, provider.ClassTooLarge},
		"large header": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("y", 1<<20)) }, false, provider.ClassTooLarge},
	} {
		s := serve(t, c.h)
		_, f := send(t, client(t, provider.Options{}), route(s.URL), c.stream)
		if f == nil || f.Class != c.class || f.Retry != provider.Elsewhere || f.Err.Kind != app.Upstream {
			t.Errorf("%s: %v", name, f)
		}
	}
	if elsewhere.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

func TestJSONInPlaceOfAStreamIsTaken(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "application/json") })
	a, f := send(t, client(t, provider.Options{}), route(s.URL), true)
	if f != nil || a.Stream {
		t.Fatalf("%v", f)
	}
	a.Close()
}

func BenchmarkSendAndRead1K(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(bytes.Repeat([]byte(" "), 1024))
	}))
	defer s.Close()
	c, r := provider.New(provider.Options{}), route(s.URL)
	defer c.Close()
	body := bytes.Repeat([]byte("x"), 1024)
	b.ReportAllocs()
	for b.Loop() {
		p := provider.NewPayload(len(body))
		p.Data = append(p.Data, body...)
		a, f := c.Send(b.Context(), provider.Attempt{Route: r, Payload: p})
		p.Release()
		if f != nil {
			b.Fatal(f)
		}
		if _, f := a.ReadAll(); f != nil {
			b.Fatal(f)
		}
		a.Close()
	}
}

func TestAStyleMayNameTheModelInItsPath(t *testing.T) {
	t.Parallel()
	var seen atomic.Value
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.URL.RequestURI())
		w.Header().Set("Content-Type", "application/json")
	})
	c := client(t, provider.Options{})
	for _, one := range []struct {
		style  llm.Style
		stream bool
		want   string
	}{
		{llm.Messages, true, "/v1/messages"},
		{llm.Responses, false, "/v1/responses"},
		{llm.Native, false, "/v1/models/a%20b/c:generateContent"},
		{llm.Native, true, "/v1/models/a%20b/c:streamGenerateContent?alt=sse"},
		{llm.Native, false, "/v1/models/a%20b/c:generateContent"},
	} {
		r := route(s.URL)
		r.Style, r.Model = one.style, "a b/c"
		a, f := send(t, c, r, one.stream)
		if f != nil {
			t.Fatal(f)
		}
		a.Close()
		if got := seen.Load(); got != one.want {
			t.Errorf("%s, stream %v: %v, want %s", one.style, one.stream, got, one.want)
		}
	}
}
