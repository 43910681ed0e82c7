package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"umg/api"
	"umg/app"
	"umg/app/telemetry/metric"
	"umg/app/traffic"
)

// pages is a small console: enough routes to see what the server does around a page.
type pages struct {
	entered chan struct{}
	release chan struct{}
}

func (p *pages) Mount(g *echo.Group) {
	g.GET("", func(c echo.Context) error { return c.HTML(http.StatusOK, "<p>home") })
	g.GET("/panic", func(echo.Context) error { panic("secret of the stack") })
	g.GET("/panic-late", func(c echo.Context) error {
		_, _ = c.Response().Write([]byte("half an answer"))
		c.Response().Flush()
		panic("too late")
	})
	g.GET("/fail", func(echo.Context) error { return errors.New("password=hunter2") })
	g.POST("/form", func(c echo.Context) error {
		b, err := io.ReadAll(c.Request().Body)
		if err != nil {
			return err
		}
		return c.String(http.StatusOK, fmt.Sprint(len(b)))
	})
	g.GET("/wait", func(c echo.Context) error {
		c.Response().WriteHeader(http.StatusOK)
		c.Response().Flush()
		p.entered <- struct{}{}
		select {
		case <-p.release:
			return c.String(http.StatusOK, "finished")
		case <-c.Request().Context().Done():
			_, err := io.WriteString(c.Response(), "cut: "+app.AsError(context.Cause(c.Request().Context())).Code)
			return err
		}
	})
}

func (p *pages) Leave() {}

func (p *pages) WriteError(c echo.Context, err error) error {
	status := map[app.Kind]int{app.NotFound: 404, app.Forbidden: 403, app.MethodNotAllowed: 405}[api.Explain(c, err).Kind]
	if status == 0 {
		status = http.StatusInternalServerError
	}
	return c.HTML(status, "<p>error page")
}

// lines is a log that tests read.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// of returns the lines about one request.
func (l *lines) of(t *testing.T, requestID string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for line := range strings.Lines(l.text()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("a log line is not JSON: %q", line)
		}
		if m["request_id"] == requestID {
			out = append(out, m)
		}
	}
	return out
}

type running struct {
	*Server

	url, ops string
	log      *lines
	pages    *pages
	stop     context.CancelFunc
	done     chan error
}

// start serves on real listeners.
func start(t *testing.T, change func(*Options)) *running {
	t.Helper()
	r := &running{log: &lines{}, pages: &pages{entered: make(chan struct{}, 1), release: make(chan struct{})}, done: make(chan error, 1)}
	o := options(t)
	o.Console = r.pages
	o.Log = slog.New(slog.NewJSONHandler(r.log, nil))
	o.Static = http.StripPrefix(staticPath, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) }))
	o.DrainTimeout = 10 * time.Second
	if change != nil {
		change(&o)
	}
	r.Server = New(o)
	public, ops := listen(t), listen(t)
	r.url, r.ops = "http://"+public.Addr().String(), "http://"+ops.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go func() { r.done <- r.Run(ctx, public, ops) }()
	t.Cleanup(func() {
		stop()
		select {
		case <-r.pages.release:
		default:
			close(r.pages.release)
		}
		if err := <-r.done; err != nil {
			t.Errorf("Run: %v", err)
		}
		r.done <- nil
	})
	return r
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

type reply struct {
	status int
	header http.Header
	body   string
}

func call(t *testing.T, method, url, body string, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return reply{resp.StatusCode, resp.Header, string(b)}
}

func TestRootLeadsPeopleToTheConsole(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	if r := call(t, "GET", s.url+"/", ""); r.status != http.StatusSeeOther || r.header.Get("Location") != "/console" {
		t.Errorf("GET /: %d to %q", r.status, r.header.Get("Location"))
	}
	if r := call(t, "HEAD", s.url+"/", ""); r.status != http.StatusOK || r.body != "" {
		t.Errorf("HEAD /: %d %q", r.status, r.body)
	}
	if r := call(t, "GET", s.url+"/static/app.css", ""); r.status != http.StatusOK || r.body != "/app.css" {
		t.Errorf("static: %d %q", r.status, r.body)
	}
}

func TestNoPathBelongsToBothFaces(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	seen := map[string]bool{}
	machine := 0
	for _, r := range s.Routes() {
		if strings.HasPrefix(r.Path, consolePath+"/*") {
			continue
		}
		if seen[r.Method+" "+r.Path] {
			t.Errorf("%s %s is mounted twice", r.Method, r.Path)
		}
		seen[r.Method+" "+r.Path] = true
		person := r.Path == "/" || r.Path == consolePath || strings.HasPrefix(r.Path, consolePath+"/") || strings.HasPrefix(r.Path, staticPath+"/")
		if api.Owns(r.Path) == person {
			t.Errorf("%s %s belongs to both faces or to none", r.Method, r.Path)
		}
		if api.Owns(r.Path) {
			machine++
		}
	}
	for _, r := range api.Routes() {
		if !seen[r.Method+" "+r.Path] || !api.Owns(r.Path) {
			t.Errorf("%s %s is in the table and not served", r.Method, r.Path)
		}
	}
	if machine < len(api.Routes()) {
		t.Errorf("%d routes of the machine's face", machine)
	}
}

