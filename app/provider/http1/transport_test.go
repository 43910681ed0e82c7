package http1_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"umg/app/provider/http1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const keptAnswer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// server accepts connections and gives each to a function, over TLS or plain.
type server struct {
	url   string
	tls   *tls.Config // Tls trusts the server; nil for a plain one.
	conns atomic.Int64
}

// keys has a certificate for 127.0.0.1 and example.com.
var keys = sync.OnceValue(func() *httptest.Server {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	s.Close()
	return s
})

func trusting() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(keys().Certificate())
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func newServer(t testing.TB, secure bool, answer func(net.Conn)) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{url: "http://" + l.Addr().String() + "/"}
	if secure {
		s.url, s.tls = "https://"+l.Addr().String()+"/", trusting()
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			raw, err := l.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			all.Go(func() {
				defer raw.Close()
				c := raw
				if secure {
					c = tls.Server(raw, &tls.Config{Certificates: keys().TLS.Certificates, MinVersion: tls.VersionTLS12})
				}
				answer(c)
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	return s
}

// readRequest reads a whole request.
func readRequest(in *bufio.Reader) *http.Request {
	r, err := http.ReadRequest(in)
	if err != nil {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return r
}

// answering answers all requests of a connection with the same bytes.
func answering(answer string) func(net.Conn) {
	return func(c net.Conn) {
		for in := bufio.NewReader(c); readRequest(in) != nil; {
			if _, err := io.WriteString(c, answer); err != nil {
				return
			}
		}
	}
}

// newTransport makes a transport that trusts the test's servers. Change may change its options.
func newTransport(t testing.TB, change func(*http1.Options)) *http1.Transport {
	t.Helper()
	o := http1.Options{DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, TLS: trusting(), ConnectTimeout: 10 * time.Second}
	if change != nil {
		change(&o)
	}
	tr := http1.New(o)
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func newRequest(t testing.TB, method, address, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// do sends a request and reads its answer to the end.
func do(tr http.RoundTripper, r *http.Request) (int, string, error) {
	resp, err := tr.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func bothKinds(t *testing.T, run func(t *testing.T, secure bool)) {
	t.Helper()
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls=%t", secure), func(t *testing.T) {
			t.Parallel()
			run(t, secure)
		})
	}
}

// recordConn records what is written and answers each request.
type recordConn struct {
	scriptConn

	writes [][]byte
}

func (c *recordConn) Write(p []byte) (int, error) {
	c.writes = append(c.writes, bytes.Clone(p))
	return len(p), nil
}

// written returns the writes of one request.
func written(r *http.Request, change func(*http1.Options)) ([][]byte, error) {
	c := &recordConn{scriptConn: scriptConn{answer: bytes.NewReader([]byte(keptAnswer))}}
	o := http1.Options{DialContext: func(context.Context, string, string) (net.Conn, error) { return c, nil }}
	if change != nil {
		change(&o)
	}
	tr := http1.New(o)
	defer tr.CloseIdleConnections()
	_, _, err := do(tr, r)
	return c.writes, err
}

func TestRequestsAreWrittenAsNetHTTPWritesThem(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func() *http.Request{
		"post":       func() *http.Request { return newRequest(t, "POST", "http://a.example/v1/x?y=1", "body") },
		"get":        func() *http.Request { return newRequest(t, "GET", "http://a.example", "") },
		"empty post": func() *http.Request { return newRequest(t, "POST", "http://a.example:8080/a%2Fb/ü?", "") },
		"put":        func() *http.Request { return newRequest(t, "PUT", "http://[::1]:8080/", "x") },
		"foreign":    func() *http.Request { return newRequest(t, "GET", "http://bücher.example/", "") },
		"zone":       func() *http.Request { return newRequest(t, "GET", "http://[fe80::1%25lo]/", "") },
		"other host": func() *http.Request {
			r := newRequest(t, "GET", "http://a.example/", "")
			r.Host = "b.example"
			return r
		},
		"close": func() *http.Request { r := newRequest(t, "GET", "http://a.example/", ""); r.Close = true; return r },
		"opaque": func() *http.Request {
			r := newRequest(t, "GET", "http://a.example/", "")
			r.URL.Opaque = "/a(b"
			return r
		},
		"no agent": func() *http.Request {
			r := newRequest(t, "GET", "http://a.example/", "")
			r.Header["User-Agent"] = nil
			return r
		},
		"empty agent": func() *http.Request {
			r := newRequest(t, "GET", "http://a.example/", "")
			r.Header.Set("User-Agent", "")
			return r
		},
		"headers": func() *http.Request {
			r := newRequest(t, "POST", "http://a.example/", "x")
			r.Header = http.Header{
				"Zebra": {" 1 ", "2"}, "Content-Type": {"application/json"}, "lower-case": {"x"}, "User-Agent": {"me"}, "Empty": {""},
				"Host": {"c.example"}, "Content-Length": {"99"}, "Transfer-Encoding": {"chunked"}, "Trailer": {"X"}, "Connection": {"keep-alive"},
			}
			return r
		},
	} {
		var want bytes.Buffer
		if err := make().Write(&want); err != nil {
			t.Fatal(name, err)
		}
		got, err := written(make(), nil)
		if all := bytes.Join(got, nil); err != nil || !bytes.Equal(all, want.Bytes()) {
			t.Errorf("%s: %v\n%.300q, want\n%.300q", name, err, all, want.Bytes())
		}
		if len(got) != 1 {
			t.Errorf("%s: %d writes", name, len(got))
		}
	}
	got, _ := written(newRequest(t, "GET", "http://a.example/", ""), func(o *http1.Options) { o.DisableKeepAlives = true })
	if all := string(bytes.Join(got, nil)); strings.Count(all, "Connection: close\r\n") != 1 {
		t.Errorf("a connection for one request: %q", all)
	}
}

func TestWrongRequestsAreNotSent(t *testing.T) {
	t.Parallel()
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = []string{value} }
	}
	for name, change := range map[string]func(*http.Request){
		"a line in a value":  header("X", "a\r\nY: b"),
		"a line feed":        header("X", "a\nY: b"),
		"NUL in a value":     header("X", "a\x00"),
		"a line in a name":   header("X: a\r\nY", "b"),
		"a space in a name":  header("X Y", "b"),
		"an empty name":      header("", "b"),
		"a line in the host": func(r *http.Request) { r.Host = "a\r\nX: y" },
		"a space in a host":  func(r *http.Request) { r.Host = "a b" },
		"a line in a query":  func(r *http.Request) { r.URL.RawQuery = "a\r\nX: y" },
		"a space in a query": func(r *http.Request) { r.URL.RawQuery = "a b" },
		"an opaque line":     func(r *http.Request) { r.URL.Opaque = "/a\r\nX: y" },
		"a method":           func(r *http.Request) { r.Method = "GET /x" },
		"no method":          func(r *http.Request) { r.Method = "" },
		"a scheme":           func(r *http.Request) { r.URL.Scheme = "ftp" },
		"no host":            func(r *http.Request) { r.URL.Host = "" },
		"no address":         func(r *http.Request) { r.URL = nil },
		"an unknown length":  func(r *http.Request) { r.ContentLength = -1 },
		"no length":          func(r *http.Request) { r.ContentLength = 0 },
		"a short body":       func(r *http.Request) { r.ContentLength = 5 },
		"a long body":        func(r *http.Request) { r.ContentLength = 3 },
	} {
		closed := &closeReader{Reader: strings.NewReader("body")}
		r := newRequest(t, "POST", "http://a.example/", "body")
		r.Body, r.GetBody = closed, nil
		change(r)
		got, err := written(r, nil)
		if err == nil || len(got) != 0 || closed.closed.Load() != 1 || !strings.Contains(err.Error(), "cannot be sent") {
			t.Errorf("%s: %v, %q was written, the body was closed %d times", name, err, got, closed.closed.Load())
		}
	}
}

type closeReader struct {
	io.Reader

	closed atomic.Int64
}

func (r *closeReader) Close() error { r.closed.Add(1); return nil }

func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, secure bool) {
		s := newServer(t, secure, answering(keptAnswer))
		tr := newTransport(t, nil)
		for range 20 {
			if status, body, err := do(tr, newRequest(t, "POST", s.url, "x")); err != nil || status != 200 || body != "ok" {
				t.Fatal(status, body, err)
			}
		}
		if n := s.conns.Load(); n != 1 {
			t.Errorf("%d connections for 20 requests", n)
		}
		single := newTransport(t, func(o *http1.Options) { o.DisableKeepAlives = true })
		for range 3 {
			if _, _, err := do(single, newRequest(t, "POST", s.url, "x")); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.conns.Load(); n != 4 {
			t.Errorf("%d connections, want one more for each request", n)
		}
	})
}

