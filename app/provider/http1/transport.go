package http1

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
)

const (
	connectStandard = 5 * time.Second
	idleAgeStandard = 90 * time.Second
	// sweepEvery is how often idle connections are looked at, since no goroutine waits on them: their servers may have closed them.
	sweepEvery        = 5 * time.Second
	headBytesStandard = 64 << 10
	idleConnsStandard = 1024
	dialsStandard     = 1024

	// hostsMax bounds the hosts that are remembered without idle connections.
	hostsMax = 512
)

// Options configure a Transport. Only DialContext is required.
type Options struct {
	DialContext func(ctx context.Context, network, address string) (net.Conn, error)
	// Proxy has the scheme http or https; nil for none.
	Proxy *url.URL
	// TLS is for servers and for the proxy; nil for the standard.
	TLS *tls.Config
	// ConnectTimeout bounds the wait for a dial, the tunnel of a proxy and a TLS handshake, each; zero for 5 s. DialContext has its own.
	ConnectTimeout time.Duration
	// IdleAge is how long a connection waits for its next request; zero for 90 s.
	IdleAge time.Duration
	// IdleConnsMax bounds the idle connections of one host; zero for 1,024.
	IdleConnsMax int
	// DialsMax bounds the connections that are made at once; zero for 1,024.
	DialsMax int
	// HeadBytesMax bounds the headers of an answer, with those of informational answers before it; zero for 64 KiB.
	HeadBytesMax int
	// DisableKeepAlives makes a connection for each request.
	DisableKeepAlives bool
}

// Transport sends requests over a pool of connections. It is safe for concurrent use.
type Transport struct {
	options Options
	dials   chan struct{}
	proxy   proxy

	mu    sync.Mutex
	hosts map[hostKey]*host
	sweep *time.Timer // Sweep closes old connections; nil while none is idle.
}

// hostKey identifies the servers that may share connections.
type hostKey struct{ scheme, authority string }

// host has the connections to one server that no request uses.
type host struct {
	key  hostKey
	tls  *tls.Config // The tls is nil for plain connections.
	idle []*conn     // Idle has the connection that was used last at its end.
}

// New makes a Transport. It panics without a DialContext.
func New(o Options) *Transport {
	if o.DialContext == nil {
		panic("http1.New: Options.DialContext is required")
	}
	setStandard(&o.ConnectTimeout, connectStandard)
	setStandard(&o.IdleAge, idleAgeStandard)
	setStandard(&o.IdleConnsMax, idleConnsStandard)
	setStandard(&o.DialsMax, dialsStandard)
	setStandard(&o.HeadBytesMax, headBytesStandard)
	p := proxy{url: o.Proxy}
	if o.Proxy != nil && o.Proxy.User != nil {
		password, _ := o.Proxy.User.Password()
		p.auth = "Basic " + base64.StdEncoding.EncodeToString([]byte(o.Proxy.User.Username()+":"+password))
	}
	return &Transport{options: o, dials: make(chan struct{}, o.DialsMax), proxy: p, hosts: map[hostKey]*host{}}
}

func setStandard[T int | time.Duration](to *T, standard T) {
	if *to <= 0 {
		*to = standard
	}
}

// RoundTrip sends a request and returns its answer. It sends the request again on a fresh connection when an idle one turns out dead,
// under the rules of net/http.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	x, err := t.Do(r.Context(), r, &Exchange{})
	if err != nil {
		return nil, err
	}
	return &x.response, nil
}

