package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"

	"umg/app/catalog"
	"umg/app/provider/errorclass"
)

// Call is a request to a provider with any method, for any answer. Send makes the calls of the text styles.
type Call struct {
	Method  string
	Path    string      // Path is below the base URL and escaped, with its query, or a whole address of the provider.
	Header  http.Header // Header is sent in addition to the provider's own. Keys keep their case.
	Payload *Payload    // Payload is nil for no body.
}

// Reply is an upstream's answer with any status. The caller must close it.
type Reply struct {
	Status int
	Header http.Header
	Size   int64 // Size is that of the body in bytes; -1 when it is unknown.

	ctx    context.Context //nolint:containedctx // Its cause is why reading ended.
	target *target
	body   io.ReadCloser
}

// IsProviderAddress reports whether an address has the scheme and the host of the route's provider, and so may receive its credential.
func IsProviderAddress(r *catalog.Route, address *url.URL) bool {
	base, err := url.Parse(r.Provider.BaseURL)
	return err == nil && base.Host != "" && strings.EqualFold(base.Scheme, address.Scheme) && hostPort(base) == hostPort(address)
}

func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Hostname()) + ":" + port
}

// Do makes one attempt and follows no redirect. A deadline of the context counts as ErrTotal. Fault.Unsent says whether the upstream
// cannot have received the request.
func (c *Client) Do(ctx context.Context, r *catalog.Route, call Call) (*Reply, *Fault) {
	t, err := c.baseTarget(r)
	if err != nil {
		return nil, markUnsent(NewFault(ClassSetup, err))
	}
	u, err := t.locate(r, call.Path)
	if err != nil {
		return nil, markUnsent(NewFault(ClassSetup, err))
	}
	header := t.header.Clone()
	header.Set("Accept", "*/*")
	if call.Payload == nil {
		header.Del("Content-Type")
	}
	maps.Copy(header, call.Header)
	header = c.withParent(ctx, header)
	var reached atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { reached.Store(true) }})
	req := &http.Request{
		Method: call.Method, URL: u, Host: u.Host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if p := call.Payload; p != nil {
		if req.Body, err = p.open(); err != nil {
			return nil, markUnsent(NewFault(ClassSetup, err))
		}
		req.GetBody, req.ContentLength = p.open, int64(len(p.Data))
	}
	resp, err := t.exchange(traced, req, call.Payload, nil) //nolint:bodyclose // The reply closes it.
	if err != nil {
		f := faultOfDeadline(ctx, err)
		f.Unsent = !reached.Load()
		return nil, f
	}
	return &Reply{Status: resp.StatusCode, Header: resp.Header, Size: resp.ContentLength, ctx: ctx, target: t, body: resp.Body}, nil
}

func markUnsent(f *Fault) *Fault {
	f.Unsent = true
	return f
}

// faultOfDeadline is FaultOf for callers that set a plain deadline.
func faultOfDeadline(ctx context.Context, err error) *Fault {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return NewFault(ClassTotal, err)
	}
	return FaultOf(ctx, err)
}

// locate returns the whole address of a call. It fails for another host, because the request has the credential.
func (t *target) locate(r *catalog.Route, path string) (*url.URL, error) {
	if strings.HasPrefix(path, "/") {
		path = r.Provider.BaseURL + path
	}
	u, err := url.Parse(path)
	if err != nil || !IsProviderAddress(r, u) || u.User != nil {
		return nil, fmt.Errorf("provider: the address is not one of %s", t.url.Host)
	}
	u.Fragment, u.RawFragment = "", ""
	t.access.addQuery(u)
	return u, nil
}

// baseTarget returns the target for calls that have their own paths.
func (c *Client) baseTarget(r *catalog.Route) (*target, error) {
	key := targetKey{
		provider: r.Provider, connect: r.Timeouts.Connect, base: true, errors: errorclass.Of(r.Provider.UsageReader, r.Style),
	}
	if t := c.cachedTarget(key); t != nil {
		return t, nil
	}
	return c.addTarget(key, "")
}

// Read reads the body.
func (a *Reply) Read(p []byte) (int, error) { return a.body.Read(p) }

// Close ends the answer. The connection is used again only when the body was read to its end, or when the rest of it has arrived.
func (a *Reply) Close() error { return a.body.Close() }

// Fault classifies an error of Read.
func (a *Reply) Fault(err error) *Fault { return faultOfDeadline(a.ctx, err) }

// ReadAll reads a body of at most bytesMax bytes. With a fault it returns what came before.
func (a *Reply) ReadAll(bytesMax int64) ([]byte, *Fault) {
	body, err := io.ReadAll(io.LimitReader(a.body, bytesMax+1))
	switch {
	case err != nil:
		return body, a.Fault(err)
	case int64(len(body)) > bytesMax:
		return body[:bytesMax], NewFault(ClassTooLarge, fmt.Errorf("the answer is larger than %d bytes", bytesMax))
	}
	return body, nil
}

// StatusFault returns the fault for a status, which may be that of the answer or one in its body.
func (a *Reply) StatusFault(status int, body []byte) *Fault {
	return statusFault(status, a.Header, body, a.target)
}

// BodyFault returns the fault of an error body with a successful status. Its status is the one in the body.
func (a *Reply) BodyFault(body []byte) *Fault { return errorFault(a.Header, body, a.target) }
