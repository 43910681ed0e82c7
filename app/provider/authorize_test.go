package provider_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/llm"
	"umg/app/provider"
)

// tokenServer gives tokens, and knows which of them are valid.
type tokenServer struct {
	*httptest.Server

	now      app.Clock
	lifetime time.Duration
	fails    func(n int64) bool // Fails is whether the request with this number fails; it may be nil.

	count, running, most atomic.Int64

	mu   sync.Mutex
	ends map[string]time.Time
}

func newTokenServer(t *testing.T, now app.Clock, lifetime time.Duration) *tokenServer {
	t.Helper()
	s := &tokenServer{now: now, lifetime: lifetime, ends: map[string]time.Time{}}
	s.Server = serve(t, s.give)
	return s
}

func (s *tokenServer) give(w http.ResponseWriter, _ *http.Request) {
	if n := s.running.Add(1); n > s.most.Load() {
		s.most.Store(n)
	}
	defer s.running.Add(-1)
	n := s.count.Add(1)
	if s.fails != nil && s.fails(n) {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	token := fmt.Sprintf("token_%d.x", n)
	s.mu.Lock()
	s.ends[token] = s.now().Add(s.lifetime)
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"access_token":%q,"expires_in":%d,"token_type":"Bearer"}`, token, int(s.lifetime.Seconds()))
}

// admits reports whether a request has a valid token.
func (s *tokenServer) admits(r *http.Request) bool {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now().Before(s.ends[token])
}

func (s *tokenServer) revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.ends)
}

// movedClock is a time that a test moves.
type movedClock struct{ nanos atomic.Int64 }

func newMovedClock() *movedClock {
	c := &movedClock{}
	c.nanos.Store(time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *movedClock) Now() time.Time      { return time.Unix(0, c.nanos.Load()).UTC() }
func (c *movedClock) add(d time.Duration) { c.nanos.Add(int64(d)) }

// userRoute is a route whose credential is a refresh token.
func userRoute(t *testing.T, url, tokenURI string) *catalog.Route {
	t.Helper()
	raw, err := json.Marshal(map[string]string{
		"type": "authorized_user", "client_id": "client-1", "client_secret": "client-secret-1", "refresh_token": "refresh-secret-1", "token_uri": tokenURI,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := route(url)
	r.Provider.Auth = catalog.Auth{Kind: catalog.AuthGoogle, Scope: "s"}
	r.Provider.Credentials = []catalog.Secret{catalog.NewSecret(string(raw))}
	return r
}

// guarded is a provider that answers 401 to requests without a valid token, with the body of the request.
func guarded(t *testing.T, tokens *tokenServer, refused *atomic.Int64) *httptest.Server {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if !tokens.admits(r) {
			refused.Add(1)
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"no: %s"}}`, r.Header.Get("Authorization"))
			return
		}
		_, _ = w.Write(body)
	})
}

func TestNoCallFailsWhileTokensAreRenewed(t *testing.T) {
	t.Parallel()
	const calls, workers = 10_000, 8
	clock := newMovedClock()
	tokens := newTokenServer(t, clock.Now, 10*time.Minute)
	tokens.fails = func(n int64) bool { return n > 1 && n%3 != 0 }
	var refused, number atomic.Int64
	s := guarded(t, tokens, &refused)
	c, r := client(t, provider.Options{Now: clock.Now}), userRoute(t, s.URL, tokens.URL)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for n := number.Add(1); n <= calls && !t.Failed(); n = number.Add(1) {
				clock.add(200 * time.Millisecond)
				a, f := send(t, c, r, false)
				if f != nil {
					t.Errorf("call %d: %v", n, f)
					return
				}
				if _, f := a.ReadAll(); f != nil {
					t.Errorf("call %d: %v", n, f)
				}
				a.Close()
			}
		})
	}
	all.Wait()
	if refused.Load() != 0 || tokens.most.Load() != 1 || tokens.count.Load() < 10 {
		t.Errorf("%d calls had a bad token; %d requests for tokens, %d at once", refused.Load(), tokens.count.Load(), tokens.most.Load())
	}
}

