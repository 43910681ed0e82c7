package provider

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/provider/credential"
	"umg/app/provider/errorclass"
	"umg/app/provider/framing"
	"umg/app/provider/http1"
)

const (
	// BodyBytesMax bounds a JSON answer.
	BodyBytesMax = 32 << 20

	headerBytesMax  = 64 << 10
	partBytes       = 16 << 10
	failureBytesMax = 64 << 10               // This bounds what is read of an error body.
	failureWaitMax  = 250 * time.Millisecond // This bounds the wait for an error body.
	idleConnsMax    = 4096                   // This bounds the idle connections of one host.
	idleConnAgeMax  = 90 * time.Second
	connectStandard = 5 * time.Second
	keepAlivePeriod = 30 * time.Second
	targetsMax      = 512
	transportsMax   = 512
	userAgent       = "unified-model-gateway/1"

	jsonType    = "application/json"
	eventStream = "text/event-stream"
)

// Options configure a Client. The zero value is right for production.
type Options struct {
	TLS    *tls.Config  // TLS has the roots of tests. Verification is always on.
	Traced bool         // Traced sends the trace context to upstreams.
	Now    app.Clock    // Now is time.Now when nil.
	Log    *slog.Logger // Log records tokens that cannot be renewed; it may be nil.
}

// Client sends calls to providers. It follows no redirects, uses no proxy of the environment and never asks for
// compression.
type Client struct {
	tls     *tls.Config
	now     app.Clock
	log     *slog.Logger
	traced  bool
	fetches *credential.Fetches

	mu         sync.RWMutex
	transports map[transportKey]*http1.Transport
	targets    map[targetKey]*target
	sources    map[sourceKey]credential.Source
}

// New makes a Client. Close ends its connections.
func New(o Options) *Client {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Client{
		tls: o.TLS, now: o.Now, log: o.Log, traced: o.Traced, fetches: credential.NewFetches(),
		transports: make(map[transportKey]*http1.Transport), targets: make(map[targetKey]*target),
		sources: make(map[sourceKey]credential.Source),
	}
}

// Close closes the connections that no call uses, and ends the requests for tokens. Later calls get no new tokens.
func (c *Client) Close() {
	c.fetches.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
}

// target is a prepared address of a provider. All requests share its header, which never changes.
type target struct {
	url       *url.URL
	header    http.Header
	access    access
	transport *http1.Transport
	singleUse *http1.Transport // SingleUse makes a connection for each request.
	now       app.Clock
	errors    *errorclass.Table // Errors says what the errors of the provider mean.
	ownPaths  bool              // OwnPaths is set for calls that have their own paths.
	body      *bodyChange       // Body is how request bodies are changed; nil when they are not.
	framing   framing.Kind      // Framing is that of streams; empty for server-sent events.
}

// targetConfig has the path and the credential of a target.
type targetConfig struct {
	targetKey

	path   string // Path has the model in it when it belongs there.
	secret catalog.Secret
}

// transportKey identifies a transport by its time limit, its proxy, and whether each connection is for one request.
type transportKey struct {
	connect time.Duration
	proxy   string
	single  bool
}

func (c *Client) prepare(p targetConfig) (*target, error) {
	base, auth := p.provider.BaseURL, p.provider.Auth
	if p.wire != nil {
		base, auth = p.wire.Base, p.wire.Auth
	}
	address := base + p.path
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("provider: %q is not an address", address)
	}
	h := http.Header{
		"Content-Type":    {"application/json"},
		"Accept":          {"application/json, text/event-stream"},
		"Accept-Encoding": {"identity"},
		"User-Agent":      {userAgent},
	}
	for name, value := range p.provider.Headers {
		h.Set(name, value)
	}
	t := &target{url: u, header: h, now: c.now, errors: p.errors, ownPaths: p.base}
	if p.wire != nil {
		t.useWire(p.wire, p.counts, p.stream)
	}
	a, err := c.newAccess(p.provider, auth, p.secret, h)
	if err != nil {
		return nil, err
	}
	a.addQuery(u)
	t.access = a
	if t.transport, err = c.transport(transportKey{connect: p.connect, proxy: p.provider.Proxy}); err != nil {
		return nil, err
	}
	if t.singleUse, err = c.transport(transportKey{connect: p.connect, proxy: p.provider.Proxy, single: true}); err != nil {
		return nil, err
	}
	return t, nil
}

// transport is shared by all providers with the same connect time-out and proxy. Names are resolved for every
// connection: neither the transport nor the resolver keeps addresses. The caller holds the lock.
func (c *Client) transport(l transportKey) (*http1.Transport, error) {
	if l.connect <= 0 {
		l.connect = connectStandard
	}
	if t := c.transports[l]; t != nil {
		return t, nil
	}
	var proxy *url.URL // There is no proxy of the environment.
	if l.proxy != "" {
		u, err := url.Parse(l.proxy)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New("provider: the proxy is not an http or https address") // The address may have a password.
		}
		proxy = u
	}
	if len(c.transports) >= transportsMax {
		c.forgetTransports()
	}
	dialer := &net.Dialer{Timeout: l.connect, KeepAlive: keepAlivePeriod}
	t := http1.New(http1.Options{
		DialContext:       dialer.DialContext,
		Proxy:             proxy,
		TLS:               c.tls,
		ConnectTimeout:    l.connect,
		IdleAge:           idleConnAgeMax,
		IdleConnsMax:      idleConnsMax,
		HeadBytesMax:      headerBytesMax,
		DisableKeepAlives: l.single,
	})
	c.transports[l] = t
	return t, nil
}