// dialed remembers the connections that a transport has made.
type dialed struct {
	mu    sync.Mutex
	conns []*net.TCPConn
}

func (d *dialed) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, network, address)
	if tcp, ok := c.(*net.TCPConn); ok {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.conns = append(d.conns, tcp)
	}
	return c, err
}

// awaitBytes waits until bytes or the end have arrived at the last connection, and leaves them there.
func (d *dialed) awaitBytes(t *testing.T) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	raw, err := d.conns[len(d.conns)-1].SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return !errors.Is(err, syscall.EAGAIN)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// awaitClose waits until the other side has closed a connection.
func awaitClose(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// TestDeadIdleConnectionsAreNotUsed has requests that cannot be repeated, so that only a check before use helps.
func TestDeadIdleConnectionsAreNotUsed(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, secure bool) {
		for name, after := range map[string]func(net.Conn){
			"closed":     func(c net.Conn) { _ = c.Close() },
			"more bytes": func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 408 Request Timeout\r\n\r\n") },
			"sending ended": func(c net.Conn) {
				_ = c.(interface{ CloseWrite() error }).CloseWrite()
			},
		} {
			next := make(chan struct{})
			s := newServer(t, secure, func(c net.Conn) {
				if readRequest(bufio.NewReader(c)) == nil {
					return
				}
				_, _ = io.WriteString(c, keptAnswer)
				<-next
				after(c)
				awaitClose(c)
			})
			var d dialed
			tr := newTransport(t, func(o *http1.Options) { o.DialContext = d.dial })
			for i := range 3 {
				r := newRequest(t, "POST", s.url, "x")
				r.GetBody = nil
				if _, body, err := do(tr, r); err != nil || body != "ok" {
					t.Errorf("%s, request %d: %q, %v", name, i, body, err)
				}
				next <- struct{}{}
				d.awaitBytes(t)
			}
			if n := s.conns.Load(); n != 3 {
				t.Errorf("%s: %d connections", name, n)
			}
			tr.CloseIdleConnections()
		}
	})
}

