package provider

import (
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
