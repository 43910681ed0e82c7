package api

import (
	"time"

	"github.com/labstack/echo/v4"

	"umg/app"
	"umg/app/apikey"
	"umg/app/contentlog"
	"umg/app/gateway"
	"umg/billing"
)

const accessKey = "umg.access"

// RequestLog is what the one log line of a request and its metrics are made of. The server makes it at the door, the
// faces fill in what they learn.
type RequestLog struct {
	RequestID string
	Started   time.Time
	AccountID string
	KeyID     string
	Style     string
	Model     string // the public id, only once the catalog knew it: a label must not be the caller's to choose
	Provider  string
	Outcome   string
	ErrorKind app.Kind
	ErrorCode string
	Failed    bool
	Cause     error // what went wrong on our side, for the operator
	FirstByte time.Duration
	Usage     billing.Usage
	Cost      app.Amount
	Attempts  int
	Tries     []gateway.AttemptResult
	Hedged    bool // a second route was asked beside the first
	Recovered int  // times another route went on with an answer that was cut
	// FallbackOf is the model that was asked for, where Model has served in its place; else empty.
	FallbackOf string
	// Implausible means that the provider's report of usage cannot be true as it stands.
	Implausible bool
	Fault       string        // Fault is the class of the last failed attempt, even when another attempt answered.
	Upstream    time.Duration // Upstream is the time spent waiting for providers until the answer began.
	// Own is the gateway's own time, before the answer began and at its end. It is zero when it was not measured.
	Own time.Duration

	family  ErrorFormat
	mode    apikey.ErrorMode
	known   bool // The key, and with it the mode, is known.
	streams bool // The caller asked for a stream.
	unread  bool // The request was refused before it was known whether the caller asked for a stream.
	timing  gateway.Timing
	tape    *contentlog.Recorder // The error is the recorded answer when a call fails before anything was sent.
	reading time.Duration        // This is how long the caller's body took to arrive.
	created time.Duration        // This is how long a provider took to accept a job.
}

// WithAccess makes the record of a request and keeps it with the request's context.
func WithAccess(c echo.Context, a *RequestLog) { c.Set(accessKey, a) }

// AccessOf returns the record of the request. It creates one when there is none.
func AccessOf(c echo.Context) *RequestLog {
	if a, ok := c.Get(accessKey).(*RequestLog); ok {
		return a
	}
	a := &RequestLog{Started: time.Now()}
	WithAccess(c, a)
	return a
}

// Fail records why the request failed.
func (x *RequestLog) Fail(e *app.Error) {
	x.Failed, x.ErrorKind, x.ErrorCode, x.Cause = true, e.Kind, e.Code, e.Err
}

// kindWords name the kinds of errors for logs.
var kindWords = [...]string{
	app.Internal: "internal", app.Invalid: "invalid", app.Unauthenticated: "unauthenticated", app.Forbidden: "forbidden",
	app.NotFound: "not_found", app.Conflict: "conflict", app.Unprocessable: "unprocessable",
	app.MethodNotAllowed: "method_not_allowed", app.TooLarge: "too_large",
	app.MediaType: "media_type", app.Unfunded: "unfunded", app.Exhausted: "exhausted", app.Upstream: "upstream",
	app.Timeout: "timeout", app.Unavailable: "unavailable", app.Canceled: "canceled",
}

// KindWord names a kind of error for logs.
func KindWord(k app.Kind) string {
	if int(k) < len(kindWords) {
		return kindWords[k]
	}
	return kindWords[app.Internal]
}

// note copies the gateway's report of a text call. The model is what the caller sent until known says that the catalog
// has it.
func (x *RequestLog) note(r *gateway.Report, known bool) {
	if known {
		x.Model = r.Model
	}
	x.Provider, x.Outcome, x.Attempts, x.Usage, x.Cost = r.Provider, r.Outcome, r.Attempts, r.Usage, r.Cost
	x.Tries, x.Fault, x.Upstream, x.Hedged, x.Recovered = r.Tries, string(r.Fault), r.Upstream, r.Hedged, r.Recovered
	x.FallbackOf, x.Implausible = r.FallbackOf, r.Implausible
	if r.Err != nil {
		x.Fail(r.Err)
	}
}