// forgetTransports drops all transports when there are too many, after many changes of the catalog. Running requests continue.
func (c *Client) forgetTransports() {
	for _, t := range c.transports {
		t.CloseIdleConnections()
	}
	clear(c.transports)
	clear(c.targets)
}

// send makes one attempt. The answer's body must be closed.
func (c *Client) send(ctx context.Context, t *target, attempt *Attempt) (*Answer, *Fault) {
	header, p := t.header, attempt.Payload
	if len(attempt.Header) > 0 {
		header = header.Clone()
		maps.Copy(header, attempt.Header)
	}
	if t.body != nil {
		t.body.apply(p, attempt.Betas)
	}
	s := attempt.Space
	if s == nil {
		s = &Space{}
	}
	s.payload = p
	s.request = http.Request{
		Method: http.MethodPost, URL: t.url, Host: t.url.Host, Header: c.withParent(ctx, header), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: s.open(), GetBody: s.reopen, ContentLength: int64(len(p.Data)),
	}
	resp, err := t.exchange(ctx, &s.request, p, s) //nolint:bodyclose // The answer closes it.
	if err != nil {
		f := FaultOf(ctx, err)
		f.Sent = s.wasWritten()
		return nil, f
	}
	if attempt.Observe != nil {
		attempt.Observe(resp.Header)
	}
	s.forget()
	a := &s.answer
	*a = Answer{ctx: ctx, target: t, body: resp.Body, length: resp.ContentLength}
	if resp.StatusCode != http.StatusOK {
		return nil, a.statusFault(resp)
	}
	if f := a.checkContentType(resp.Header); f != nil {
		a.Close()
		return nil, f
	}
	return a, nil
}

// Answer is an upstream's answer with status 200: a stream of frames, or a JSON body.
type Answer struct {
	Stream bool

	ctx    context.Context //nolint:containedctx // Its cause is why reading ended.
	target *target
	body   io.ReadCloser
	length int64
	// lateClose means that a timer may still close the answer.
	lateClose bool
}

// checkContentType checks the type of an answer. Both JSON and a stream are accepted, whatever the request asked for.
func (a *Answer) checkContentType(h http.Header) *Fault {
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return NewFault(ClassContent, fmt.Errorf("the answer is encoded as %q", e))
	}
	contentType := h.Get("Content-Type")
	kind, err := contentType, error(nil)
	if contentType != jsonType && contentType != eventStream { // The usual types need no parser.
		kind, _, err = mime.ParseMediaType(contentType)
	}
	framed := a.target.framing
	switch {
	case framed != "" && err == nil && kind == framed.ContentType():
		a.Stream, a.body = true, framing.NewReader(framed, a.body)
	case err == nil && kind == eventStream:
		a.Stream = true
	case err == nil && kind == framing.EventStream.ContentType():
		a.Stream, a.body = true, framing.NewReader(framing.EventStream, a.body)
	case err == nil && (kind == jsonType || strings.HasSuffix(kind, "+json")):
	default:
		return NewFault(ClassContent, fmt.Errorf("the answer is of type %q", contentType))
	}
	return nil
}

// statusFault reads an error answer and closes it. It waits for the body only for failureWaitMax, because the status is known.
func (a *Answer) statusFault(resp *http.Response) *Fault {
	defer a.Close()
	timer := time.AfterFunc(failureWaitMax, a.Close)
	defer func() { a.lateClose = !timer.Stop() }()
	body, err := io.ReadAll(io.LimitReader(a.body, failureBytesMax))
	if err != nil && context.Cause(a.ctx) != nil {
		if f := FaultOf(a.ctx, err); f.Class == ClassClient || f.Class == ClassEnded {
			return f
		}
	}
	if resp.ContentLength < 0 || resp.ContentLength > failureBytesMax {
		_, _ = io.CopyN(io.Discard, a.body, 1) // Reading to the end lets the connection be used again.
	}
	return statusFault(resp.StatusCode, resp.Header, body, a.target)
}

// Read reads the body.
func (a *Answer) Read(p []byte) (int, error) { return a.body.Read(p) }

// Close ends the answer. The connection is used again only when the body was read to its end, or when the rest of it has arrived.
func (a *Answer) Close() { _ = a.body.Close() }

// Fault classifies an error of Read.
func (a *Answer) Fault(err error) *Fault { return FaultOf(a.ctx, err) }

// ReadPart appends a part of a JSON body to dst, which has the parts before: 16 KiB or somewhat more, or the rest. It reports the end of
// the body, which may have 32 MiB.
func (a *Answer) ReadPart(dst []byte) (_ []byte, ended bool, _ *Fault) {
	if a.length > BodyBytesMax {
		return dst, false, NewFault(ClassTooLarge, errTooLarge)
	}
	if room := int(max(a.length, 0)) + 512; len(dst) == 0 && cap(dst) < room { // The spare bytes let the last read reach the end.
		dst = make([]byte, 0, room)
	}
	for next := len(dst) + partBytes; len(dst) < next; {
		if len(dst) == cap(dst) {
			dst = append(dst, 0)[:len(dst)]
		}
		n, err := a.body.Read(dst[len(dst):cap(dst)])
		dst = dst[:len(dst)+n]
		switch {
		case len(dst) > BodyBytesMax:
			return dst, false, NewFault(ClassTooLarge, errTooLarge)
		case errors.Is(err, io.EOF):
			return dst, true, nil
		case err != nil:
			return dst, false, a.Fault(err)
		}
	}
	return dst, false, nil
}

// ReadAll reads a whole JSON body.
func (a *Answer) ReadAll() (body []byte, f *Fault) {
	for ended := false; !ended && f == nil; {
		body, ended, f = a.ReadPart(body)
	}
	return body, f
}

var errTooLarge = errors.New("the answer is larger than 32 MiB")
