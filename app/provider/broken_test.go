package provider_test

import (
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
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/app"
	"umg/app/provider"
)

// raw answers each connection with a function.
func raw(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				answer(c)
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); wg.Wait() })
	return "http://" + l.Addr().String()
}

func TestBrokenConnections(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url   string
		class provider.Class
		kind  app.Kind
		retry provider.Retry
	}{
		"no listener":  {"http://127.0.0.1:1", provider.ClassConnect, app.Upstream, provider.Here},
		"no such host": {"http://does-not-exist.invalid", provider.ClassDNS, app.Unavailable, provider.Elsewhere},
		"no address":   {"ftp://x", provider.ClassSetup, app.Unavailable, provider.Elsewhere},
		"reset": {raw(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 100))
			_ = c.(*net.TCPConn).SetLinger(0)
		}), provider.ClassReset, app.Upstream, provider.Here},
		"closed":   {raw(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 100)) }), provider.ClassReset, app.Upstream, provider.Here},
		"not HTTP": {raw(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 4096)); _, _ = io.WriteString(c, "hello\r\n\r\n") }), provider.ClassContent, app.Upstream, provider.Elsewhere},
		"no TLS":   {"https" + strings.TrimPrefix(serve(t, func(http.ResponseWriter, *http.Request) {}).URL, "http"), provider.ClassTLS, app.Upstream, provider.Elsewhere},
		"bad header line": {raw(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nno colon\r\n\r\n")
		}), provider.ClassContent, app.Upstream, provider.Elsewhere},
	} {
		_, f := send(t, client(t, provider.Options{}), route(c.url), false)
		if f == nil || f.Class != c.class || f.Err.Kind != c.kind || f.Retry != c.retry {
			t.Errorf("%s: %v", name, f)
		}
	}
}

func TestCertificatesAreVerified(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "application/json") }))
	t.Cleanup(s.Close)
	if _, f := send(t, client(t, provider.Options{}), route(s.URL), false); f == nil || f.Class != provider.ClassTLS {
		t.Errorf("an unknown authority: %v", f)
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	trusting := provider.Options{TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	a, f := send(t, client(t, trusting), route(s.URL), false)
	if f != nil {
		t.Fatalf("a known authority: %v", f)
	}
	a.Close()
	if _, f := send(t, client(t, trusting), route(strings.Replace(s.URL, "127.0.0.1", "localhost", 1)), false); f == nil || f.Class != provider.ClassTLS {
		t.Errorf("another host: %v", f)
	}
	late := provider.Options{TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12, Time: func() time.Time { return time.Now().AddDate(200, 0, 0) }}}
	if _, f := send(t, client(t, late), route(s.URL), false); f == nil || f.Class != provider.ClassTLS {
		t.Errorf("an expired certificate: %v", f)
	}
}

func TestTheCauseOfTheContextNamesTheTimeout(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 8)
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	c, r := client(t, provider.Options{}), route(s.URL)
	for cause, want := range map[error]struct {
		class provider.Class
		kind  app.Kind
	}{
		provider.ErrFirstByte: {provider.ClassFirstByte, app.Timeout},
		provider.ErrIdle:      {provider.ClassIdle, app.Timeout},
		provider.ErrTotal:     {provider.ClassTotal, app.Timeout},
		errors.New("left"):    {provider.ClassClient, app.Canceled},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-arrived
			cancel(cause)
		}()
		p := payload(`{}`)
		_, f := c.Send(ctx, provider.Attempt{Route: r, Payload: p})
		p.Release()
		if f == nil || f.Class != want.class || f.Err.Kind != want.kind {
			t.Errorf("%v: %v", cause, f)
		}
	}
}

func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	for _, declared := range []bool{true, false} {
		s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if declared {
				w.Header().Set("Content-Length", fmt.Sprint(40<<20))
			}
			part := bytes.Repeat([]byte("x"), 1<<20)
			for range 40 {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		})
		a, f := send(t, client(t, provider.Options{}), route(s.URL), false)
		if f != nil {
			t.Fatal(f)
		}
		got, f := a.ReadAll()
		a.Close()
		if f == nil || f.Class != provider.ClassTooLarge || len(got) > provider.BodyBytesMax+1<<20 {
			t.Errorf("declared %v: %v, %d bytes", declared, f, len(got))
		}
	}
}

func TestACutBodyIsNoBody(t *testing.T) {
	t.Parallel()
	url := raw(t, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"a\":")
	})
	a, f := send(t, client(t, provider.Options{}), route(url), false)
	if f != nil {
		t.Fatal(f)
	}
	defer a.Close()
	if _, f := a.ReadAll(); f == nil || f.Class != provider.ClassReset {
		t.Errorf("%v", f)
	}
}

// A server may answer before it has read the body. The payload's buffer must not be used again while the transport
// still reads it; the race detector and the servers' own check of the bytes would see it.
func TestPayloadsAreNotUsedAgainTooEarly(t *testing.T) {
	t.Parallel()
	var broken atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{}`)
		if len(r.Header.Get("X-Early")) > 0 {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err == nil && len(bytes.Trim(body, string(body[:1]))) > 0 {
			broken.Add(1)
		}
	})
	c, r := client(t, provider.Options{}), route(s.URL)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 60 {
				p := provider.NewPayload(200_000)
				p.Data = append(p.Data, bytes.Repeat([]byte{'a' + byte(worker)}, 200_000)...)
				extra := http.Header{}
				if i%2 == 0 {
					extra.Set("X-Early", "1")
				}
				a, f := c.Send(t.Context(), provider.Attempt{Route: r, Payload: p, Header: extra})
				p.Release()
				if f == nil {
					_, _ = a.ReadAll()
					a.Close()
				}
			}
		})
	}
	wg.Wait()
	if broken.Load() > 0 {
		t.Errorf("%d bodies arrived mixed with others", broken.Load())
	}
}

func TestErrorsUnderStatus200(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "application/json") })
	a, f := send(t, client(t, provider.Options{}), route(s.URL), false)
	if f != nil {
		t.Fatal(f)
	}
	defer a.Close()
	for body, want := range map[string]provider.Class{
		`{"code":429,"error":{"code":"slow","message":"m"}}`:                  provider.ClassRateLimited,
		`{"error":{"code":400,"message":"m"}}`:                                provider.ClassRefused,
		`{"error":{"status":503,"message":"m"}}`:                              provider.ClassServer,
		`{"error":{"message":"m"}}`:                                           provider.ClassServer,
		`{"error":"m"}`:                                                       provider.ClassServer,
		`{"code":200,"error":{}}`:                                             provider.ClassServer,
		`{"code":401,"error":{}}`:                                             provider.ClassCredential,
		`{"error":{"type":"rate_limit_error"}}`:                               provider.ClassRateLimited,
		`{"error":{"code":"rate_limit_exceeded"}}`:                            provider.ClassRateLimited,
		`{"error":{"type":"invalid_request_error"}}`:                          provider.ClassRefused,
		`{"error":{"type":"overloaded_error"}}`:                               provider.ClassServer,
		`{"error":{"code":"invalid_api_key","type":"invalid_request_error"}}`: provider.ClassCredential,
		`{"error":{"code":"insufficient_quota"}}`:                             provider.ClassCredential,
		`{"error":{"code":"slow_down","status_code":429}}`:                    provider.ClassRateLimited,
		`{"id":"gen","error":{"code":402,"message":"m"},"choices":[]}`:        provider.ClassCredential,
		`{`: provider.ClassServer,
	} {
		if f := a.ErrorFault([]byte(body)); f.Class != want {
			t.Errorf("%s: %v", body, f)
		}
	}
}
