package server

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestShutdownLetsRunningRequestsFinish(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	got := make(chan reply, 1)
	go func() { got <- call(t, "GET", s.url+"/console/wait", "") }()
	<-s.pages.entered
	s.stop()
	waitUntilDraining(t, s)
	if r := call(t, "GET", s.ops+"/readyz", ""); r.status != http.StatusServiceUnavailable {
		t.Errorf("/readyz while draining: %d", r.status)
	}
	if r := call(t, "GET", s.ops+"/healthz", ""); r.status != http.StatusOK {
		t.Errorf("/healthz while draining: %d", r.status)
	}
	close(s.pages.release)
	if r := <-got; r.body != "finished" {
		t.Errorf("the running request got %q", r.body)
	}
	if err := <-s.done; err != nil {
		t.Errorf("Run: %v", err)
	}
	s.done <- nil
	if c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://")); err == nil {
		_ = c.Close()
		t.Error("the listener is still open")
	}
}

// waitUntilDraining asks until the public listener refuses: by then the drain has begun.
func waitUntilDraining(t *testing.T, s *running) {
	t.Helper()
	for t.Context().Err() == nil {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			return
		}
		_ = c.Close()
	}
}

func TestShutdownEndsWhatOutlivesTheDrain(t *testing.T) {
	t.Parallel()
	s := start(t, func(o *Options) { o.DrainTimeout = 50 * time.Millisecond })
	got := make(chan reply, 1)
	go func() { got <- call(t, "GET", s.url+"/console/wait", "") }()
	<-s.pages.entered
	s.stop()
	if r := <-got; r.body != "cut: shutting_down" {
		t.Errorf("the request that outlived the drain got %q", r.body)
	}
}

func TestPlainHTTP2IsServedOnlyWhereAsked(t *testing.T) {
	t.Parallel()
	only2 := &http.Protocols{}
	only2.SetUnencryptedHTTP2(true)
	client := &http.Transport{Protocols: only2}
	defer client.CloseIdleConnections()
	for _, h2c := range []bool{true, false} {
		s := start(t, func(o *Options) { o.H2C = h2c })
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/console", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if served := err == nil && resp.ProtoMajor == 2; served != h2c {
			t.Errorf("H2C %v: served %v, %v", h2c, served, err)
		}
	}
}

func TestABrokenListenerEndsTheServer(t *testing.T) {
	t.Parallel()
	o := options(t)
	o.Log = slog.New(slog.DiscardHandler)
	public, ops := listen(t), listen(t)
	_ = public.Close()
	if err := New(o).Run(t.Context(), public, ops); err == nil {
		t.Error("Run says nothing about a listener that is closed")
	}
}

