package credential

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"umg/app"
)

const (
	// renewBefore is how long before its end a token is renewed. A token of less than twice this is renewed after half of its life.
	renewBefore = 5 * time.Minute
	// unusedBefore is the rest of a life in which a token is not sent any more, because it could end on its way.
	unusedBefore = 10 * time.Second

	lifetimeMin      = 30 * time.Second
	lifetimeMax      = 24 * time.Hour
	lifetimeUnstated = 10 * time.Minute

	fetchMax     = 15 * time.Second // This bounds a request for a token.
	renewalPause = 10 * time.Second // This is the time between renewals that fail while the old token is valid.
	fetchPause   = time.Second      // This is the time between requests that fail while there is no valid token.
	dropPause    = time.Minute      // A token is dropped at most once in this time.

	tokenBytesMax = 16 << 10
)

// A call fails with one of these when the request that it has waited for gets no token.
var (
	errEnding = &TokenError{Cause: context.Canceled, text: "the gateway is ending and gets no more tokens"}
	errEnded  = &TokenError{text: "the new token cannot be used any more"}
)

// token is a value that is valid for a while. The zero value is no token.
type token struct {
	header       []string // Header has the value of Authorization. It is shared by requests and never changes.
	value        string
	renewAt, end time.Time
}

// newToken checks the value and the lifetime of a token that begins now. Zero is an unstated lifetime.
func newToken(value string, lifetime time.Duration, now time.Time) (token, error) {
	if value == "" || len(value) > tokenBytesMax || strings.ContainsFunc(value, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return token{}, errors.New("the token is not a text of at most 16 KiB that a header may have")
	}
	if lifetime == 0 {
		lifetime = lifetimeUnstated
	}
	if lifetime < lifetimeMin {
		return token{}, fmt.Errorf("the token is valid for only %s", lifetime)
	}
	lifetime = min(lifetime, lifetimeMax)
	return token{
		header: []string{"Bearer " + value}, value: value, end: now.Add(lifetime),
		renewAt: now.Add(max(lifetime-renewBefore, lifetime/2)),
	}, nil
}

// isValid reports whether the token may be sent.
func (t *token) isValid(now time.Time) bool {
	return t.value != "" && now.Before(t.end.Add(-unusedBefore))
}

// tokens has the token of one credential. At most one request for a token runs at a time. While it runs or fails, calls use the old token
// as long as that is valid.
type tokens struct {
	provider string
	secrets  []string // Secrets are the parts of the credential.
	fetch    func(context.Context) (token, error)
	fetches  *Fetches
	now      app.Clock
	log      *slog.Logger

	mu        sync.Mutex
	current   token
	previous  token         // Previous may still be part of answers. It is never sent.
	running   chan struct{} // Running is closed when the request for a token ends. It is nil when none runs.
	err       error         // Err is why the last request failed. It is nil when it succeeded.
	retryAt   time.Time     // RetryAt is when the next request may begin after a failure.
	droppedAt time.Time
}

// newTokens makes a source from a function that gets a new token, and the secret parts of the credential.
func newTokens(o Options, secrets []string, fetch func(context.Context) (token, error)) *tokens {
	return &tokens{
		provider: o.Provider, secrets: o.secrets(secrets), fetch: fetch, fetches: o.Fetches, now: o.Now, log: o.Log,
	}
}

// Authorize sends the token as Authorization: Bearer. It waits for at most one request for a token.
func (s *tokens) Authorize(ctx context.Context, r *http.Request, _ []byte) error {
	running, err := s.use(r, true)
	if running == nil {
		return err
	}
	select {
	case <-running:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	_, err = s.use(r, false)
	return err
}

// use adds the valid token to a request, and starts to get a new one when that is due. Without a valid token it returns a channel to wait
// for when the caller may wait, and otherwise an error.
func (s *tokens) use(r *http.Request, mayWait bool) (running chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	valid := s.current.isValid(now)
	isDue := !valid || !now.Before(s.current.renewAt)
	if isDue && mayWait && s.running == nil && !now.Before(s.retryAt) {
		s.running = make(chan struct{})
		if !s.fetches.start(s.renew) {
			s.running, s.err = nil, errEnding
		}
	}
	switch {
	case valid:
		r.Header["Authorization"] = s.current.header
		return nil, nil
	case mayWait && s.running != nil:
		return s.running, nil
	case s.err != nil:
		return nil, s.err
	}
	return nil, errEnded
}

// renew gets a new token and keeps the old one when that fails.
func (s *tokens) renew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, fetchMax)
	defer cancel()
	next, err := s.fetch(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.running)
	s.running, s.err = nil, err
	now := s.now()
	switch {
	case err == nil:
		if s.current.value != "" { // A dropped token is the previous one already.
			s.previous = s.current
		}
		s.current, s.retryAt = next, time.Time{}
	case s.current.isValid(now):
		s.retryAt = now.Add(renewalPause)
		if s.log != nil {
			s.log.Warn("provider token renewal failed", "provider", s.provider, "valid_until", s.current.end, "error", err)
		}
	default:
		s.retryAt = now.Add(fetchPause)
	}
}

// Reject drops the token of a request, at most once in dropPause. A provider that rejects every token would otherwise cost a request for
// a token with each call.
func (s *tokens) Reject(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.current.header) == 0 || s.current.header[0] != r.Header.Get("Authorization") {
		return true // Another call has dropped or renewed the token.
	}
	now := s.now()
	if !s.droppedAt.IsZero() && now.Sub(s.droppedAt) < dropPause {
		return false
	}
	s.droppedAt, s.retryAt = now, time.Time{}
	s.previous, s.current = s.current, token{}
	return true
}

// Secrets are the parts of the credential and the last two tokens.
func (s *tokens) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := append([]string(nil), s.secrets...)
	for _, t := range []token{s.current, s.previous} {
		if t.value != "" {
			all = append(all, t.value)
		}
	}
	return all
}
