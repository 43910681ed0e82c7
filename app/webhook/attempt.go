package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"umg/app"
	"umg/app/egress"
)

// These limits apply to one exchange with a receiver.
const (
	answerBytesMax  = 64 << 10
	keptBytesMax    = 4 << 10 // This many bytes of the answer's body are kept.
	keptHeadersMax  = 50
	keptValueMax    = 512 // This many bytes of one header are kept.
	retryAfterMax   = 24 * time.Hour
	pauseMin        = 10 * time.Second
	pauseMax        = 10 * time.Minute
	failingMax      = 5 * 24 * time.Hour
	jitterPercent   = 20
	wordsSecretLost = "The signing secret of this endpoint cannot be read. Rotate it."
)

// schedule are the waits before each try of an event; the standard's own example. It spans about three days.
var schedule = [...]time.Duration{
	0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
	10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

// Header is one line of a request or an answer. Several values of a name are joined with commas.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Exchange is what was sent to a receiver and what came back.
type Exchange struct {
	StartedAt       time.Time
	Duration        time.Duration
	URL             string
	RequestHeaders  []Header
	RequestBody     []byte // RequestBody is the signed body.
	Status          int    // Status is zero if the receiver did not answer.
	ResponseHeaders []Header
	ResponseBody    []byte // ResponseBody has the first 4,096 bytes.
	Error           string // Error says why there is no answer or only a part of one. It is empty after a complete answer.

	retryAfter time.Duration
}

// Succeeded reports whether the receiver took the event. Only its status counts, since an event that was taken must
// not be sent again for an answer that came in halves.
func (x Exchange) Succeeded() bool { return x.Status >= 200 && x.Status <= 299 }

// post sends one event once. It fails only when ctx ended; all else is part of the exchange.
func (s *Service) post(ctx context.Context, t target, id string, body []byte) (Exchange, error) {
	at := s.now()
	x := Exchange{StartedAt: at, URL: t.URL, RequestBody: body}
	secrets, err := s.secretsOf(t, at)
	if err != nil {
		s.o.Log.Error("webhook secret decryption failed", "endpoint_id", t.EndpointID, "error", err)
		x.Error = wordsSecretLost
		return x, nil
	}
	x.RequestHeaders = signedHeaders(id, at, body, secrets)
	within, cancel := context.WithTimeout(ctx, s.o.Waits.Attempt)
	defer cancel()
	err = s.exchange(within, &x)
	x.Duration = max(0, s.now().Sub(at))
	if err != nil && ctx.Err() != nil {
		return x, ctx.Err()
	}
	if err != nil {
		x.Error = said(err)
	}
	return x, nil
}

// exchange makes the request and keeps what is shown of the answer.
func (s *Service) exchange(ctx context.Context, x *Exchange) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.URL, bytes.NewReader(x.RequestBody))
	if err != nil {
		return app.Errorf(app.Invalid, "url_not_allowed", "The URL cannot be asked.").Because(err)
	}
	for _, h := range x.RequestHeaders {
		req.Header.Set(h.Name, h.Value)
	}
	resp, err := s.o.Egress.Do(req, answerBytesMax)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	x.Status, x.ResponseHeaders = resp.StatusCode, kept(resp.Header)
	x.retryAfter = retryAfter(resp.Header.Get("Retry-After"), s.now())
	body, err := io.ReadAll(resp.Body) // The client bounds the body.
	x.ResponseBody = body[:min(len(body), keptBytesMax)]
	if err == nil && x.Status >= 300 && x.Status <= 399 {
		x.Error = "Redirects are not followed: give the address it leads to."
	}
	return err
}

// secretsOf are the secrets to sign with, the newest first.
func (s *Service) secretsOf(t target, at time.Time) ([][]byte, error) {
	newest, err := s.openSecret(t.EndpointID, t.Secret)
	if err != nil {
		return nil, err
	}
	secrets := [][]byte{newest}
	if t.PreviousUntil != nil && at.Before(*t.PreviousUntil) {
		previous, err := s.openSecret(t.EndpointID, t.Previous)
		if err != nil {
			return nil, err
		}
		secrets = append(secrets, previous)
	}
	return secrets, nil
}

// said puts a failure into words for the owner of the endpoint.
func said(err error) string {
	if ours, ok := errors.AsType[*app.Error](err); ok {
		return ours.Message
	}
	switch {
	case errors.Is(err, egress.ErrBodyTooLarge):
		return "The answer is longer than 64 kB; the rest was not read."
	case errors.Is(err, context.DeadlineExceeded):
		return "The answer did not end in time."
	}
	return "The answer broke off."
}

// kept is the part of the headers that is stored and shown.
func kept(h http.Header) []Header {
	names, list := slices.Sorted(maps.Keys(h)), []Header{}
	for _, name := range names[:min(len(names), keptHeadersMax)] {
		list = append(list, Header{strings.ToLower(plain(name)), plain(strings.Join(h[name], ", "))})
	}
	return list
}

// plain makes a receiver's bytes fit for the store and for a page.
func plain(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), keptValueMax)], string(utf8.RuneError))
	return strings.ReplaceAll(s, "\x00", string(utf8.RuneError))
}

// retryAfter reads the header in both of its forms; nonsense is zero.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, retryAfterMax)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(now)), retryAfterMax)
}

// verdict is what follows from an attempt.
type verdict struct {
	state      State
	dueAt      *time.Time // DueAt is the time of the next attempt, or nil.
	pauseUntil *time.Time // PauseUntil is the end of the pause of the whole endpoint.
	gone       bool       // The endpoint answered 410 and wants no more events.
}

// decide decides what follows from the attempt after which tries were made since the delivery was queued.
func (s *Service) decide(x Exchange, tries int, now time.Time) verdict {
	if x.Succeeded() {
		return verdict{state: Delivered}
	}
	v := verdict{state: Failed, gone: x.Status == http.StatusGone}
	switch x.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		v.pauseUntil = new(now.Add(min(max(x.retryAfter, s.jittered(pauseMin)), pauseMax)))
	}
	if v.gone || tries >= len(schedule) {
		return v
	}
	wait := s.jittered(schedule[tries])
	if x.Status == http.StatusTooManyRequests || x.Status == http.StatusServiceUnavailable {
		wait = max(wait, x.retryAfter)
	}
	v.state, v.dueAt = Pending, new(now.Add(wait))
	return v
}

// jittered spreads what failed together.
func (s *Service) jittered(d time.Duration) time.Duration {
	swing := int64(d) * jitterPercent / 100
	return d - time.Duration(swing) + time.Duration(s.o.Jitter(2*swing+1))
}
