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
)

// Call is a request to a provider of any method, for any answer. Send makes the calls of the text styles.
type Call struct {
	Method  string
	Path    string      // below the base URL, escaped, with its query; or a whole address for which Home holds
	Header  http.Header // beside the provider's own; keys are written as they are
	Payload *Payload    // nil for no body
}

// Reply is an upstream's answer with any status. It must be closed.
type Reply struct {
	Status int
	Header http.Header
	Size   int64 // bytes of the body; -1 when the answer does not say

	ctx    context.Context //nolint:containedctx // its cause says why reading ended
	target *target
	body   io.ReadCloser
}

// IsProviderAddress reports whether an address is of the scheme and host that the route's provider is asked at, and so may see its
// credential.
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

// Do makes one attempt and follows no redirect. A deadline of the context counts as ErrTotal. Every fault says whether
// the upstream can have seen the request.
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
	req := (&http.Request{
		Method: call.Method, URL: u, Host: u.Host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(traced)
	if p := call.Payload; p != nil {
		if req.Body, err = p.open(); err != nil {
			return nil, markUnsent(NewFault(ClassSetup, err))
		}
		req.GetBody, req.ContentLength = p.open, int64(len(p.Data))
	}
	resp, err := t.transport.RoundTrip(req) //nolint:bodyclose // the reply closes it
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

// faultOfDeadline is FaultOf for callers who bound an attempt by a plain deadline.
func faultOfDeadline(ctx context.Context, err error) *Fault {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return NewFault(ClassTotal, err)
	}
	return FaultOf(ctx, err)
}

// locate makes the whole address of a call. The credential goes with it, so it never leads to another host.
func (t *target) locate(r *catalog.Route, path string) (*url.URL, error) {
	if strings.HasPrefix(path, "/") {
		path = r.Provider.BaseURL + path
	}
	u, err := url.Parse(path)
	if err != nil || !IsProviderAddress(r, u) || u.User != nil {
		return nil, fmt.Errorf("provider: the address is not one of %s", t.url.Host)
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// baseTarget finds or prepares the target for calls that name their own paths.
func (c *Client) baseTarget(r *catalog.Route) (*target, error) {
	key := targetKey{provider: r.Provider, connect: r.Timeouts.Connect, base: true}
	if t := c.cachedTarget(key); t != nil {
		return t, nil
	}
	return c.addTarget(key, "")
}

// Read reads the body.
func (a *Reply) Read(p []byte) (int, error) { return a.body.Read(p) }

// Close ends the answer. The connection is used again only when the body was read to its end.
func (a *Reply) Close() error { return a.body.Close() }

// Fault says what an error of Read was.
func (a *Reply) Fault(err error) *Fault { return faultOfDeadline(a.ctx, err) }

// ReadAll reads a body of at most bytesMax bytes. What came before a fault is returned with it.
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

// StatusFault is the fault of an answer that means a status: its own, or one that its body speaks of.
func (a *Reply) StatusFault(status int, body []byte) *Fault {
	return statusFault(status, a.Header, body, a.target)
}

// BodyFault is the fault of an error that came with a status of success. What it says of its status counts as that.
func (a *Reply) BodyFault(body []byte) *Fault { return a.StatusFault(statusIn(body), body) }

// Redact is what a client may read of something the upstream said: nothing that looks like a credential, an address or
// an account.
func (a *Reply) Redact(said string) string { return a.target.redact(said) }

// HasCredential reports whether a text holds the credential.
func (a *Reply) HasCredential(text string) bool {
	return a.target.credential != "" && strings.Contains(text, a.target.credential)
}
