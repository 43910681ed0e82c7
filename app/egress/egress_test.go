package egress_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"umg/app"
	"umg/app/egress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// names answers look-ups from a table; the n-th look-up of a name gets its n-th answer, the last one from then on.
type names struct {
	mu      sync.Mutex
	answers map[string][]string
	asked   map[string]int
}

func resolver(answers map[string][]string) *names {
	return &names{answers: answers, asked: map[string]int{}}
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.answers[strings.TrimSuffix(host, ".")]
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	i := min(n.asked[host], len(list)-1)
	n.asked[host]++
	var out []netip.Addr
	for s := range strings.FieldsSeq(list[i]) {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

// canary is a listener that counts who comes.
type canary struct {
	addr  string
	calls atomic.Int64
}

func newCanary(t *testing.T) *canary {
	t.Helper()
	c := &canary{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.addr = l.Addr().String()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.calls.Add(1)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return c
}

func (c *canary) port() string { _, p, _ := net.SplitHostPort(c.addr); return p }

func client(t *testing.T, o egress.Options) *egress.Client {
	t.Helper()
	if o.Resolver == nil {
		o.Resolver = resolver(nil)
	}
	c, err := egress.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func get(t *testing.T, c *egress.Client, rawURL string) error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, rawURL, nil)
	if err != nil {
		return nil //nolint:nilerr // such a URL cannot even be asked for
	}
	resp, err := c.Do(req, 1<<10)
	if err == nil {
		_ = resp.Body.Close()
		t.Errorf("%s was fetched", rawURL)
	}
	return err
}

func wantRefusal(t *testing.T, what string, err error) {
	t.Helper()
	var e *app.Error
	if !errors.As(err, &e) || e.Kind != app.Invalid || e.Code != "url_not_allowed" || e.Message == "" {
		t.Errorf("%s: %v, want the refusal url_not_allowed", what, err)
	}
}

func TestDefaultRefusesEveryFormOfAnInternalURL(t *testing.T) {
	t.Parallel()
	trap := newCanary(t)
	answers := map[string][]string{
		"loop.example": {"127.0.0.1"}, "loop6.example": {"::1"}, "mapped.example": {"::ffff:127.0.0.1"}, "ten.example": {"10.1.2.3"},
		"meta.example": {"169.254.169.254"}, "both.example": {"93.184.216.34 127.0.0.1"}, "nat64.example": {"64:ff9b::7f00:1"},
		"sixtofour.example": {"2002:7f00:1::"}, "teredo.example": {"2001:0:7f00:1::"}, "ula.example": {"fd00:ec2::254"},
		"zero.example": {"0.0.0.0"}, "cgnat.example": {"100.100.100.200"}, "agent.example": {"168.63.129.16"},
		"good.example": {"93.184.216.34"},
	}
	c := client(t, egress.Options{Resolver: resolver(answers)})
	urls := []string{
		"https://127.1/", "https://0x7f000001/", "https://0x7f.1/", "https://2130706433/", "https://0177.0.0.1/", "https://127.0.0.1/",
		"https://127.0.0.1./", "https://[::1]/", "https://[::]/", "https://0.0.0.0/", "https://0/", "https://[::ffff:127.0.0.1]/",
		"https://[::ffff:7f00:1]/", "https://[64:ff9b::7f00:1]/", "https://[64:ff9b:1::7f00:1]/", "https://[2002:7f00:1::]/",
		"https://[2001:0:7f00:1::]/", "https://[fe80::1%25lo]/", "https://[fc00::1]/", "https://[fec0::1]/", "https://[ff02::1]/",
		"https://[::7f00:1]/", "https://10.0.0.1/", "https://172.16.0.1/", "https://192.168.0.1/", "https://169.254.169.254/latest/meta-data",
		"https://100.64.0.1/", "https://198.18.0.1/", "https://224.0.0.1/", "https://240.0.0.1/", "https://255.255.255.255/",
		"https://192.0.0.192/", "https://168.63.129.16/", "https://localhost/", "https://localhost./", "https://LOCALHOST/",
		"https://a.localhost/", "https://intranet/", "https://user@good.example/", "https://user:pw@good.example/",
		"https://good.example#@127.0.0.1/", "https://good.example\\@127.0.0.1/", "https://good.example/#", "https://ⓛocalhost/",
		"https://127。0。0。1/", "https://xn--/\x00", "https://good.example:22/", "https://good.example:6379/", "https://good.example:5432/",
		"https://good.example:0/", "https://good.example:99999/", "https://good.example:8443/", "http://good.example/",
		"http://good.example:443/", "file:///etc/passwd", "gopher://good.example/", "unix:///var/run/x.sock", "ftp://good.example/",
		"//good.example/", "/etc/passwd", "", "https://", "https:///x", "https:good.example", "https://a..example/", "https://-%20.example/",
		"https://good.example/a b", "https://good.example/\r\nX: y", "https://" + strings.Repeat("a", 64) + ".example/",
		"https://good.example/" + strings.Repeat("x", 3000), "https://loop.example/", "https://loop6.example/", "https://mapped.example/",
		"https://ten.example/", "https://meta.example/", "https://nat64.example/", "https://sixtofour.example/",
		"https://teredo.example/", "https://ula.example/", "https://zero.example/", "https://cgnat.example/", "https://agent.example/",
		"http://" + trap.addr + "/", "https://" + trap.addr + "/", "http://loop.example:" + trap.port() + "/",
	}
	for _, u := range append(urls, "https://both.example/") {
		wantRefusal(t, "Check "+u, c.Check(t.Context(), u))
	}
	// Where only the form is wrong, Do must not reach anything either, so its good.example leads inside too.
	inwards := maps.Clone(answers)
	inwards["good.example"] = []string{"127.0.0.1"}
	inside := client(t, egress.Options{Resolver: resolver(inwards)})
	for _, u := range urls {
		if err := get(t, inside, u); err != nil {
			wantRefusal(t, "Do "+u, err)
		}
	}
	if n := trap.calls.Load(); n != 0 {
		t.Errorf("the loopback listener saw %d connections", n)
	}
	if err := c.Check(t.Context(), "https://good.example/hook?token=1"); err != nil {
		t.Errorf("a public https URL is refused: %v", err)
	}
	if err := c.Check(t.Context(), "https://[2606:4700::1111]:443/"); err != nil {
		t.Errorf("a public IPv6 URL is refused: %v", err)
	}
}

func TestRefusalNeverShowsTheInnerAddress(t *testing.T) {
	t.Parallel()
	c := client(t, egress.Options{Resolver: resolver(map[string][]string{"ten.example": {"10.1.2.3"}})})
	err := c.Check(t.Context(), "https://ten.example/")
	if e := app.AsError(err); strings.Contains(e.Message, "10.1") {
		t.Errorf("the message gives away where the name leads: %s", e.Message)
	}
}

func TestANameThatTurnsInwardAfterTheCheckIsRefusedAtConnect(t *testing.T) {
	t.Parallel()
	c := client(t, egress.Options{Resolver: resolver(map[string][]string{"rebind.example": {"93.184.216.34", "127.0.0.1"}})})
	if err := c.Check(t.Context(), "https://rebind.example/"); err != nil {
		t.Fatalf("the first answer is public: %v", err)
	}
	wantRefusal(t, "Do after rebinding", get(t, c, "https://rebind.example/"))
}

func TestUnknownAndUncheckableHosts(t *testing.T) {
	t.Parallel()
	wantRefusal(t, "a host that is not in DNS", client(t, egress.Options{}).Check(t.Context(), "https://nowhere.example/"))
	err := client(t, egress.Options{Resolver: brokenResolver{}}).Check(t.Context(), "https://some.example/")
	if e := app.AsError(err); e.Kind != app.Unavailable || e.Code != "url_not_checked" || e.RetryAfter == 0 {
		t.Errorf("a resolver that is down gives %v, want Unavailable with a retry", err)
	}
}

type brokenResolver struct{}

func (brokenResolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return nil, &net.DNSError{Err: "server misbehaving", IsTemporary: true}
}

func TestAnExceptionOpensExactlyItsHostAndPort(t *testing.T) {
	t.Parallel()
	served := atomic.Int64{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		served.Add(1)
		_, _ = io.WriteString(w, "hello")
	}))
	t.Cleanup(srv.Close)
	trap := newCanary(t)
	addr := strings.TrimPrefix(srv.URL, "http://")
	_, port, _ := net.SplitHostPort(addr)
	c := client(t, egress.Options{Exceptions: []string{addr, "inner.example:" + port}, Resolver: resolver(map[string][]string{
		"inner.example": {"127.0.0.1"}, "other.example": {"127.0.0.1"}, "localhost": {"127.0.0.1"},
	})})
	for _, u := range []string{srv.URL + "/file", "http://inner.example:" + port + "/", "http://INNER.example:" + port + "/"} {
		if err := c.Check(t.Context(), u); err != nil {
			t.Errorf("Check %s: %v", u, err)
		}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, u, nil)
		resp, err := c.Do(req, 5)
		if err != nil {
			t.Fatalf("Do %s: %v", u, err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || string(body) != "hello" {
			t.Errorf("Do %s: body %q, %v", u, body, err)
		}
	}
	for _, u := range []string{
		"http://localhost:" + port, "http://other.example:" + port, "http://inner.example.:" + port, "http://a.inner.example:" + port,
		"http://" + trap.addr, "http://inner.example:" + trap.port(), "http://inner.example", "http://[::ffff:127.0.0.1]:" + port,
		"http://127.1:" + port, "http://user@" + addr, "ftp://" + addr,
	} {
		wantRefusal(t, "Check "+u, c.Check(t.Context(), u))
		wantRefusal(t, "Do "+u, get(t, c, u))
	}
	if served.Load() != 3 || trap.calls.Load() != 0 {
		t.Errorf("%d answers and %d connections to the canary, want 3 and 0", served.Load(), trap.calls.Load())
	}
}

func TestWrongExceptionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, e := range []string{"", "host", "host:", ":80", "*:80", "10.0.0.0/8:80", "host:http", "host:0", "host:70000", "http://host:80"} {
		if _, err := egress.New(egress.Options{Exceptions: []string{e}}); err == nil {
			t.Errorf("exception %q was taken", e)
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	trap := newCanary(t)
	srv := httptest.NewServer(http.RedirectHandler("http://"+trap.addr+"/", http.StatusTemporaryRedirect))
	t.Cleanup(srv.Close)
	c := client(t, egress.Options{Exceptions: []string{strings.TrimPrefix(srv.URL, "http://"), trap.addr}})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, strings.NewReader("secret"))
	resp, err := c.Do(req, 100)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusTemporaryRedirect || trap.calls.Load() != 0 {
		t.Errorf("status %d, %d connections to the target of the redirect", resp.StatusCode, trap.calls.Load())
	}
}

func TestAProxyFromTheEnvironmentIsIgnored(t *testing.T) {
	trap := newCanary(t)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, "http://"+trap.addr)
	}
	c := client(t, egress.Options{Resolver: resolver(map[string][]string{"loop.example": {"127.0.0.1"}})})
	wantRefusal(t, "Do", get(t, c, "https://loop.example/"))
	if trap.calls.Load() != 0 {
		t.Error("the proxy was asked")
	}
}