func TestARejectedTokenIsReplacedOnce(t *testing.T) {
	t.Parallel()
	clock := newMovedClock()
	tokens := newTokenServer(t, clock.Now, time.Hour)
	var refused atomic.Int64
	s := guarded(t, tokens, &refused)
	c, r := client(t, provider.Options{Now: clock.Now}), userRoute(t, s.URL, tokens.URL)
	for name, call := range map[string]func() *provider.Fault{
		"Send": func() *provider.Fault {
			a, f := send(t, c, r, false)
			if f == nil {
				var body []byte
				body, f = a.ReadAll()
				a.Close()
				if string(body) != `{"x":1}` {
					t.Errorf("the second request has the body %q", body)
				}
			}
			return f
		},
		"Do": func() *provider.Fault {
			p := payload(strings.Repeat("x", 20<<10))
			defer p.Release()
			reply, f := c.Do(t.Context(), r, provider.Call{Method: http.MethodPost, Path: "/x", Payload: p})
			if f != nil {
				return f
			}
			body, f := reply.ReadAll(1 << 20)
			_ = reply.Close()
			if f == nil && reply.Status != http.StatusOK {
				return reply.StatusFault(reply.Status, body)
			}
			if len(body) != 20<<10 {
				t.Errorf("the second request has a body of %d bytes", len(body))
			}
			return f
		},
		"Do without a body": func() *provider.Fault {
			reply, f := c.Do(t.Context(), r, provider.Call{Method: http.MethodGet, Path: "/x"})
			if f != nil {
				return f
			}
			_ = reply.Close()
			if reply.Status != http.StatusOK {
				return reply.StatusFault(reply.Status, nil)
			}
			return nil
		},
	} {
		if f := call(); f != nil {
			t.Fatalf("%s: %v", name, f)
		}
		clock.add(2 * time.Minute)
		before, fetched := refused.Load(), tokens.count.Load()
		tokens.revoke()
		if f := call(); f != nil || refused.Load() != before+1 || tokens.count.Load() != fetched+1 {
			t.Errorf("%s: %v after %d refusals and %d requests", name, f, refused.Load()-before, tokens.count.Load()-fetched)
		}
		tokens.revoke()
		f := call()
		if f == nil || f.Class != provider.ClassCredential || f.Status != http.StatusUnauthorized || tokens.count.Load() != fetched+1 {
			t.Errorf("%s: a second refusal within a minute: %v", name, f)
		}
		if f != nil && (strings.Contains(f.Error(), "token_") || strings.Contains(f.Error(), "secret-1")) {
			t.Errorf("%s: the fault has a secret: %v", name, f)
		}
		clock.add(2 * time.Minute)
	}
}

func TestATokenSurvivesANewCatalog(t *testing.T) {
	t.Parallel()
	clock := newMovedClock()
	tokens := newTokenServer(t, clock.Now, time.Hour)
	var refused atomic.Int64
	s := guarded(t, tokens, &refused)
	c := client(t, provider.Options{Now: clock.Now})
	for i := range 3 {
		r := userRoute(t, s.URL, tokens.URL)
		r.Provider.Headers = map[string]string{"X-Extra": fmt.Sprint(i)}
		for _, connect := range []time.Duration{time.Second, 2 * time.Second} {
			r.Timeouts.Connect = connect
			a, f := send(t, c, r, false)
			if f != nil {
				t.Fatal(f)
			}
			a.Close()
		}
	}
	if tokens.count.Load() != 1 {
		t.Errorf("%d requests for one token", tokens.count.Load())
	}
}

