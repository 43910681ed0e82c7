package provider_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/provider"
	"umg/app/provider/errorclass"
)

func TestEachAttemptUsesTheCredentialItNames(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Header.Get("X-Key"))
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{}")
	})
	c, r := client(t, provider.Options{}), route(s.URL)
	r.Provider.CredentialHeader = "x-key"
	r.Provider.Credentials = []catalog.Secret{catalog.NewSecret("first"), catalog.NewSecret("second")}
	for _, i := range []int{1, 0, 1} {
		p := payload("{}")
		a, f := c.Send(t.Context(), provider.Attempt{Route: r, Credential: i, Payload: p})
		p.Release()
		if f != nil {
			t.Fatal(f)
		}
		a.Close()
	}
	if got := strings.Join(seen, " "); got != "second first second" {
		t.Errorf("%s", got)
	}
}

// proxy is an HTTP proxy that lets everything through to one address, and notes what it was asked.
type proxy struct {
	to     string
	status int // the status of its refusals; zero for none
	mu     sync.Mutex
	asked  []string
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.Method+" "+r.RequestURI+" "+r.Header.Get("Proxy-Authorization"))
	p.mu.Unlock()
	if p.status != 0 {
		w.WriteHeader(p.status)
		return
	}
	if r.Method != http.MethodConnect {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"by":"proxy"}`)
		return
	}
	up, err := net.Dial("tcp", p.to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = up.Close()
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	tunnel(conn, buffered.Reader, up)
}

// tunnel copies both ways until both have ended.
func tunnel(conn net.Conn, from *bufio.Reader, up net.Conn) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(up, from)
		_ = up.Close()
	}()
	_, _ = io.Copy(conn, up)
	_ = conn.Close()
	<-done
}

func (p *proxy) first() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked) == 0 {
		return ""
	}
	return p.asked[0]
}

func TestAProviderIsReachedThroughItsProxy(t *testing.T) {
	t.Parallel()
	p := &proxy{}
	way := httptest.NewServer(p)
	t.Cleanup(way.Close)
	r := route("http://provider.invalid") // nothing but the proxy can reach it
	r.Provider.Proxy = strings.Replace(way.URL, "http://", "http://user:pass@", 1)
	a, f := send(t, client(t, provider.Options{}), r, false)
	if f != nil {
		t.Fatal(f)
	}
	a.Close()
	if got := p.first(); got != "POST http://provider.invalid/v1/chat/completions Basic dXNlcjpwYXNz" {
		t.Errorf("the proxy was asked %q", got)
	}
	if _, f = send(t, client(t, provider.Options{}), route("http://provider.invalid"), false); f == nil || f.Class != provider.ClassDNS {
		t.Errorf("without the proxy: %v", f)
	}
}

func TestAProxyCarriesTLSToTheProvider(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	}))
	t.Cleanup(s.Close)
	p := &proxy{to: s.Listener.Addr().String()}
	way := httptest.NewServer(p)
	t.Cleanup(way.Close)
	r := route("https://example.com") // what the certificate is made out to
	r.Provider.Proxy = way.URL
	c := client(t, provider.Options{TLS: s.Client().Transport.(*http.Transport).TLSClientConfig})
	a, f := send(t, c, r, false)
	if f != nil {
		t.Fatal(f)
	}
	raw, f := a.ReadAll()
	a.Close()
	if f != nil || string(raw) != "Bearer "+credential || p.first() != "CONNECT example.com:443 " {
		t.Errorf("%v, %q through %q", f, raw, p.first())
	}
}

func TestAProxyThatFailsIsAConnectionThatFails(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusProxyAuthRequired, http.StatusBadGateway} {
		way := httptest.NewServer(&proxy{status: status})
		t.Cleanup(way.Close)
		r := route("https://provider.invalid")
		r.Provider.Proxy = way.URL
		if _, f := send(t, client(t, provider.Options{}), r, false); f == nil || f.Class != provider.ClassConnect || f.Retry != provider.Here {
			t.Errorf("%d: %v", status, f)
		}
	}
	r := route("https://provider.invalid")
	r.Provider.Proxy = "http://127.0.0.1:1"
	if _, f := send(t, client(t, provider.Options{}), r, false); f == nil || f.Class != provider.ClassConnect {
		t.Errorf("%v", f)
	}
	r = route("https://provider.invalid")
	r.Provider.Proxy = "socks5://user:hunter2@proxy.invalid"
	if _, f := send(t, client(t, provider.Options{}), r, false); f == nil || f.Class != provider.ClassSetup || strings.Contains(f.Error(), "hunter2") {
		t.Errorf("%v", f)
	}
}

// TestTheEnvironmentNamesNoProxy is not parallel, since the environment is everybody's.
func TestTheEnvironmentNamesNoProxy(t *testing.T) {
	p := &proxy{}
	way := httptest.NewServer(p)
	t.Cleanup(way.Close)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, way.URL)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	load := payload("{}")
	defer load.Release()
	if _, f := client(t, provider.Options{}).Send(ctx, provider.Attempt{Route: route("http://provider.invalid"), Payload: load}); f == nil {
		t.Error("a name that does not exist was reached")
	}
	if got := p.first(); got != "" {
		t.Errorf("the proxy was asked %q", got)
	}
}

func TestADateIsComparedWithOurClockWhereTheUpstreamShowsNone(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"Sat, 21 Nov 2026 10:00:09 GMT": 9 * time.Second, "Sat, 21 Nov 2026 09:00:00 GMT": 0, "Sun, 22 Nov 2026 09:00:00 GMT": time.Minute,
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Date"] = nil
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		if _, f := send(t, client(t, provider.Options{Now: func() time.Time { return now }}), route(s.URL), false); f.After != want {
			t.Errorf("%q: %s, want %s", header, f.After, want)
		}
	}
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After-Ms", "1500")
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	if _, f := send(t, client(t, provider.Options{}), route(s.URL), false); f.After != 1500*time.Millisecond {
		t.Errorf("in milliseconds: %s", f.After)
	}
}

func TestWhatRefusalsMeanByTheirWords(t *testing.T) {
	t.Parallel()
	const refused, credential, limited, server = provider.ClassRefused, provider.ClassCredential, provider.ClassRateLimited, provider.ClassServer
	for _, c := range []struct {
		status  int
		body    string
		class   provider.Class
		tooLong bool
	}{
		{408, `{}`, server, false},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, server, false},
		{403, `{"error":{"message":"no access","code":"forbidden"}}`, credential, false},
		{403, `{"error":{"message":"stopped","code":"content_filter"}}`, refused, false},
		{403, `{"error":{"message":"stopped","type":"moderation_error"}}`, refused, false},
		{403, `{"error":{"message":"Your input was flagged for violence."}}`, refused, false},
		{429, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`, limited, false},
		{429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, credential, false},
		{400, `{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}`, refused, true},
		{400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."}}`, refused, true},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 209001 tokens > 200000 maximum"}}`, refused, true},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 198000 + 8000 > 200000"}}`, refused, true},
		{400, `{"error":{"message":"Your input exceeds the context window of this model."}}`, refused, true},
		{400, `{"error":{"code":400,"message":"The input token count (1209001) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, refused, true},
		{400, `{"error":{"message":"max_tokens exceeds the maximum for this model"}}`, refused, false},
		{404, `{"error":{"message":"prompt is too long"}}`, refused, false},
		{500, `{"error":{"message":"prompt is too long"}}`, server, false},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		_, f := send(t, client(t, provider.Options{}), route(s.URL), false)
		if f.Class != c.class || f.TooLong != c.tooLong || f.TooLong != (f.Err.Code == "context_length_exceeded") {
			t.Errorf("%d %s: %s, too long: %t, code %s", c.status, c.body, f.Class, f.TooLong, f.Err.Code)
		}
	}
}

// TestErrorsMeanWhatTheTableOfTheProviderSays sends the same calls to providers with different tables.
func TestErrorsMeanWhatTheTableOfTheProviderSays(t *testing.T) {
	t.Parallel()
	const noKey = `{"code":"invalid-argument","error":"Incorrect API key provided."}`
	for _, c := range []struct {
		reader, body string
		status       int
		class        provider.Class
		retry        provider.Retry
		meaning      errorclass.Meaning
		after        time.Duration
		clientStatus int
	}{
		{"xai", noKey, 400, provider.ClassCredential, provider.Elsewhere, errorclass.Key, 0, 0},
		{"openai", noKey, 400, provider.ClassRefused, provider.Nowhere, errorclass.Request, 0, 400},
		{"gemini", `{"error":{"message":"User location is not supported."}}`, 400, provider.ClassRefused, provider.Elsewhere, errorclass.Route, 0, 0},
		{"openai", `{"error":{"code":"model_not_found","message":"secret-name"}}`, 404, provider.ClassRefused, provider.Elsewhere, errorclass.Route, 0, 0},
		{"gemini", `{"error":{"details":[{"retryDelay":"34.4s"}]}}`, 429, provider.ClassRateLimited, provider.Here, errorclass.Rate, 34400 * time.Millisecond, 0},
		{"gemini", `{"error":{"details":[{"violations":[{"quotaId":"PerDay"}]},{"retryDelay":"9s"}]}}`, 429,
			provider.ClassRateLimited, provider.Elsewhere, errorclass.Quota, 9 * time.Second, 0},
		{"cohere", `{"error_type":"TOO_MANY_TOKENS","message":"too many"}`, 400, provider.ClassRefused, provider.Nowhere, errorclass.TooLong, 0, 400},
	} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		r := route(s.URL)
		r.Provider.UsageReader = c.reader
		_, f := send(t, client(t, provider.Options{}), r, false)
		if f.Class != c.class || f.Retry != c.retry || f.Meaning != c.meaning || f.After != c.after || f.Err.Status != c.clientStatus {
			t.Errorf("%s %d %s: %+v, %+v", c.reader, c.status, c.body, f, f.Err)
		}
		if f.Meaning == errorclass.Route && (f.Err.Kind != app.Unavailable || strings.Contains(f.Err.Message, "secret-name")) {
			t.Errorf("%s: %+v", c.body, f.Err)
		}
		if f.Class == provider.ClassRateLimited && f.Err.RetryAfter != c.after {
			t.Errorf("%s: the client waits %s", c.body, f.Err.RetryAfter)
		}
	}
}