// Do is RoundTrip in a context instead of that of the request, and in the memory of an exchange. It returns the exchange whose Response
// is the answer: another one when something of an earlier request goes on in that memory, or when the request was sent twice.
func (t *Transport) Do(ctx context.Context, r *http.Request, x *Exchange) (*Exchange, error) {
	if !x.Release() {
		x = &Exchange{}
	}
	q := &x.request
	if err := q.check(r); err != nil {
		closeBody(r)
		return x, err
	}
	q.mustClose = t.options.DisableKeepAlives || r.Close || httpguts.HeaderValuesContainsToken(r.Header["Connection"], "close")
	if t.proxy.url != nil && r.URL.Scheme == "http" {
		q.viaProxy, q.proxyAuth = true, t.proxy.auth
	}
	again, err := t.roundTrip(ctx, r, x, false)
	if err == nil || !again {
		return x, err
	}
	if r.Body != nil {
		body, bodyErr := r.GetBody()
		if bodyErr != nil {
			return x, err
		}
		r = r.WithContext(ctx)
		r.Body = body
	}
	x = &Exchange{exchange: exchange{request: x.request}}
	_, err = t.roundTrip(ctx, r, x, true)
	return x, err
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// roundTrip makes one attempt. It reports whether the request may be sent again.
func (t *Transport) roundTrip(ctx context.Context, r *http.Request, x *Exchange, fresh bool) (again bool, _ error) {
	trace := httptrace.ContextClientTrace(ctx)
	c, err := t.connection(ctx, r, trace, fresh)
	if err != nil {
		closeBody(r)
		return false, err
	}
	x.transport, x.ctx, x.trace, x.mustClose, x.reused = t, ctx, trace, x.request.mustClose, c.reused
	x.request.sentBefore = c.socket.sent.Load()
	x.conn = c
	if err = x.run(r); err == nil {
		return false, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	unsent := !x.writing && c.socket.sent.Load() == x.request.sentBefore
	again = x.reused && ctx.Err() == nil && mayRepeat(r, x, err, unsent)
	x.finish(false)
	return again, x.failure(err)
}

// mayRepeat reports whether a request that failed on a connection that was idle may be sent once more.
func mayRepeat(r *http.Request, x *Exchange, err error, unsent bool) bool {
	if !isNetworkError(err) || r.Body != nil && r.GetBody == nil {
		return false
	}
	if unsent {
		return true
	}
	if _, isRead := errors.AsType[*readError](err); !isRead || x.answered {
		return false
	}
	switch r.Method { // Sending these twice does no more than sending them once.
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	_, ok := r.Header["Idempotency-Key"]
	_, okToo := r.Header["X-Idempotency-Key"]
	return ok || okToo
}

// connection returns an idle connection or a new one.
func (t *Transport) connection(ctx context.Context, r *http.Request, trace *httptrace.ClientTrace, fresh bool) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	h := t.host(hostKey{r.URL.Scheme, r.URL.Host})
	if trace != nil && trace.GetConn != nil {
		trace.GetConn(h.address())
	}
	if !fresh {
		if c := t.takeIdle(h); c != nil {
			traceConn(trace, c)
			return c, nil
		}
	}
	select {
	case t.dials <- struct{}{}:
	default:
		if err := t.awaitDial(ctx); err != nil {
			return nil, err
		}
		if c := t.takeIdle(h); c != nil && !fresh {
			<-t.dials
			traceConn(trace, c)
			return c, nil
		}
	}
	defer func() { <-t.dials }()
	c, err := t.dial(ctx, h, trace)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	traceConn(trace, c)
	return c, nil
}

// awaitDial waits until fewer connections are made.
func (t *Transport) awaitDial(ctx context.Context) error {
	limit := time.NewTimer(t.options.ConnectTimeout)
	defer limit.Stop()
	select {
	case t.dials <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-limit.C:
		return &net.OpError{Op: "dial", Net: "tcp", Err: errTooManyDials}
	}
}

var errTooManyDials = errors.New("http1: too many connections are made at once")

func traceConn(trace *httptrace.ClientTrace, c *conn) {
	if trace == nil || trace.GotConn == nil {
		return
	}
	info := httptrace.GotConnInfo{Conn: c.stream, Reused: c.reused, WasIdle: c.reused}
	if c.reused {
		info.IdleTime = time.Since(c.idleSince)
	}
	trace.GotConn(info)
}

// host returns the pool of a server.
func (t *Transport) host(key hostKey) *host {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hosts[key]
	if h == nil {
		h = &host{key: key}
		if key.scheme == "https" {
			h.tls = t.clientTLS(hostName(key.authority))
		}
		if len(t.hosts) >= hostsMax {
			maps.DeleteFunc(t.hosts, func(_ hostKey, old *host) bool { return len(old.idle) == 0 })
		}
		t.hosts[key] = h
	}
	return h
}

// clientTLS is the configuration for a server with this name.
func (t *Transport) clientTLS(name string) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.options.TLS != nil {
		c = t.options.TLS.Clone()
	}
	if c.ServerName == "" {
		c.ServerName = name
	}
	c.DynamicRecordSizingDisabled = true // A request of 16 KiB goes out in one call.
	return c
}

// address is where the connections of a host lead to.
func (h *host) address() string {
	u := url.URL{Host: h.key.authority}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[h.key.scheme]
	}
	return net.JoinHostPort(hostName(h.key.authority), port)
}