func TestRequestsForTokensUseTheProxyOfTheProvider(t *testing.T) {
	t.Parallel()
	p := &proxy{}
	via := httptest.NewServer(p)
	t.Cleanup(via.Close)
	c, r := client(t, provider.Options{}), userRoute(t, "http://127.0.0.1:9", "http://127.0.0.1:9/token")
	r.Provider.Proxy = strings.Replace(via.URL, "http://", "http://user:pass@", 1)
	_, f := send(t, c, r, false)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.asked) != 1 || !strings.HasPrefix(p.asked[0], "POST http://127.0.0.1:9/token Basic ") {
		t.Errorf("%q, %v", p.asked, f)
	}
	if f == nil || f.Class != provider.ClassServer || !strings.Contains(f.Error(), "the token endpoint 127.0.0.1:9 answered without a token") {
		t.Errorf("%v", f)
	}
}

// TestTheMetadataServerIsAskedWithoutAProxy has a provider behind a proxy, and a metadata server that only the machine reaches.
func TestTheMetadataServerIsAskedWithoutAProxy(t *testing.T) {
	t.Parallel()
	p := &proxy{}
	via := httptest.NewServer(p)
	t.Cleanup(via.Close)
	var asked atomic.Int64
	machine := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, `{"access_token":"of-the-machine","expires_in":3599,"token_type":"Bearer"}`)
	})
	c, r := client(t, provider.Options{}), userRoute(t, "http://127.0.0.1:9", "")
	r.Provider.Proxy = strings.Replace(via.URL, "http://", "http://user:pass@", 1)
	r.Provider.Auth = catalog.Auth{Kind: catalog.AuthGoogleMetadata, Scope: "s", Authority: machine.URL}
	r.Provider.Credentials = []catalog.Secret{{}}
	_, f := send(t, c, r, false)
	p.mu.Lock()
	defer p.mu.Unlock()
	if asked.Load() != 1 || len(p.asked) != 1 || !strings.HasPrefix(p.asked[0], "POST http://127.0.0.1:9/") {
		t.Errorf("the metadata server was asked %d times, the proxy %q: %v", asked.Load(), p.asked, f)
	}
}

func TestFailuresOfTokensAreThoseOfTheProvider(t *testing.T) {
	t.Parallel()
	var status atomic.Int64
	answers := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(int(status.Load()))
		fmt.Fprintf(w, `{"error":"invalid_client","error_description":"not %s"}`, r.FormValue("client_secret"))
	})
	closed := serve(t, func(http.ResponseWriter, *http.Request) {})
	closed.Close()
	provided := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request without a token was sent") })
	for _, k := range []struct {
		status int
		uri    string
		class  provider.Class
		says   string
	}{
		{400, answers.URL, provider.ClassCredential, "refused the credential with status 400: invalid_client"},
		{500, answers.URL, provider.ClassServer, "answered 500"},
		{0, closed.URL, provider.ClassConnect, "did not answer"},
		{0, "https://does-not-exist.invalid/token", provider.ClassDNS, "does-not-exist.invalid did not answer"},
		{0, "http://token.example/", provider.ClassSetup, "the credential of provider p cannot be used: token_uri must be an https address"},
	} {
		status.Store(int64(k.status))
		c, r := client(t, provider.Options{}), userRoute(t, provided.URL, k.uri)
		_, f := send(t, c, r, false)
		_, unsent := c.Do(t.Context(), r, provider.Call{Method: http.MethodPost, Path: "/x", Payload: payload(`{}`)})
		for _, f := range []*provider.Fault{f, unsent} {
			if f == nil || f.Class != k.class || !strings.Contains(f.Error(), k.says) || strings.Contains(f.Error(), "secret-1") || f.Status != 0 || f.Sent {
				t.Errorf("%s: %v", k.uri, f)
			}
		}
		if unsent != nil && !unsent.Unsent {
			t.Errorf("%s: the request counts as sent", k.uri)
		}
	}
}