func TestOnlyRequestsThatMayBeRepeatedAreRepeated(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, secure bool) {
		for name, c := range map[string]struct {
			change  func(*http.Request)
			part    string // Part is what comes of the second answer before the connection ends.
			repeats bool
		}{
			"get":                 {func(r *http.Request) { r.Method = "GET" }, "", true},
			"post":                {func(*http.Request) {}, "", false},
			"post with a key":     {func(r *http.Request) { r.Header.Set("Idempotency-Key", "k") }, "", true},
			"post with a X key":   {func(r *http.Request) { r.Header.Set("X-Idempotency-Key", "k") }, "", true},
			"without a body":      {func(r *http.Request) { r.Method, r.Body, r.ContentLength, r.GetBody = "HEAD", nil, 0, nil }, "", true},
			"a body that is gone": {func(r *http.Request) { r.Method, r.GetBody = "GET", nil }, "", false},
			"a part of an answer": {func(r *http.Request) { r.Method = "GET" }, "HTTP/1.1 2", false},
		} {
			s := newServer(t, secure, func(conn net.Conn) {
				in := bufio.NewReader(conn)
				if readRequest(in) == nil {
					return
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n")
				if readRequest(in) != nil {
					_, _ = io.WriteString(conn, c.part)
				}
			})
			tr := newTransport(t, nil)
			for i, want := range []bool{true, c.repeats} {
				r := newRequest(t, "POST", s.url, "x")
				c.change(r)
				if status, _, err := do(tr, r); (err == nil) != want {
					t.Errorf("%s, request %d: %d, %v", name, i, status, err)
				}
			}
			if n := s.conns.Load(); (n == 2) != c.repeats {
				t.Errorf("%s: %d connections", name, n)
			}
			tr.CloseIdleConnections()
		}
	})
}

