package http1_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"umg/app/provider/http1"
)

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
		if n := s.conns.Load(); n > 18 { // The next request may come before a writer has given its connection back.
			t.Errorf("%d connections for 36 requests", n)
		}
	})
}