func TestOneLogLineARequestWithoutSecrets(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	r := call(t, "POST", s.url+"/v1/chat/completions?key=canary-query&x=1", `{"canary-body":1}`,
		"Authorization", "Bearer sk-umg-canary-key", "X-Client-Request-Id", "mine-1", "Cookie", "session=canary-cookie", "X-Api-Key", "canary-alias")
	if r.status != http.StatusUnauthorized {
		t.Fatalf("status %d", r.status)
	}
	found := s.log.of(t, r.header.Get("X-Request-Id"))
	if len(found) != 1 {
		t.Fatalf("%d lines: %s", len(found), s.log.text())
	}
	for name, want := range map[string]any{
		"msg": "request", "client_request_id": "mine-1", "method": "POST", "route": "/v1/chat/completions", "style": "chat",
		"status": float64(401), "error_kind": "unauthenticated", "error_code": "invalid_api_key",
	} {
		if found[0][name] != want {
			t.Errorf("%s is %v, want %v", name, found[0][name], want)
		}
	}
	if d, ok := found[0]["duration_ms"].(float64); !ok || d < 0 {
		t.Errorf("duration_ms is %v", found[0]["duration_ms"])
	}
	call(t, "GET", s.url+"/v1/canary-path/x?canary-query", "", "X-Client-Request-Id", "canary\"id")
	call(t, "GET", s.url+"/canary-path", "")
	if strings.Contains(s.log.text(), "canary") {
		t.Errorf("the log holds what it must not: %s", s.log.text())
	}
}

func TestPanicsAndForeignErrorsStayInside(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for path, secret := range map[string]string{"/console/panic": "secret of the stack", "/console/fail": "hunter2"} {
		r := call(t, "GET", s.url+path, "")
		if r.status != http.StatusInternalServerError || r.body != "<p>error page" {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
		if strings.Contains(r.body, secret) || !strings.Contains(s.log.text(), secret) {
			t.Errorf("%s: the cause must be in the log and nowhere else: %s", path, s.log.text())
		}
	}
	resp, err := client.Get(s.url + "/console/panic-late")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if b, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("an answer that broke off looks complete: %q", b)
	}
	if r := call(t, "GET", s.url+"/console", ""); r.status != http.StatusOK {
		t.Errorf("after panics: %d", r.status)
	}
}

func TestAPanicAfterTheAnswerIsLoggedAndCounted(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *Options) { o.RecentCalls = &traffic.RecentCalls{} }) // It cannot record anything.
	for _, r := range []reply{call(t, "GET", s.url+"/v1/models", ""), call(t, "POST", s.url+"/v1/chat/completions", "{}")} {
		if r.status != http.StatusUnauthorized {
			t.Errorf("%d %s", r.status, r.body)
		}
		id, found := r.header.Get("X-Request-Id"), false
		for _, line := range s.log.of(t, id) {
			found = found || line["level"] == "ERROR" && line["msg"] == "panic" && strings.Contains(fmt.Sprint(line["stack"]), "note")
		}
		if !found {
			t.Errorf("no error with the id %s: %s", id, s.log.text())
		}
	}
	outside := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("outside of requests") }))
	outside.Config.ErrorLog = s.netLog()
	outside.Start()
	defer outside.Close()
	if r, err := client.Get(outside.URL); err == nil {
		_ = r.Body.Close()
		t.Errorf("answered %d", r.StatusCode)
	}
	if text := s.log.text(); !strings.Contains(text, "outside of requests") || !strings.Contains(text, `"level":"ERROR","msg":"panic","panic":"http: panic`) {
		t.Errorf("net/http's panic is not in the log: %s", text)
	}
	if r := call(t, "GET", s.ops+"/metrics", ""); !strings.Contains(r.body, `umg_http_errors_total{kind="internal"} 3`) {
		t.Errorf("panics are not counted: %s", r.body)
	}
}