func TestARequestIsRepeatedOnceAtMost(t *testing.T) {
	t.Parallel()
	var answers atomic.Int64
	s := newServer(t, false, func(c net.Conn) {
		in := bufio.NewReader(c)
		if readRequest(in) != nil && answers.Add(1) <= 3 {
			_, _ = io.WriteString(c, keptAnswer)
			readRequest(in)
		}
	})
	tr := newTransport(t, nil)
	open := make([]*http.Response, 3)
	for i := range open {
		resp, err := tr.RoundTrip(newRequest(t, "GET", s.url, ""))
		if err != nil {
			t.Fatal(err)
		}
		open[i] = resp
	}
	for _, resp := range open {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	if _, _, err := do(tr, newRequest(t, "GET", s.url, "")); err == nil {
		t.Error("the request succeeded")
	}
	if n := s.conns.Load(); n != 4 {
		t.Errorf("%d connections, want three and a fresh one", n)
	}
}

var errGivenUp = errors.New("the caller has given up")

// TestCancellation ends a request at each of its steps. The server says when the step is reached, and sees its connection end.
func TestCancellation(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 8<<20)
	for name, c := range map[string]struct {
		secure bool
		body   string
		proxy  bool
		serve  func(c net.Conn, reached func())
	}{
		"handshake":            {true, "", false, func(c net.Conn, reached func()) { reached(); awaitClose(c.(*tls.Conn).NetConn()) }},
		"tunnel":               {true, "", true, func(c net.Conn, reached func()) { reached(); awaitClose(c.(*tls.Conn).NetConn()) }},
		"write":                {false, large, false, func(c net.Conn, reached func()) { _, _ = c.Read(make([]byte, 100)); reached(); awaitClose(c) }},
		"write over TLS":       {true, large, false, func(c net.Conn, reached func()) { _, _ = c.Read(make([]byte, 100)); reached(); awaitClose(c) }},
		"wait":                 {false, "x", false, func(c net.Conn, reached func()) { readRequest(bufio.NewReader(c)); reached(); awaitClose(c) }},
		"wait over TLS":        {true, "x", false, func(c net.Conn, reached func()) { readRequest(bufio.NewReader(c)); reached(); awaitClose(c) }},
		"a part of the answer": {false, "x", false, cut("HTTP/1.1 200 OK\r\nContent-Le")},
		"read":                 {false, "x", false, cut("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe")},
		"read over TLS":        {true, "x", false, cut("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe")},
		"read to the close":    {false, "x", false, cut("HTTP/1.1 200 OK\r\n\r\nhe")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			ended := make(chan struct{})
			s := newServer(t, c.secure, func(conn net.Conn) {
				c.serve(conn, func() { cancel(errGivenUp) })
				close(ended)
			})
			tr := newTransport(t, func(o *http1.Options) {
				if c.proxy {
					o.Proxy = &url.URL{Scheme: "http", Host: strings.TrimSuffix(strings.TrimPrefix(s.url, "https://"), "/")}
				}
			})
			if _, _, err := do(tr, newRequest(t, "POST", s.url, c.body).WithContext(ctx)); !errors.Is(err, errGivenUp) {
				t.Errorf("%v", err)
			}
			<-ended
		})
	}
}

// cut sends a part of an answer.
func cut(answer string) func(net.Conn, func()) {
	return func(c net.Conn, reached func()) {
		readRequest(bufio.NewReader(c))
		_, _ = io.WriteString(c, answer)
		reached()
		awaitClose(c)
	}
}

func TestCancellationBeforeAndWhileDialling(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	tr := newTransport(t, func(o *http1.Options) {
		o.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			cancel(errGivenUp)
			<-ctx.Done()
			return nil, ctx.Err()
		}
	})
	for range 2 {
		body := &closeReader{Reader: strings.NewReader("x")}
		r := newRequest(t, "POST", "http://a.example", "x").WithContext(ctx)
		r.Body = body
		if _, _, err := do(tr, r); !errors.Is(err, errGivenUp) || body.closed.Load() != 1 {
			t.Errorf("%v, the body was closed %d times", err, body.closed.Load())
		}
	}
}

