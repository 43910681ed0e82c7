package http1_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/app/provider/http1"
)

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