func TestPeersAreBelievedOnlyWhenTrusted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ trusted, peer, forwarded, want string }{
		{"", "10.0.0.1:5", "1.2.3.4", "10.0.0.1"},
		{"10.0.0.0/8", "10.0.0.1:5", "1.2.3.4", "1.2.3.4"},
		{"10.0.0.0/8", "10.0.0.1:5", "6.6.6.6, 1.2.3.4, 10.9.9.9", "1.2.3.4"},
		{"10.0.0.0/8", "9.9.9.9:5", "1.2.3.4", "9.9.9.9"},
		{"10.0.0.0/8", "127.0.0.1:5", "1.2.3.4", "127.0.0.1"},
		{"10.0.0.0/8", "10.0.0.1:5", "nonsense", "10.0.0.1"},
		{"fd00::/8", "[fd00::1]:5", "2001:db8::7", "2001:db8::7"},
	} {
		var trusted []netip.Prefix
		if c.trusted != "" {
			trusted = append(trusted, netip.MustParsePrefix(c.trusted))
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.peer
		r.Header.Set("X-Forwarded-For", c.forwarded)
		r.Header.Set("X-Real-Ip", "7.7.7.7")
		if got := ClientIP(trusted)(r); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// raw sends bytes as they are and returns the first line of the answer, or nothing when the connection just closed.
func raw(t *testing.T, url, request string) (line, rest string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.WriteString(conn, request)
	b := bufio.NewReader(conn)
	line, _ = b.ReadString('\n')
	resp, err := http.ReadResponse(bufio.NewReader(io.MultiReader(strings.NewReader(line), b)), nil)
	if err != nil {
		return line, ""
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body)
	return strings.TrimSpace(line), string(body)
}

func TestHostileRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	const post = "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	for name, c := range map[string]struct {
		request string
		want    []string // Want has the expected status first; the others are as good.
	}{
		"two content lengths":   {post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", []string{"400"}},
		"length and chunked":    {post + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", []string{"401", "400"}},
		"strange encoding":      {post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", []string{"501", "400"}},
		"space before colon":    {"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization : Bearer x\r\n\r\n", []string{"400"}},
		"NUL in a header":       {"GET /v1/models HTTP/1.1\r\nHost: x\r\nX-A: a\x00b\r\n\r\n", []string{"400"}},
		"no host":               {"GET /v1/models HTTP/1.1\r\n\r\n", []string{"400"}},
		"two hosts":             {"GET /v1/models HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", []string{"400"}},
		"huge header":           {"GET /v1/models HTTP/1.1\r\nHost: x\r\nX-A: " + strings.Repeat("a", 64<<10) + "\r\n\r\n", []string{"431"}},
		"unknown method":        {"FROBNICATE /v1/models HTTP/1.1\r\nHost: x\r\n\r\n", []string{"405"}},
		"trace":                 {"TRACE /v1/models HTTP/1.1\r\nHost: x\r\n\r\n", []string{"405"}},
		"connect":               {"CONNECT 10.0.0.1:22 HTTP/1.1\r\nHost: 10.0.0.1:22\r\n\r\n", []string{"404", "405", "400"}},
		"absolute form":         {"GET http://evil.example/v1/models HTTP/1.1\r\nHost: x\r\n\r\n", []string{"401"}},
		"dots":                  {"GET /v1/../console HTTP/1.1\r\nHost: x\r\n\r\n", []string{"404"}},
		"escaped dots":          {"GET /v1/%2e%2e/console HTTP/1.1\r\nHost: x\r\n\r\n", []string{"404"}},
		"dots from the console": {"GET /console/../v1/models HTTP/1.1\r\nHost: x\r\n\r\n", []string{"404"}},
		"two slashes":           {"GET //v1/models HTTP/1.1\r\nHost: x\r\n\r\n", []string{"404"}},
		"doubled slash inside":  {"GET /v1//models HTTP/1.1\r\nHost: x\r\n\r\n", []string{"401"}},
		"semicolon":             {"GET /v1/models;x=y HTTP/1.1\r\nHost: x\r\n\r\n", []string{"404"}},
		"upper case":            {"GET /V1/MODELS HTTP/1.1\r\nHost: x\r\n\r\n", []string{"404"}},
		"trailing slash":        {"POST /v1/chat/completions/ HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", []string{"404"}},
		"escaped NUL":           {"GET /v1/models/%00 HTTP/1.1\r\nHost: x\r\n\r\n", []string{"401"}},
		"bad escape":            {"GET /v1/models/%zz HTTP/1.1\r\nHost: x\r\n\r\n", []string{"400"}},
		"overlong UTF-8":        {"GET /v1/models/%c0%ae HTTP/1.1\r\nHost: x\r\n\r\n", []string{"401"}},
		"long path":             {"GET /v1/" + strings.Repeat("a", 20000) + " HTTP/1.1\r\nHost: x\r\n\r\n", []string{"404"}},
		"upgrade":               {"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", []string{"401"}},
		"hop-by-hop abuse":      {"GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: authorization\r\n\r\n", []string{"401"}},
		"expect something else": {post + "Expect: magic\r\nContent-Length: 2\r\n\r\n{}", []string{"417"}},
		"star":                  {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", []string{"404", "405", "200"}},
		"two keys":              {post + "Authorization: Bearer a\r\nAuthorization: Bearer b\r\nContent-Length: 2\r\n\r\n{}", []string{"401"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			line, body := raw(t, s.url, c.request)
			fields := strings.Fields(line)
			if len(fields) < 2 || !slices.Contains(c.want, fields[1]) {
				t.Fatalf("answer %q, want %v", line, c.want)
			}
			if slices.Contains([]string{"401", "404", "405"}, fields[1]) && !strings.HasPrefix(body, "<p>error page") && name != "star" && !json.Valid([]byte(body)) {
				t.Errorf("the answer is not JSON: %q", body)
			}
		})
	}
}