// TestAnAnswerBeforeTheWholeRequest has servers that answer without reading the body.
func TestAnAnswerBeforeTheWholeRequest(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, secure bool) {
		for name, after := range map[string]func(net.Conn){
			"closes": func(net.Conn) {},
			"waits": func(c net.Conn) {
				if tc, ok := c.(*tls.Conn); ok {
					c = tc.NetConn()
				}
				awaitClose(c)
			},
		} {
			s := newServer(t, secure, func(c net.Conn) {
				_, _ = c.Read(make([]byte, 10))
				_, _ = io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
				after(c)
			})
			tr := newTransport(t, nil)
			closed := &closeReader{Reader: strings.NewReader(strings.Repeat("x", 32<<20))}
			r := newRequest(t, "POST", s.url, "")
			r.Body, r.GetBody, r.ContentLength = closed, nil, 32<<20
			status, body, err := do(tr, r)
			if name == "waits" && (status != 413 || body != "big" || err != nil) {
				t.Errorf("%s: %d %q, %v", name, status, body, err)
			}
			if name == "closes" && err == nil && status != 413 { // The reset may overtake the answer.
				t.Errorf("%s: %d %q, %v", name, status, body, err)
			}
			tr.CloseIdleConnections()
		}
	})
}

func TestLongBodiesInBothDirections(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, secure bool) {
		s := newServer(t, secure, func(c net.Conn) {
			for in := bufio.NewReader(c); ; {
				r := readRequest(in)
				if r == nil {
					return
				}
				resp := &http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Body: r.Body, ContentLength: r.ContentLength}
				if r.Header.Get("X-Chunks") != "" {
					resp.ContentLength, resp.TransferEncoding = -1, []string{"chunked"}
				}
				if resp.Write(c) != nil {
					return
				}
			}
		})
		tr := newTransport(t, nil)
		for _, size := range []int{1, 4095, 16_000, 16_384, 16_385, 64 << 10, 64<<10 + 1, 1 << 20, 5_000_000} {
			for _, chunks := range []string{"", "yes"} {
				for _, whole := range []bool{true, false} {
					body := bytes.Repeat([]byte("0123456789abcdef-"), size/17+1)[:size]
					r := newRequest(t, "POST", s.url, string(body))
					if !whole {
						r.Body = io.NopCloser(struct{ io.Reader }{bytes.NewReader(body)})
					}
					r.Header.Set("X-Chunks", chunks)
					if _, got, err := do(tr, r); err != nil || got != string(body) {
						t.Errorf("%d bytes, chunks %q, whole %t: %d bytes, %v", size, chunks, whole, len(got), err)
					}
				}
			}
		}
		if n := s.conns.Load(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

// drip writes each byte in a call of its own.
type drip struct{ net.Conn }

func (c drip) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := c.Conn.Write(p[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(p), nil
}

// TestTLSRecordsMayArriveInPieces has each read end in the middle of a record.
func TestTLSRecordsMayArriveInPieces(t *testing.T) {
	t.Parallel()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		body := strings.Repeat("0123456789", 3000)
		s := newServer(t, false, func(c net.Conn) {
			c = tls.Server(drip{c}, &tls.Config{Certificates: keys().TLS.Certificates, MinVersion: version, MaxVersion: version})
			answering(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body))(c)
		})
		tr := newTransport(t, nil)
		for range 3 {
			if _, got, err := do(tr, newRequest(t, "POST", strings.Replace(s.url, "http:", "https:", 1), "x")); err != nil || got != body {
				t.Errorf("TLS %x: %d bytes, %v", version, len(got), err)
			}
		}
		if n := s.conns.Load(); n != 1 {
			t.Errorf("TLS %x: %d connections", version, n)
		}
		tr.CloseIdleConnections()
	}
}

func TestCertificatesAreVerified(t *testing.T) {
	t.Parallel()
	s := newServer(t, true, answering(keptAnswer))
	for name, c := range map[string]struct {
		config *tls.Config
		url    string
		ok     bool
	}{
		"own roots":          {trusting(), s.url, true},
		"roots of machine":   {nil, s.url, false},
		"another name":       {trusting(), strings.Replace(s.url, "127.0.0.1", "localhost", 1), false},
		"plain at TLS":       {trusting(), strings.Replace(s.url, "https", "http", 1), false},
		"a given name":       {&tls.Config{RootCAs: trusting().RootCAs, ServerName: "example.com"}, s.url, true},
		"a given bad name":   {&tls.Config{RootCAs: trusting().RootCAs, ServerName: "example.org"}, s.url, false},
		"after its last day": {&tls.Config{RootCAs: trusting().RootCAs, Time: func() time.Time { return time.Now().AddDate(200, 0, 0) }}, s.url, false},
	} {
		tr := newTransport(t, func(o *http1.Options) { o.TLS = c.config })
		if _, body, err := do(tr, newRequest(t, "POST", c.url, "x")); (err == nil) != c.ok {
			t.Errorf("%s: %q, %v", name, body, err)
		}
		tr.CloseIdleConnections()
	}
}

