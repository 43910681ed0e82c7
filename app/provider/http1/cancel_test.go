package http1_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app/provider/http1"
)

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
