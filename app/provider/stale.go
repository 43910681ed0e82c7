package provider

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"umg/app"
)

// staleWaitMax is how soon a server rejects a request on a connection that it has closed already. A connection that
// closes later may have carried a request that its server has worked on.
const staleWaitMax = time.Second

// connUse observes the connection that carries a request.
type connUse struct {
	trace    httptrace.ClientTrace
	now      app.Clock
	reused   bool        // the connection carried other requests before
	got      time.Time   // when the request got it
	answered atomic.Bool // a byte came back
	written  atomic.Bool // all of the request was written to a connection
}

// traced is the context with which a request reports its connection to u.
func (u *connUse) traced(ctx context.Context) context.Context {
	u.trace.GotConn = func(info httptrace.GotConnInfo) { u.reused, u.got = info.Reused, u.now() }
	u.trace.WroteRequest = func(info httptrace.WroteRequestInfo) { u.written.Store(info.Err == nil) }
	u.trace.GotFirstResponseByte = func() { u.answered.Store(true) }
	return httptrace.WithClientTrace(ctx, &u.trace)
}

// stale reports whether the request met a pooled connection that its server had closed: nothing came back, and that at
// once.
func (u *connUse) stale() bool {
	return u.reused && !u.answered.Load() && u.now().Sub(u.got) <= staleWaitMax
}

// roundTrip sends a request. One that meets a stale connection of the pool is sent once more on a new connection, since the
// pool may hold more stale ones: its server did not process it, so this is neither a second attempt nor a failure of the
// provider. The request needs no context of its own, but a GetBody. Use observes the connection; its clock is set here.
func (t *target) roundTrip(ctx context.Context, req *http.Request, use *connUse) (*http.Response, error) {
	use.now = t.now
	resp, err := t.transport.RoundTrip(req.WithContext(use.traced(ctx)))
	if err == nil || ctx.Err() != nil || !use.stale() || classOf(err) != ClassReset {
		return resp, err
	}
	again := req.WithContext(use.traced(ctx))
	var bodyErr error
	if again.Body, bodyErr = req.GetBody(); bodyErr != nil {
		return nil, err
	}
	return t.singleUse.RoundTrip(again)
}