func TestPagesAreProtected(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *Options) { o.BaseURL = "https://gateway.example" })
	for _, path := range []string{"/console", "/console/nothing", "/console/fail"} {
		h := call(t, "GET", s.url+path, "").header
		for name, want := range map[string]string{
			"Content-Security-Policy": contentSecurityPolicy, "X-Content-Type-Options": "nosniff", "Cross-Origin-Opener-Policy": "same-origin",
			"Referrer-Policy": "same-origin", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
			"Strict-Transport-Security": "max-age=31536000", "Access-Control-Allow-Origin": "",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, h.Get(name))
			}
		}
	}
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{nil, 200}, // A client that is no browser sends neither header.
		{[]string{"Sec-Fetch-Site", "same-origin"}, 200},
		{[]string{"Origin", s.url}, 200},
		// Behind a proxy, the origin is the public address.
		{[]string{"Origin", "https://gateway.example", "Sec-Fetch-Site", "cross-site"}, 200},
		{[]string{"Sec-Fetch-Site", "cross-site"}, 403},
		{[]string{"Sec-Fetch-Site", "same-site"}, 403},
		{[]string{"Origin", "https://evil.example"}, 403},
		{[]string{"Origin", "null"}, 403},
		{[]string{"Origin", "https://evil.example", "X-Http-Method-Override", "GET"}, 403},
	} {
		if r := call(t, "POST", s.url+"/console/form", "a=b", c.headers...); r.status != c.status {
			t.Errorf("%v: %d %s", c.headers, r.status, r.body)
		}
	}
	if r := call(t, "POST", s.url+"/console/form", strings.Repeat("x", pageBodyBytesMax+1)); r.status == http.StatusOK {
		t.Error("a form of more than a megabyte was read")
	}
}

func TestUnknownPathsAnswerEachReaderInItsWay(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	for _, c := range []struct{ path, accept, contentType string }{
		{"/nothing", "text/html", "text/html"}, {"/nothing", "application/json", "application/json"}, {"/nothing", "", "application/json"},
		{"/v1/nothing", "text/html", "application/json"}, {"/console/nothing", "application/json", "text/html"},
		{"/metrics", "", "application/json"}, {"/debug/pprof/", "", "application/json"}, {"/readyz", "", "application/json"},
	} {
		r := call(t, "GET", s.url+c.path, "", "Accept", c.accept)
		if r.status != http.StatusNotFound || !strings.HasPrefix(r.header.Get("Content-Type"), c.contentType) {
			t.Errorf("%s for %q: %d %s", c.path, c.accept, r.status, r.header.Get("Content-Type"))
		}
	}
}

func TestOperatorsListener(t *testing.T) {
	t.Parallel()
	away, registry := make(chan error, 1), prometheus.NewRegistry()
	s := start(t, func(o *Options) {
		o.StoreAway = func(context.Context) error { return <-away }
		o.Metrics = registry
	})
	registry.MustRegister(append(s.Collectors(), metric.NewCollector(func(w *metric.Writer) {
		w.Counter("umg_holds_expired_total", "Expired holds.", 3)
		w.Counter("umg_grants_expired_total", "Expired grants.", 2)
	}))...)
	call(t, "GET", s.url+"/v1/models?key=canary", "", "Authorization", "Bearer canary")
	call(t, "FROBNICATE", s.url+"/canary", "")
	r := call(t, "GET", s.ops+"/metrics", "")
	for _, want := range []string{
		`umg_http_requests_total{method="GET",route="/v1/models",status="4xx"} 1`, `method="other",route="unmatched"`,
		"umg_http_requests_in_flight 0", "umg_holds_expired_total 3", "umg_grants_expired_total 2", "go_goroutines",
		"umg_http_request_duration_seconds_bucket",
	} {
		if !strings.Contains(r.body, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if strings.Contains(r.body, "canary") || strings.Contains(r.body, "FROBNICATE") {
		t.Error("a caller put its own words into the metrics")
	}
	if r := call(t, "GET", s.ops+"/healthz", ""); r.status != http.StatusOK {
		t.Errorf("/healthz: %d", r.status)
	}
	away <- nil
	if r := call(t, "GET", s.ops+"/readyz", ""); r.status != http.StatusOK || !strings.Contains(r.body, `"store":"ok"`) {
		t.Errorf("/readyz: %d %s", r.status, r.body)
	}
	away <- errors.New("no route to host")
	if r := call(t, "GET", s.ops+"/readyz", ""); r.status != http.StatusOK || !strings.Contains(r.body, `"store":"unreachable"`) {
		t.Errorf("/readyz without a store: %d %s", r.status, r.body)
	}
}

// TestProfilesAreServedOnlyWhereTheOperatorAsks and never with the arguments of the program.
func TestProfilesAreServedOnlyWhereTheOperatorAsks(t *testing.T) {
	t.Parallel()
	paths := []string{"", "cmdline", "profile?seconds=1", "symbol", "trace?seconds=0.01", "goroutine?debug=1", "heap", "allocs"}
	closed := start(t, nil)
	for _, path := range paths {
		if r := call(t, "GET", closed.ops+"/debug/pprof/"+path, ""); r.status != http.StatusNotFound {
			t.Errorf("/debug/pprof/%s without the setting: %d %.60s", path, r.status, r.body)
		}
	}
	open := start(t, func(o *Options) { o.Profiles = true })
	if r := call(t, "GET", open.ops+"/debug/pprof/goroutine?debug=1", ""); r.status != http.StatusOK || !strings.Contains(r.body, "goroutine") {
		t.Errorf("goroutines with the setting: %d", r.status)
	}
	if r := call(t, "GET", open.ops+"/debug/pprof/cmdline", ""); r.status != http.StatusOK || r.body != os.Args[0] {
		t.Errorf("cmdline with the setting: %d %q", r.status, r.body)
	}
}
