package provider

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"umg/app"
)

// staleWaitMax bounds the time until a request fails on a connection that the server has closed. After a longer time, the server may
// have processed the request.
const staleWaitMax = time.Second

// connUse observes the connection that carries a request.
type connUse struct {
	trace    httptrace.ClientTrace
	now      app.Clock
	reused   bool        // The connection has carried other requests before.
	got      time.Time   // Got is when the request got the connection.
	answered atomic.Bool // A byte of the answer has come.
	written  atomic.Bool // All of the request was written to a connection.
}

// traced returns a context with which a request reports its connection to u.
func (u *connUse) traced(ctx context.Context) context.Context {
	u.trace.GotConn = func(info httptrace.GotConnInfo) { u.reused, u.got = info.Reused, u.now() }
	u.trace.WroteRequest = func(info httptrace.WroteRequestInfo) { u.written.Store(info.Err == nil) }
	u.trace.GotFirstResponseByte = func() { u.answered.Store(true) }
	return httptrace.WithClientTrace(ctx, &u.trace)
}

// stale reports whether the request failed because its server had closed the pooled connection.
func (u *connUse) stale() bool {
	return u.reused && !u.answered.Load() && u.now().Sub(u.got) <= staleWaitMax
}

// roundTrip sends a request. After a stale connection it sends the request again on a new connection. The server has not processed it,
// so this is neither a second attempt nor a failure of the provider. The request needs a GetBody. Use observes the connection.
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
