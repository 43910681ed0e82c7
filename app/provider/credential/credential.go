// Package credential authorizes requests to providers with credentials that need more than a prepared header: it signs requests, and gets
// tokens and renews them. Call New for a credential, and Source.Authorize for each request, last of all.
package credential

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"umg/app"
	"umg/app/catalog"
)

// Source authorizes requests with one credential. It can be used by many goroutines at once.
type Source interface {
	// Authorize adds the credential to a request. No one else may use its header and its URL. Body has the bytes that are sent. The error
	// is a TokenError when no token could be fetched, and the cause of the context when that ended first.
	Authorize(ctx context.Context, r *http.Request, body []byte) error
	// Reject is called when the provider has answered an authorized request with status 401. It reports whether the request may be
	// authorized once more, because the credential has or gets another token.
	Reject(r *http.Request) bool
	// Secrets are the texts that no log, error or answer may have.
	Secrets() []string
}

// Options configure a Source.
type Options struct {
	Provider string // Provider is the id of the provider, for logs.
	Auth     catalog.Auth
	Value    catalog.Secret
	Now      app.Clock
	// Transport carries the requests for tokens.
	Transport http.RoundTripper
	// Fetches owns the requests for tokens.
	Fetches *Fetches
	Log     *slog.Logger
}

// secrets are the credential, if there is one, and its parts.
func (o Options) secrets(parts []string) []string {
	if o.Value.IsZero() {
		return parts
	}
	return append([]string{o.Value.Reveal()}, parts...)
}

// NeedsSource reports whether a kind of authentication needs a Source. The credentials of the other kinds are one prepared text.
func NeedsSource(kind catalog.AuthKind) bool {
	switch kind {
	case catalog.AuthSigV4, catalog.AuthGoogle, catalog.AuthEntra, catalog.AuthJWT, catalog.AuthGoogleMetadata:
		return true
	}
	return false
}

// New makes the source of a credential. The error is for the operator, and has nothing of the credential.
func New(o Options) (Source, error) {
	source, err := newSource(o)
	if err != nil {
		return nil, fmt.Errorf("the credential of provider %s cannot be used: %w", o.Provider, err)
	}
	return source, nil
}

func newSource(o Options) (Source, error) {
	switch kind := o.Auth.Kind; {
	case kind == catalog.AuthGoogleMetadata:
		return newMetadata(o), nil
	case o.Value.IsZero():
		return nil, errors.New("it is empty")
	case kind == catalog.AuthSigV4:
		return newSignature(o)
	case kind == catalog.AuthGoogle:
		return newGoogle(o)
	case kind == catalog.AuthEntra:
		return newEntra(o), nil
	case kind == catalog.AuthJWT:
		return newKeyPair(o)
	}
	return nil, errors.New("its kind of auth has a prepared credential")
}

// Check returns why a credential cannot be used with a kind of auth, whatever the provider would say of it. The error is for the operator,
// and has nothing of the credential.
func Check(auth catalog.Auth, value catalog.Secret) error {
	if NeedsSource(auth.Kind) {
		_, err := newSource(Options{Auth: auth, Value: value, Now: time.Now})
		return err
	}
	text := value.Reveal()
	switch {
	case text == "":
		return errors.New("it is empty")
	case auth.Kind != catalog.AuthQuery && strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }):
		return errors.New("it has line ends or other characters that no header may have")
	case strings.TrimSpace(text) != text:
		return errors.New("it begins or ends with a space")
	}
	return nil
}

// splitCredential splits a credential at its colons. It returns nil unless it has between least and most parts, none of them empty.
func splitCredential(value string, least, most int) []string {
	parts := strings.SplitN(strings.TrimSpace(value), ":", most)
	if len(parts) < least {
		return nil
	}
	for _, part := range parts {
		if part == "" || strings.ContainsFunc(part, func(c rune) bool { return c <= ' ' || c > '~' }) {
			return nil
		}
	}
	return parts
}

// Redact returns a text with [redacted] in place of secrets.
func Redact(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "[redacted]")
	}
	return text
}
