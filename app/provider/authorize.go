package provider

import (
	"context"
	"errors"
	"maps"
	"net/http"

	"umg/app/provider/credential"
)

// exchange authorizes a request and sends it in the memory of a space. Without one, nothing is sent again after a stale connection.
// A request that the provider rejects with status 401 is authorized and sent once more when its token can be replaced: the provider has
// not processed it. The request must have a GetBody when it has a body, which is that of the payload.
func (t *target) exchange(ctx context.Context, r *http.Request, p *Payload, s *Space) (*http.Response, error) {
	if t.access.source == nil {
		return t.transmit(ctx, r, s)
	}
	authorized, err := t.authorize(ctx, r, p)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // The payload counts its readers.
		}
		return nil, err
	}
	resp, err := t.transmit(ctx, authorized, s)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || !t.access.source.Reject(authorized) {
		return resp, err
	}
	_ = resp.Body.Close()
	if s != nil {
		s.used = nil
	}
	if authorized, err = t.authorize(ctx, r, p); err != nil {
		return nil, err
	}
	if r.GetBody != nil {
		if authorized.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return t.transmit(ctx, authorized, s)
}

// transmit sends a request.
func (t *target) transmit(ctx context.Context, r *http.Request, s *Space) (*http.Response, error) {
	if s == nil {
		return t.transport.RoundTrip(r.WithContext(ctx))
	}
	return t.roundTrip(ctx, r, s)
}

// authorize returns the request with the credential, in a header of its own. The error is a Fault.
func (t *target) authorize(ctx context.Context, r *http.Request, p *Payload) (*http.Request, error) {
	authorized := r.WithContext(ctx)
	authorized.Header = maps.Clone(r.Header)
	var body []byte
	if p != nil {
		body = p.Data
	}
	if err := t.access.source.Authorize(ctx, authorized, body); err != nil {
		return nil, faultOfCredential(ctx, err)
	}
	return authorized, nil
}

// faultOfCredential is the fault of an attempt that was not sent, because its credential has given no token.
func faultOfCredential(ctx context.Context, err error) *Fault {
	failed, ok := errors.AsType[*credential.TokenError](err)
	switch {
	case ok && failed.Refused:
		f := NewFault(ClassCredential, err)
		f.Advice = failed.Error()
		return f
	case ok && failed.Cause == nil:
		return NewFault(ClassServer, err)
	case ok && errors.Is(failed.Cause, context.DeadlineExceeded):
		return NewFault(ClassFirstByte, err)
	case ok:
		return NewFault(classOf(err), err)
	case ctx.Err() != nil:
		return faultOfDeadline(ctx, err)
	}
	return NewFault(ClassSetup, err)
}
