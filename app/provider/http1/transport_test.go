package http1_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"umg/app/provider/http1"
)

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

// TestTheMemoryOfAnExchangeIsUsedAgain sends requests whose answers differ in their headers, and asks for the memory while it is in use.
func TestTheMemoryOfAnExchangeIsUsedAgain(t *testing.T) {
	t.Parallel()
	bothKinds(t, func(t *testing.T, secure bool) {
		answers := []string{
			"HTTP/1.1 200 OK\r\nX-First: 1\r\nContent-Length: 5\r\n\r\nfirst",
			"HTTP/1.1 404 Not Found\r\nX-Second: 2\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nsecond\r\n0\r\n\r\n",
		}
		s := newServer(t, secure, func(c net.Conn) {
			for in, i := bufio.NewReader(c), 0; readRequest(in) != nil; i++ {
				_, _ = io.WriteString(c, answers[i%2])
			}
		})
		tr := newTransport(t, nil)
		x := &http1.Exchange{}
		for i := range 10 {
			used, err := tr.Do(t.Context(), newRequest(t, "POST", s.url, "x"), x)
			if err != nil {
				t.Fatal(err)
			}
			if used != x || !x.WasWritten() || !x.WasAnswered() || x.WasReused() != (i > 0) {
				t.Errorf("request %d: same memory %t, written %t, answered %t, reused %t", i, used == x, x.WasWritten(), x.WasAnswered(), x.WasReused())
			}
			other, err := tr.Do(t.Context(), newRequest(t, "POST", s.url, "x"), x)
			if err != nil || other == x {
				t.Fatal("the memory of an answer was used again before its end", err)
			}
			_ = other.Response().Body.Close()
			resp := used.Response()
			body, err := io.ReadAll(resp.Body)
			if want := []string{"first", "second"}[i%2]; err != nil || string(body) != want {
				t.Errorf("request %d: %q, %v", i, body, err)
			}
			if resp.Header.Get("X-First") != []string{"1", ""}[i%2] || resp.Header.Get("X-Second") != []string{"", "2"}[i%2] {
				t.Errorf("request %d: %v", i, resp.Header)
			}
		}
		if !x.Release() || x.Response().Body != nil || x.WasWritten() {
			t.Error("the memory of an ended exchange is not released")
		}
	})
}

// TestTheMemoryOfAnInterruptedExchangeIsNotUsedAgain cancels while the answer is read: the interruption may still come.
func TestTheMemoryOfAnInterruptedExchangeIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	s := newServer(t, false, answering("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"))
	ctx, cancel := context.WithCancel(t.Context())
	x, err := newTransport(t, nil).Do(ctx, newRequest(t, "POST", s.url, "x"), &http1.Exchange{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.Copy(io.Discard, x.Response().Body); err == nil {
		t.Error("the answer ended")
	}
	if x.Release() {
		t.Error("its memory can be used again")
	}
}
