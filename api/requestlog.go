package api

import (
	"time"

	"umg/app"
	"umg/app/apikey"
	"umg/app/contentlog"
	"umg/app/gateway"
)

// RequestLog is what the one log line of a request and its metrics are made of. The server creates it, and the API and the console fill
// in what they learn.
type RequestLog struct {
	RequestID string
	Started   time.Time
	AccountID string
	KeyID     string
	Style     string
	// Model is the public id. It is set only when the catalog has the model, because metrics use it as a label and a caller must not
	// invent labels.
	Model string
	// Err is the error that the caller got, and nil for a request that succeeded. Cause is the error behind it, for the operator.
	Err       *app.Error
	Cause     error
	FirstByte time.Duration
	// Result is the gateway's report of a text call. Other routes set its Provider and Outcome. Its Model may be a name that the caller
	// invented.
	Result gateway.Report
	// Overhead is the gateway's own time, before the answer began and at its end. It is zero when it was not measured.
	Overhead time.Duration

	alias    pathAlias
	format   ErrorFormat
	mode     apikey.ErrorMode
	known    bool // The key, and with it the mode, is known.
	streams  bool // The caller asked for a stream.
	unread   bool // The request was refused before it was known whether the caller asked for a stream.
	timing   gateway.Timing
	recorder *contentlog.Recorder // The error is the recorded answer when a call fails before anything was sent.
	upload   time.Duration        // This is how long the caller's body took to arrive.
	created  time.Duration        // This is how long a provider took to accept a job.
}

// Fail records why the request failed.
func (l *RequestLog) Fail(e *app.Error) { l.Err, l.Cause = e, e.Err }

// ErrorCode is the code of the error that the caller was told, and empty for a request that succeeded.
func (l *RequestLog) ErrorCode() string {
	if l.Err == nil {
		return ""
	}
	return l.Err.Code
}

// ErrorReason tells causes of one error code apart. It is empty for most errors, and for a request that succeeded.
func (l *RequestLog) ErrorReason() string {
	if l.Err == nil {
		return ""
	}
	return l.Err.Reason
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

// recordResult copies the gateway's report of a text call. The model is what the caller sent until known says that the catalog
// has it.
func (l *RequestLog) recordResult(r *gateway.Report, known bool) {
	if r != &l.Result { // The gateway has filled in the report where it is.
		l.Result = *r
	}
	if known {
		l.Model = r.Model
	}
	if r.Err != nil {
		l.Fail(r.Err)
	}
}