func TestAHandshakeThatTakesTooLongIsGivenUp(t *testing.T) {
	t.Parallel()
	s := newServer(t, false, awaitClose)
	tr := newTransport(t, func(o *http1.Options) { o.ConnectTimeout = 50 * time.Millisecond })
	_, _, err := do(tr, newRequest(t, "POST", strings.Replace(s.url, "http:", "https:", 1), "x"))
	if err == nil || !strings.Contains(err.Error(), "TLS handshake") {
		t.Errorf("%v", err)
	}
}

// newProxy is a proxy that connects to the addresses it is asked for, and passes on requests with a whole address.
func newProxy(t *testing.T, secure bool, seen func(*http.Request) int) *url.URL {
	t.Helper()
	s := newServer(t, secure, func(c net.Conn) {
		in := bufio.NewReader(c)
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if status := seen(r); status != http.StatusOK {
			fmt.Fprintf(c, "HTTP/1.1 %d No\r\nContent-Length: 0\r\n\r\n", status)
			return
		}
		to, err := net.Dial("tcp", r.Host)
		if err != nil {
			return
		}
		defer to.Close()
		if r.Method == http.MethodConnect {
			_, _ = io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n")
		} else if r.Write(to) != nil {
			return
		}
		var both sync.WaitGroup
		both.Go(func() { _, _ = io.Copy(c, to); _ = c.Close() })
		both.Go(func() { _, _ = io.Copy(to, in); _ = to.Close() })
		both.Wait()
	})
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	u.Path, u.User = "", url.UserPassword("me", "secret:1")
	return u
}

func TestProxies(t *testing.T) {
	t.Parallel()
	for _, toProxy := range []bool{false, true} {
		for _, toServer := range []bool{false, true} {
			t.Run(fmt.Sprintf("proxy=%t/server=%t", toProxy, toServer), func(t *testing.T) {
				t.Parallel()
				s := newServer(t, toServer, answering(keptAnswer))
				requests := make(chan *http.Request, 9)
				u := newProxy(t, toProxy, func(r *http.Request) int { requests <- r; return http.StatusOK })
				tr := newTransport(t, func(o *http1.Options) { o.Proxy = u })
				for range 3 {
					if _, body, err := do(tr, newRequest(t, "POST", s.url+"path?q", "x")); err != nil || body != "ok" {
						t.Fatal(body, err)
					}
				}
				r, host := <-requests, strings.Split(s.url, "/")[2]
				want := map[bool]string{false: "POST " + s.url + "path?q", true: "CONNECT " + host}[toServer]
				if got := r.Method + " " + r.RequestURI; got != want || r.Host != host || r.Header.Get("Proxy-Authorization") != "Basic bWU6c2VjcmV0OjE=" {
					t.Errorf("%s, %s, %v", got, r.Host, r.Header)
				}
				if s.conns.Load() != 1 || len(requests) != 0 {
					t.Errorf("%d connections and %d more requests", s.conns.Load(), len(requests))
				}
				tr.CloseIdleConnections()
			})
		}
	}
}