func TestACallThatEndsDoesNotWaitForAToken(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	tokens := serve(t, func(http.ResponseWriter, *http.Request) { close(asked); <-release })
	defer close(release)
	c, r := client(t, provider.Options{}), userRoute(t, "http://127.0.0.1:9", tokens.URL)
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan *provider.Fault, 1)
	go func() {
		p := payload(`{}`)
		defer p.Release()
		_, f := c.Send(ctx, provider.Attempt{Route: r, Payload: p})
		ended <- f
	}()
	<-asked
	cancel(provider.ErrFirstByte)
	if f := <-ended; f == nil || f.Class != provider.ClassFirstByte {
		t.Errorf("%v", f)
	}
}

func TestTheCredentialOfAQueryIsNeverShown(t *testing.T) {
	t.Parallel()
	const key = "a/b+c key"
	seen := make(chan string, 4)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.URL.RequestURI()
		if r.URL.Query().Get("key") != key || len(r.URL.Query()["key"]) != 1 || r.Header.Get("Authorization") != "" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":"bad %s or %s"}}`, r.URL.RequestURI(), key)
	})
	var log bytes.Buffer
	c, r := client(t, provider.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}), route(s.URL)
	r.Provider.Auth = catalog.Auth{Kind: catalog.AuthQuery, Parameter: "key"}
	r.Provider.Credentials = []catalog.Secret{catalog.NewSecret(key)}
	check := func(f *provider.Fault) {
		t.Helper()
		if f == nil || strings.Contains(f.Error()+f.Err.Message+log.String(), "a/b+c") || strings.Contains(f.Error()+f.Err.Message, "a%2Fb") ||
			!strings.Contains(f.Error(), "[redacted]") {
			t.Errorf("%v", f)
		}
	}
	r.Style, r.Model = llm.Native, "up"
	_, f := send(t, c, r, true)
	check(f)
	for _, path := range []string{"/x?alt=media&key=other", "/y", s.URL + "/z?a=b"} {
		reply, f := c.Do(t.Context(), r, provider.Call{Method: http.MethodGet, Path: path})
		if f != nil {
			t.Fatal(f)
		}
		body, _ := reply.ReadAll(1000)
		_ = reply.Close()
		check(reply.StatusFault(reply.Status, body))
		if !reply.HasCredential("x"+key) || strings.Contains(reply.Redact("it is "+key), "a/b") {
			t.Error("the credential is not known as one")
		}
	}
	for _, want := range []string{
		"/v1/models/up:streamGenerateContent?alt=sse&key=a%2Fb%2Bc+key", "/v1/x?alt=media&key=a%2Fb%2Bc+key", "/v1/y?key=a%2Fb%2Bc+key",
		"/z?a=b&key=a%2Fb%2Bc+key",
	} {
		if got := <-seen; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	s.Close()
	if _, f := send(t, c, r, true); f == nil || strings.Contains(f.Error(), "a%2Fb") || strings.Contains(f.Error(), key) {
		t.Errorf("%v", f)
	}
}

func TestACredentialOfAnotherFormIsAFaultOfTheCatalog(t *testing.T) {
	t.Parallel()
	for kind, value := range map[catalog.AuthKind]string{catalog.AuthSigV4: "hunter2", catalog.AuthJWT: "hunter2", catalog.AuthGoogle: "hunter2"} {
		r := route("http://127.0.0.1:9")
		r.Provider.Auth, r.Provider.Credentials = catalog.Auth{Kind: kind}, []catalog.Secret{catalog.NewSecret(value)}
		_, f := send(t, client(t, provider.Options{}), r, false)
		if f == nil || f.Class != provider.ClassSetup || strings.Contains(f.Error(), "hunter2") || !strings.Contains(f.Error(), "auth of kind "+string(kind)) {
			t.Errorf("%s: %v", kind, f)
		}
	}
}

func TestAProviderWithoutAuthGetsNoCredential(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(fmt.Sprint(r.Header, r.URL), credential) {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		w.Header().Set("Content-Type", "application/json")
	})
	r := route(s.URL)
	r.Provider.Auth = catalog.Auth{Kind: catalog.AuthNone}
	a, f := send(t, client(t, provider.Options{}), r, false)
	if f != nil {
		t.Fatal(f)
	}
	a.Close()
}
