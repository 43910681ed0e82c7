package credential

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/oauth2"

	"umg/app"
)

const (
	answerBytesMax      = 64 << 10
	descriptionRunesMax = 300
)

// TokenError is a request for a token that failed. Its text is for the operator and has no secrets.
type TokenError struct {
	// Refused means that the token endpoint does not accept the credential.
	Refused bool
	// Cause is why no answer came. It is nil when the endpoint has answered.
	Cause error

	text string
}

// Error is the text for the operator.
func (f *TokenError) Error() string { return f.text }

// Unwrap returns the cause.
func (f *TokenError) Unwrap() error { return f.Cause }

// endpoint gets tokens from one address.
type endpoint struct {
	address   string
	transport http.RoundTripper
	now       app.Clock
	secrets   []string
}

func newEndpoint(o Options, address string, secrets []string) *endpoint {
	return &endpoint{address: address, transport: o.Transport, now: o.Now, secrets: o.secrets(secrets)}
}

// fetch gets a token with a function of a library, which sends its request over the transport of the provider.
func (e *endpoint) fetch(ctx context.Context, get func(context.Context) (*oauth2.Token, error)) (token, error) {
	x := &exchange{ctx: ctx, transport: e.transport}
	client := &http.Client{
		Transport: x,
		// A redirect could lead the secret elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	got, err := get(context.WithValue(ctx, oauth2.HTTPClient, client))
	switch {
	case errors.Is(x.err, context.DeadlineExceeded):
		return token{}, &TokenError{Cause: x.err, text: fmt.Sprintf("the token endpoint %s did not answer within %s", e.host(), fetchMax)}
	case x.err != nil:
		return token{}, &TokenError{Cause: x.err, text: fmt.Sprintf("the token endpoint %s did not answer: %s", e.host(), e.plain(x.err.Error()))}
	case x.status == 0:
		return token{}, &TokenError{text: fmt.Sprintf("the request to the token endpoint %s cannot be made", e.host())}
	case x.status < http.StatusOK || x.status >= http.StatusMultipleChoices:
		return token{}, e.refusal(x)
	case err != nil || got.AccessToken == "":
		return token{}, &TokenError{text: fmt.Sprintf("the token endpoint %s answered without a token", e.host())}
	case got.TokenType != "" && !strings.EqualFold(got.TokenType, "Bearer"):
		return token{}, &TokenError{text: fmt.Sprintf("the token endpoint %s answered with a token that is no bearer token", e.host())}
	}
	next, err := newToken(got.AccessToken, lifetimeOf(got), e.now())
	if err != nil {
		return token{}, &TokenError{text: fmt.Sprintf("the answer of the token endpoint %s cannot be used: %s", e.host(), err)}
	}
	return next, nil
}

// refusal returns the failure for a status that is not a success.
func (e *endpoint) refusal(x *exchange) *TokenError {
	var said struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(x.body, &said) // An answer in another form says no more than its status.
	f := &TokenError{text: fmt.Sprintf("the token endpoint %s answered %d", e.host(), x.status)}
	if x.status >= http.StatusBadRequest && x.status < http.StatusInternalServerError && x.status != http.StatusTooManyRequests &&
		x.status != http.StatusRequestTimeout && x.status != http.StatusNotFound {
		f.Refused = true
		f.text = fmt.Sprintf("the token endpoint %s refused the credential with status %d", e.host(), x.status)
	}
	for _, text := range []string{said.Error, said.Description} {
		if text = e.plain(text); text != "" {
			f.text += ": " + text
		}
	}
	if advice := AdviceOnClock(x.header, e.now()); f.Refused && advice != "" {
		f.text += "; " + advice
	}
	return f
}

// plain returns a foreign text for the operator in one line, without secrets and without a signed assertion.
func (e *endpoint) plain(text string) string {
	words := strings.FieldsFunc(Redact(text, e.secrets), func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) })
	for i, word := range words {
		if strings.Contains(word, "eyJ") { // Every signed assertion has this beginning.
			words[i] = "[redacted]"
		}
	}
	return app.Truncate(strings.Join(words, " "), descriptionRunesMax)
}

func (e *endpoint) host() string {
	u, err := url.Parse(e.address)
	if err != nil {
		return ""
	}
	return u.Host
}

// lifetimeOf returns how long a token is valid from now on, or zero when the answer does not say.
func lifetimeOf(t *oauth2.Token) time.Duration {
	var seconds int
	switch stated := t.Extra("expires_in").(type) {
	case float64:
		seconds = int(min(stated, lifetimeMax.Seconds()))
	case string:
		seconds, _ = strconv.Atoi(stated)
	default:
		return 0
	}
	return time.Duration(min(max(seconds, 1), int(lifetimeMax.Seconds()))) * time.Second
}

// exchange is the transport of one request for a token. It bounds the answer, and remembers the outcome, which libraries put into texts.
type exchange struct {
	ctx       context.Context //nolint:containedctx // It bounds every request of a library.
	transport http.RoundTripper
	status    int
	header    http.Header
	body      []byte
	err       error
}

// RoundTrip sends the request and reads the whole answer.
func (x *exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := x.transport.RoundTrip(r.WithContext(x.ctx))
	if err == nil {
		x.status, x.header = resp.StatusCode, resp.Header
		x.body, err = io.ReadAll(io.LimitReader(resp.Body, answerBytesMax+1))
		_ = resp.Body.Close()
	}
	if err == nil && len(x.body) > answerBytesMax {
		err = errors.New("the answer is larger than 64 KiB")
	}
	if err != nil {
		x.err = err
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(x.body))
	return resp, nil
}