func TestProxiesThatDoNotConnect(t *testing.T) {
	t.Parallel()
	refusing := newProxy(t, false, func(*http.Request) int { return http.StatusProxyAuthRequired })
	_, _, err := do(newTransport(t, func(o *http1.Options) { o.Proxy = refusing }), newRequest(t, "POST", "https://a.example/", "x"))
	if refused, ok := errors.AsType[*http1.ProxyError](err); !ok || refused.Status != http.StatusProxyAuthRequired {
		t.Errorf("a refusal: %v", err)
	}
	for name, answer := range map[string]func(net.Conn){
		"silent":       awaitClose,
		"closing":      func(c net.Conn) { _, _ = c.Read(make([]byte, 10)) },
		"malformed":    answering("hello\r\n\r\n"),
		"early bytes":  answering("HTTP/1.1 200 OK\r\n\r\nmore"),
		"only hints":   answering(strings.Repeat("HTTP/1.1 103 Hints\r\n\r\n", 100)),
		"endless head": answering("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("y", 70<<10)),
	} {
		s := newServer(t, false, answer)
		u, _ := url.Parse(s.url)
		tr := newTransport(t, func(o *http1.Options) { o.Proxy, o.ConnectTimeout = u, 200*time.Millisecond })
		_, _, err := do(tr, newRequest(t, "POST", "https://a.example/", "x"))
		if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "proxyconnect" {
			t.Errorf("%s: %v", name, err)
		}
	}
	tr := newTransport(t, func(o *http1.Options) { o.Proxy = &url.URL{Scheme: "http", Host: "127.0.0.1:1"} })
	_, _, err = do(tr, newRequest(t, "POST", "http://a.example/", "x"))
	if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "proxyconnect" {
		t.Errorf("no proxy: %v", err)
	}
}

func TestIdleConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 8)
	s := newServer(t, false, func(c net.Conn) {
		answering(keptAnswer)(c)
		closed <- struct{}{}
	})
	tr := newTransport(t, func(o *http1.Options) { o.IdleConnsMax = 2 })
	open := make([]*http.Response, 5)
	for i := range open {
		resp, err := tr.RoundTrip(newRequest(t, "POST", s.url, "x"))
		if err != nil {
			t.Fatal(err)
		}
		open[i] = resp
	}
	for _, resp := range open {
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	for range 3 {
		<-closed
	}
	tr.CloseIdleConnections()
	for range 2 {
		<-closed
	}
	if _, _, err := do(tr, newRequest(t, "POST", s.url, "x")); err != nil {
		t.Errorf("after CloseIdleConnections: %v", err)
	}
}

func TestOldIdleConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, secure bool) {
		closed := make(chan struct{}, 8)
		s := newServer(t, secure, func(c net.Conn) {
			answering(keptAnswer)(c)
			closed <- struct{}{}
		})
		tr := newTransport(t, func(o *http1.Options) { o.IdleAge = 30 * time.Millisecond })
		for range 2 {
			if _, _, err := do(tr, newRequest(t, "POST", s.url, "x")); err != nil {
				t.Fatal(err)
			}
			<-closed
		}
	})
}

func TestDialsAreBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t, false, answering(keptAnswer))
	var running, most atomic.Int64
	two := make(chan struct{}, 2)
	tr := newTransport(t, func(o *http1.Options) {
		o.DialsMax = 2
		o.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer running.Add(-1)
			two <- struct{}{}
			defer func() { <-two }()
			runtime.Gosched()
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
	})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, _, err := do(tr, newRequest(t, "POST", s.url, "x")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if most.Load() > 2 {
		t.Errorf("%d dials at once", most.Load())
	}
	block := make(chan struct{})
	full := newTransport(t, func(o *http1.Options) {
		o.DialsMax, o.ConnectTimeout = 1, 20*time.Millisecond
		o.DialContext = func(context.Context, string, string) (net.Conn, error) { <-block; return nil, errGivenUp }
	})
	errs := make(chan error, 2)
	for range 2 {
		go func() {
			_, _, err := do(full, newRequest(t, "POST", s.url, "x"))
			errs <- err
		}()
	}
	if op, ok := errors.AsType[*net.OpError](<-errs); !ok || op.Op != "dial" {
		t.Errorf("a dial that waits too long: %v", op)
	}
	close(block)
	if err := <-errs; !errors.Is(err, errGivenUp) {
		t.Errorf("%v", err)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, secure bool) {
		const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		for name, c := range map[string]struct {
			answer string
			reused bool
		}{
			"the rest has arrived":     {head + "5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n", true},
			"a length has arrived":     {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhelloworld", true},
			"the rest has not arrived": {head + "5\r\nhello\r\n", false},
			"malformed":                {head + "5\r\nhello\r\nx\r\n", false},
			"to the close":             {"HTTP/1.1 200 OK\r\n\r\nhello", false},
		} {
			s := newServer(t, secure, answering(c.answer))
			tr := newTransport(t, nil)
			for range 2 {
				resp, err := tr.RoundTrip(newRequest(t, "POST", s.url, "x"))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := resp.Body.Read(make([]byte, 3)); err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				_ = resp.Body.Close()
				if _, err := resp.Body.Read(make([]byte, 3)); !errors.Is(err, http.ErrBodyReadAfterClose) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if n := s.conns.Load(); (n == 1) != c.reused {
				t.Errorf("%s: %d connections", name, n)
			}
			tr.CloseIdleConnections()
		}
	})
}

func TestCloseEndsARead(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, secure bool) {
		s := newServer(t, secure, answering("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"))
		resp, err := newTransport(t, nil).RoundTrip(newRequest(t, "POST", s.url, "x"))
		if err != nil {
			t.Fatal(err)
		}
		began := make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			close(began)
			_, err := io.Copy(io.Discard, resp.Body)
			ended <- err
		}()
		<-began
		_ = resp.Body.Close()
		if err := <-ended; !errors.Is(err, http.ErrBodyReadAfterClose) {
			t.Errorf("%v", err)
		}
	})
}

