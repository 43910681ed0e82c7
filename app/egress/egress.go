// Package egress is the HTTP client for addresses that users give, such as webhook endpoints and sources of assets. It checks the
// address of every connection after the name was resolved, so that no name, redirect or later DNS answer reaches a private network.
// Make a Client with New, check a URL at registration with Check, and send requests with Do. Providers, whose addresses operators
// configure, do not use it.
package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"umg/app"
)

const (
	timeoutDefault         = 15 * time.Second
	connectTimeout         = 5 * time.Second
	idleTimeout            = 30 * time.Second
	idleConnectionsMax     = 32
	idleConnectionsHostMax = 4
	addressesMax           = 8
	urlBytesMax            = 2048
	responseHeaderBytesMax = 64 << 10
	userAgent              = "unified-model-gateway"
)

// ErrBodyTooLarge is returned by reads of an answer that is longer than the caller allowed.
var ErrBodyTooLarge = errors.New("egress: the answer is larger than allowed")

// Resolver resolves a name; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Options configure a Client. The zero value refuses everything that is not https to a public address.
type Options struct {
	Resolver   Resolver       // A nil Resolver means the system's.
	Exceptions []string       // These host:port pairs may be private, plain http and on any port.
	Timeout    time.Duration  // Timeout bounds a whole exchange with its body; zero means 15 s.
	RootCAs    *x509.CertPool // A nil RootCAs means the system's.
}

// Client makes requests to addresses that users gave. It is safe for concurrent use.
type Client struct {
	resolver   Resolver
	exceptions map[string]bool
	guard      func(netip.AddrPort) error
	http       *http.Client
	transport  *http.Transport
}

// New returns a client. It fails when an exception is not an exact host:port pair.
func New(o Options) (*Client, error) {
	c := &Client{resolver: o.Resolver, exceptions: make(map[string]bool, len(o.Exceptions)), guard: newGuard()}
	if c.resolver == nil {
		c.resolver = net.DefaultResolver
	}
	for _, e := range o.Exceptions {
		host, port, err := net.SplitHostPort(e)
		if err != nil || host == "" || !validPort(port) || strings.ContainsAny(host, "*/@ ") {
			return nil, fmt.Errorf("egress: exception %q is not an exact host:port pair", e)
		}
		c.exceptions[destination(host, port)] = true
	}
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = timeoutDefault
	}
	c.transport = &http.Transport{
		Proxy:                  nil, // A proxy from the environment would bypass every check.
		DialContext:            c.dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		TLSHandshakeTimeout:    connectTimeout,
		DisableCompression:     true, // A small compressed body must not become a large one.
		MaxIdleConns:           idleConnectionsMax,
		MaxIdleConnsPerHost:    idleConnectionsHostMax,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: responseHeaderBytesMax,
		ForceAttemptHTTP2:      true,
	}
	c.http = &http.Client{
		Transport:     c.transport,
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// Close drops the idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Do sends the request and returns the answer, of whose body at most maxBytes can be read before ErrBodyTooLarge.
// It returns a redirect and never follows it. The caller closes the body.
func (c *Client) Do(req *http.Request, maxBytes int64) (*http.Response, error) {
	if _, err := c.parse(req.URL.String()); err != nil {
		return nil, err
	}
	if req.Host != "" && req.Host != req.URL.Host {
		return nil, refuse("The Host header must be the host of the URL.")
	}
	if req.Header == nil {
		req.Header = http.Header{}
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", userAgent)
	}
	resp, err := c.http.Do(req) //nolint:gosec // a URL that a stranger gave is what this client is for
	if err != nil {
		return nil, unreachable(req, err)
	}
	resp.Body = &cappedBody{body: resp.Body, left: maxBytes}
	return resp, nil
}

// unreachable describes a failure without the URL, whose query may contain a secret.
func unreachable(req *http.Request, err error) error {
	timedOut := false
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		timedOut, err = wrapped.Timeout(), wrapped.Err
	}
	var refused *app.Error
	switch {
	case errors.As(err, &refused):
		return refused
	case req.Context().Err() != nil && !timedOut:
		return fmt.Errorf("egress: %s: %w", req.URL.Host, req.Context().Err())
	case timedOut:
		return app.Errorf(app.Timeout, "url_timeout", "%s did not answer in time.", req.URL.Host).Because(err)
	default:
		return app.Errorf(app.Upstream, "url_unreachable", "%s could not be reached.", req.URL.Host).Because(err)
	}
}

// cappedBody returns ErrBodyTooLarge after the allowed bytes.
type cappedBody struct {
	body io.ReadCloser
	left int64
}

// Read reads at most one byte more than is left, which distinguishes an answer of exactly that length from a longer one.
func (b *cappedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrBodyTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.body.Read(p)
	if int64(n) > b.left {
		n = int(b.left)
		b.left = -1
		return n, ErrBodyTooLarge
	}
	b.left -= int64(n)
	return n, err
}

// Close closes the answer's own body.
func (b *cappedBody) Close() error { return b.body.Close() }
