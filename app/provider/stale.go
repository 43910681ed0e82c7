package provider

import (
	"context"
	"net/http"
	"time"
)

// staleWaitMax bounds the time until a request fails on a connection that the server has closed. After a longer time, the server may
// have processed the request.
const staleWaitMax = time.Second

// roundTrip sends a request. After a stale connection it sends the request again on a new connection. The server has not processed it,
// so this is neither a second attempt nor a failure of the provider. The request needs a GetBody.
func (t *target) roundTrip(ctx context.Context, req *http.Request, s *Space) (*http.Response, error) {
	began := t.now()
	x, err := t.transport.Do(ctx, req, &s.exchange)
	s.used = x
	if err == nil {
		return x.Response(), nil
	}
	stale := x.WasReused() && !x.WasAnswered() && t.now().Sub(began) <= staleWaitMax
	if ctx.Err() != nil || !stale || classOf(err) != ClassReset {
		return nil, err
	}
	again := req.WithContext(ctx)
	var bodyErr error
	if again.Body, bodyErr = req.GetBody(); bodyErr != nil {
		return nil, err
	}
	if s.used, err = t.singleUse.Do(ctx, again, &s.exchange); err != nil {
		return nil, err
	}
	return s.used.Response(), nil
}