func TestTrace(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, secure bool) {
		s := newServer(t, secure, answering("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"+keptAnswer))
		tr := newTransport(t, nil)
		for i, want := range [][]string{
			{"get", "connect", "connected", "TLS", "TLS done", "got false", "wrote <nil>", "first", "103"},
			{"get", "got true", "wrote <nil>", "first", "103"},
		} {
			var got []string
			note := func(what string) { got = append(got, what) }
			ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
				GetConn:              func(string) { note("get") },
				ConnectStart:         func(string, string) { note("connect") },
				ConnectDone:          func(string, string, error) { note("connected") },
				TLSHandshakeStart:    func() { note("TLS") },
				TLSHandshakeDone:     func(tls.ConnectionState, error) { note("TLS done") },
				GotConn:              func(info httptrace.GotConnInfo) { note(fmt.Sprint("got ", info.Reused)) },
				WroteRequest:         func(info httptrace.WroteRequestInfo) { note(fmt.Sprint("wrote ", info.Err)) },
				GotFirstResponseByte: func() { note("first") },
				Got1xxResponse:       func(code int, _ textproto.MIMEHeader) error { note(fmt.Sprint(code)); return nil },
			})
			if _, _, err := do(tr, newRequest(t, "POST", s.url, "x").WithContext(ctx)); err != nil {
				t.Fatal(err)
			}
			want = slices.DeleteFunc(want, func(s string) bool { return !secure && strings.HasPrefix(s, "TLS") })
			if !slices.Equal(got, want) {
				t.Errorf("request %d: %q, want %q", i, got, want)
			}
		}
	})
}

// TestManyAtOnce is for the race detector: requests that end in all ways share a few connections.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, secure bool) {
		s := newServer(t, secure, answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"))
		tr := newTransport(t, func(o *http1.Options) { o.IdleConnsMax, o.IdleAge = 3, 20*time.Millisecond })
		var all sync.WaitGroup
		for worker := range 8 {
			all.Go(func() {
				for i := range 60 {
					ctx, cancel := context.WithCancelCause(t.Context())
					resp, err := tr.RoundTrip(newRequest(t, "GET", s.url, strings.Repeat("x", 1+worker*i*200)).WithContext(ctx))
					if err != nil {
						t.Error(err)
						cancel(nil)
						return
					}
					var other sync.WaitGroup
					switch i % 4 {
					case 0:
						other.Go(func() { _ = resp.Body.Close() })
					case 1:
						other.Go(func() { cancel(errGivenUp) })
					}
					body, err := io.ReadAll(resp.Body)
					if i%4 > 1 && (err != nil || string(body) != "hello") {
						t.Errorf("%q, %v", body, err)
					}
					other.Wait()
					_ = resp.Body.Close()
					cancel(nil)
				}
			})
		}
		all.Wait()
	})
}

// TestAWaitingStreamHasNoGoroutines does not run beside other tests, because it counts goroutines.
func TestAWaitingStreamHasNoGoroutines(t *testing.T) {
	s := newServer(t, true, answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"))
	ctx, cancel := context.WithCancelCause(t.Context())
	resp, err := newTransport(t, nil).RoundTrip(newRequest(t, "POST", s.url, "x").WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := resp.Body.Read(make([]byte, 9)); err != nil {
		t.Fatal(err)
	}
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if bytes.Contains(stacks, []byte("umg/app/provider/http1.(")) {
		t.Errorf("%s", stacks)
	}
	cancel(errGivenUp)
}