func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<12)); err != nil {
					return
				}
			}
		case "/headers":
			for i := range 2000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("y", 100))
			}
		case "/slow":
			<-r.Context().Done()
		case "/drip":
			_, _ = io.WriteString(w, "x")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			_, _ = io.WriteString(w, "12345")
		}
	}))
	t.Cleanup(srv.Close)
	c := client(t, egress.Options{Exceptions: []string{strings.TrimPrefix(srv.URL, "http://")}, Timeout: 300 * time.Millisecond})
	read := func(path string, maxBytes int64) (string, error) {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, nil)
		resp, err := c.Do(req, maxBytes)
		if err != nil {
			return "", err
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		return string(b), err
	}
	if got, err := read("/endless", 1000); !errors.Is(err, egress.ErrBodyTooLarge) || len(got) != 1000 {
		t.Errorf("an endless body: %d bytes, %v", len(got), err)
	}
	if got, err := read("/", 5); err != nil || got != "12345" {
		t.Errorf("an exact fit: %q, %v", got, err)
	}
	if got, err := read("/", 4); !errors.Is(err, egress.ErrBodyTooLarge) || got != "1234" {
		t.Errorf("one byte too many: %q, %v", got, err)
	}
	if _, err := read("/headers", 100); app.KindOf(err) != app.Upstream || app.AsError(err).Code != "url_unreachable" {
		t.Errorf("200 kB of headers: %v", err)
	}
	if _, err := read("/slow", 100); app.KindOf(err) != app.Timeout || app.AsError(err).Code != "url_timeout" {
		t.Errorf("no answer: %v", err)
	}
	if _, err := read("/drip", 100); err == nil {
		t.Error("a body without end in time was read without error")
	}
}