// hostName is the name or the address of a host without its port.
func hostName(authority string) string {
	u := url.URL{Host: authority}
	name := u.Hostname()
	if ascii, err := httpguts.PunycodeHostPort(name); err == nil {
		name = ascii
	}
	return name
}

// takeIdle returns the usable connection that was used last, and closes unusable ones.
func (t *Transport) takeIdle(h *host) *conn {
	for {
		t.mu.Lock()
		last := len(h.idle) - 1
		if last < 0 {
			t.mu.Unlock()
			return nil
		}
		c := h.idle[last]
		h.idle[last] = nil
		h.idle = h.idle[:last]
		t.mu.Unlock()
		if time.Since(c.idleSince) < t.options.IdleAge && c.isUsable() {
			return c
		}
		c.closeIdle()
	}
}

// putIdle keeps a connection for the next request.
func (t *Transport) putIdle(c *conn) {
	c.reused, c.idleSince = true, time.Now()
	t.mu.Lock()
	h := t.hosts[c.host.key]
	if h != c.host || len(h.idle) >= t.options.IdleConnsMax {
		t.mu.Unlock()
		c.closeIdle()
		return
	}
	h.idle = append(h.idle, c)
	if t.sweep == nil {
		t.sweep = time.AfterFunc(min(t.options.IdleAge/2, sweepEvery), t.closeOld)
	}
	t.mu.Unlock()
}

// closeOld closes the idle connections that are old or that their servers have closed, and comes again while others are left.
func (t *Transport) closeOld() {
	var ended []*conn
	t.mu.Lock()
	left := 0
	for _, h := range t.hosts {
		kept := h.idle[:0]
		for _, c := range h.idle {
			if time.Since(c.idleSince) < t.options.IdleAge && c.isUsable() {
				kept = append(kept, c)
			} else {
				ended = append(ended, c)
			}
		}
		clear(h.idle[len(kept):])
		h.idle = kept
		left += len(kept)
	}
	switch {
	case t.sweep == nil: // CloseIdleConnections was called.
	case left > 0:
		t.sweep.Reset(min(t.options.IdleAge/2, sweepEvery))
	default:
		t.sweep = nil
	}
	t.mu.Unlock()
	for _, c := range ended {
		c.closeIdle()
	}
}

// CloseIdleConnections closes the connections that no request uses. Those of running requests are closed after their answers.
func (t *Transport) CloseIdleConnections() {
	var ended []*conn
	t.mu.Lock()
	if t.sweep != nil {
		t.sweep.Stop()
		t.sweep = nil
	}
	for _, h := range t.hosts {
		ended = append(ended, h.idle...)
	}
	clear(t.hosts)
	t.mu.Unlock()
	for _, c := range ended {
		c.closeIdle()
	}
}
