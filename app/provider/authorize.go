package provider

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"umg/app/catalog"
	"umg/app/provider/credential"
)

// sourcesMax bounds the sources of credentials. When there are more, after many changes of the catalog, all are dropped.
const sourcesMax = 512

// sourceKey identifies a source of a credential. Its token stays the same when a new catalog changes something else of the provider.
type sourceKey struct {
	provider  string
	auth      catalog.Auth
	secret    catalog.Secret
	transport transportKey
}

// access is how a target uses its credential.
type access struct {
	source credential.Source // Source authorizes each request. It is nil when the header and the query of the target have the credential.
	query  string            // Query is the escaped parameter with the credential. It is empty when it is not in the query.
	name   string            // Name is the name of the parameter.
	texts  []string          // Texts are the forms in which the credential is sent, when there is no source.
}

// newAccess prepares the credential of a provider, and adds it to a header when it belongs there. The caller holds the lock.
func (c *Client) newAccess(p *catalog.Provider, auth catalog.Auth, secret catalog.Secret, h http.Header) (access, error) {
	value := secret.Reveal()
	switch {
	case credential.NeedsSource(auth.Kind):
		source, err := c.source(p, auth, secret)
		return access{source: source}, err
	case value == "" || auth.Kind == catalog.AuthNone:
		return access{}, nil
	case auth.Kind == catalog.AuthQuery:
		escaped := url.QueryEscape(value)
		return access{query: auth.Parameter + "=" + escaped, name: auth.Parameter, texts: []string{value, escaped}}, nil
	case p.CredentialHeader == "" || strings.EqualFold(p.CredentialHeader, "Authorization"):
		h.Set("Authorization", "Bearer "+value)
	default:
		h.Set(p.CredentialHeader, value)
	}
	return access{texts: []string{value}}, nil
}

// source returns the source of a credential, which all targets of the provider share.
func (c *Client) source(p *catalog.Provider, auth catalog.Auth, secret catalog.Secret) (credential.Source, error) {
	// Requests for tokens are rare, so they keep no connections.
	key := sourceKey{p.ID, auth, secret, transportKey{connect: p.Timeouts.Connect, proxy: p.Proxy, single: true}}
	if auth.Kind == catalog.AuthGoogleMetadata {
		key.transport.proxy = "" // Only the machine itself reaches its metadata server.
	}
	if s := c.sources[key]; s != nil {
		return s, nil
	}
	transport, err := c.transport(key.transport)
	if err != nil {
		return nil, err
	}
	s, err := credential.New(credential.Options{
		Provider: p.ID, Auth: auth, Value: secret, Now: c.now, Transport: transport, Fetches: c.fetches, Log: c.log,
	})
	if err != nil {
		return nil, err
	}
	if len(c.sources) >= sourcesMax {
		clear(c.sources)
	}
	c.sources[key] = s
	return s, nil
}

// addQuery adds the credential to an address when it belongs there. An address from the provider may have the parameter already.
func (a *access) addQuery(u *url.URL) {
	if a.query == "" {
		return
	}
	if values := u.Query(); values.Has(a.name) {
		values.Del(a.name)
		u.RawQuery = values.Encode()
	}
	u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+a.query, "&")
}

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