func TestErrorsNeverHoldTheQuery(t *testing.T) {
	t.Parallel()
	trap := newCanary(t)
	c := client(t, egress.Options{Exceptions: []string{trap.addr}})
	err := get(t, c, "http://"+trap.addr+"/?token=hunter2")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error gives the query away: %v", err)
	}
}

func TestAForeignHostHeaderIsRefused(t *testing.T) {
	t.Parallel()
	c := client(t, egress.Options{Resolver: resolver(map[string][]string{"good.example": {"93.184.216.34"}})})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://good.example/", nil)
	req.Host = "inner.example"
	resp, err := c.Do(req, 1)
	if err == nil {
		_ = resp.Body.Close()
	}
	wantRefusal(t, "Do", err)
}

func FuzzCheckNeverAllowsAnythingInside(f *testing.F) {
	for _, s := range []string{"https://127.0.0.1/", "https://good.example/", "https://[::1]:443/x", "http://0x7f.1", "https://a@b"} {
		f.Add(s)
	}
	c, err := egress.New(egress.Options{Resolver: resolver(map[string][]string{"good.example": {"93.184.216.34"}})})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if c.Check(t.Context(), raw) != nil {
			return
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, raw, nil)
		if err != nil {
			t.Fatalf("Check allows %q, which net/http refuses: %v", raw, err)
		}
		if a, err := netip.ParseAddr(req.URL.Hostname()); err == nil && (!a.IsGlobalUnicast() || a.IsPrivate()) {
			t.Fatalf("Check allows %q", raw)
		}
	})
}
