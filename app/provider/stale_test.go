package provider_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/app/provider"
)

// keptServer answers the first request of each connection and keeps the connection. What it does with the second request
// is up to the test.
type keptServer struct {
	url    string
	conns  atomic.Int64
	second func(c net.Conn)
}

const keptAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

func newKeptServer(t *testing.T, second func(net.Conn)) *keptServer {
	t.Helper()
	s := &keptServer{second: second}
	s.url = raw(t, func(c net.Conn) {
		s.conns.Add(1)
		in := bufio.NewReader(c)
		if !readRequest(in) {
			return
		}
		_, _ = io.WriteString(c, keptAnswer)
		if readRequest(in) {
			s.second(c)
		}
	})
	return s
}

func readRequest(in *bufio.Reader) bool {
	r, err := http.ReadRequest(in)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, r.Body)
	return err == nil
}

// fill opens so many connections at once and leaves them idle in the pool.
func fill(t *testing.T, c *provider.Client, url string, n int) {
	t.Helper()
	open := make([]*provider.Answer, n)
	for i := range open {
		a, f := send(t, c, route(url), false)
		if f != nil {
			t.Fatal(f)
		}
		open[i] = a
	}
	for _, a := range open {
		if _, f := a.ReadAll(); f != nil {
			t.Fatal(f)
		}
		a.Close()
	}
}

func closeWithReset(c net.Conn) { _ = c.(*net.TCPConn).SetLinger(0) }

func TestAStaleConnectionIsReplacedByAFreshOne(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]func(net.Conn){"closed": func(net.Conn) {}, "reset": closeWithReset} {
		s := newKeptServer(t, second)
		c := client(t, provider.Options{})
		fill(t, c, s.url, 3)
		for i := range 3 {
			a, f := send(t, c, route(s.url), false)
			if f != nil {
				t.Fatalf("%s: call %d failed although a fresh connection answers: %v", name, i, f)
			}
			if got, f := a.ReadAll(); f != nil || string(got) != "{}" {
				t.Errorf("%s: %s, %v", name, got, f)
			}
			a.Close()
		}
		if n := s.conns.Load(); n != 6 {
			t.Errorf("%s: %d connections, want three stale ones and one fresh one for each call", name, n)
		}
	}
}

func TestALargeRequestIsSentWholeOnTheFreshConnection(t *testing.T) {
	t.Parallel()
	var got atomic.Int64
	url := raw(t, func(c net.Conn) {
		in := bufio.NewReader(c)
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		n, _ := io.Copy(io.Discard, r.Body)
		got.Store(n)
		_, _ = io.WriteString(c, keptAnswer)
		_, _ = in.Peek(1)
		closeWithReset(c)
	})
	c := client(t, provider.Options{})
	fill(t, c, url, 1)
	p := provider.NewPayload(1 << 20)
	p.Data = append(p.Data, make([]byte, 1<<20)...)
	defer p.Release()
	a, f := c.Send(t.Context(), provider.Attempt{Route: route(url), Payload: p})
	if f != nil {
		t.Fatal(f)
	}
	defer a.Close()
	if got.Load() != 1<<20 {
		t.Errorf("the fresh connection carried %d bytes", got.Load())
	}
}

func TestAFreshConnectionIsTriedOnceAtMost(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	healthy := 1 // connections that answer their first request
	var conns atomic.Int64
	url := raw(t, func(c net.Conn) {
		conns.Add(1)
		in := bufio.NewReader(c)
		if !readRequest(in) {
			return
		}
		mu.Lock()
		answers := healthy > 0
		healthy--
		mu.Unlock()
		if answers {
			_, _ = io.WriteString(c, keptAnswer)
			readRequest(in)
		}
	})
	c := client(t, provider.Options{})
	fill(t, c, url, 1)
	if _, f := send(t, c, route(url), false); f == nil || f.Class != provider.ClassReset || f.Retry != provider.Here {
		t.Errorf("%v", f)
	}
	if n := conns.Load(); n != 2 {
		t.Errorf("%d connections, want the stale one and one fresh one", n)
	}
}

// TestARequestThatMayHaveBeenProcessedIsNotSentAgain has upstreams that may have worked on the request before their
// connection closed.
func TestARequestThatMayHaveBeenProcessedIsNotSentAgain(t *testing.T) {
	t.Parallel()
	clock := &fakeClock{now: time.Now()}
	for name, second := range map[string]func(net.Conn){
		"a part of a head": func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-") },
		"a late close":     func(net.Conn) { clock.advance(2 * time.Second) },
	} {
		s := newKeptServer(t, second)
		c := client(t, provider.Options{Now: clock.time})
		fill(t, c, s.url, 1)
		if _, f := send(t, c, route(s.url), false); f == nil {
			t.Errorf("%s: the call succeeded", name)
		}
		if n := s.conns.Load(); n != 1 {
			t.Errorf("%s: %d connections, want one", name, n)
		}
	}
	var conns atomic.Int64
	url := raw(t, func(c net.Conn) {
		conns.Add(1)
		readRequest(bufio.NewReader(c))
	})
	if _, f := send(t, client(t, provider.Options{}), route(url), false); f == nil || conns.Load() != 1 {
		t.Errorf("a connection that was not used before: %v, %d connections", f, conns.Load())
	}
}

type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fakeClock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
}

func TestAnErrorBodyThatNeverEndsKeepsItsStatus(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		class  provider.Class
		code   string
	}{
		"nothing of the body":  {503, "", provider.ClassServer, "upstream_error"},
		"a part of it":         {500, `{"error":{"mess`, provider.ClassServer, "upstream_error"},
		"all but its end":      {422, `{"error":{"code":"odd_value","message":"no"}}`, provider.ClassRefused, "odd_value"},
		"a limit with a wait":  {429, `{"error":{"message":"slow down"}}`, provider.ClassRateLimited, "rate_limit_exceeded"},
		"a refused credential": {401, `{"error"`, provider.ClassCredential, "no_available_provider"},
	} {
		gone := make(chan struct{})
		url := raw(t, func(conn net.Conn) {
			readRequest(bufio.NewReader(conn))
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d X\r\nContent-Type: application/json\r\nRetry-After: 7\r\nContent-Length: 5000\r\n\r\n%s", c.status, c.body)
			_, _ = conn.Read(make([]byte, 1)) // until the client closes
			close(gone)
		})
		began := time.Now()
		_, f := send(t, client(t, provider.Options{}), route(url), true)
		if took := time.Since(began); f == nil || f.Status != c.status || f.Class != c.class || f.Err.Code != c.code || took > 5*time.Second {
			t.Errorf("%s: %+v after %s", name, f, took)
		}
		if c.status == 429 && f != nil && f.After != 7*time.Second {
			t.Errorf("%s: after %s", name, f.After)
		}
		<-gone
	}
}

func TestAClientThatLeavesDuringAnErrorBodyIsSaidToHaveLeft(t *testing.T) {
	t.Parallel()
	ctx, leave := contextWithCause(t)
	url := raw(t, func(conn net.Conn) {
		readRequest(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, "HTTP/1.1 500 X\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{")
		leave(nil)
		_, _ = conn.Read(make([]byte, 1))
	})
	p := payload(`{}`)
	defer p.Release()
	_, f := client(t, provider.Options{}).Send(ctx, provider.Attempt{Route: route(url), Payload: p})
	if f == nil || f.Class != provider.ClassClient {
		t.Errorf("%v", f)
	}
}

func contextWithCause(t *testing.T) (context.Context, context.CancelCauseFunc) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return ctx, cancel
}
