package app

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Kind says whose fault an error is and what a caller may do about it. Each face maps kinds to its own statuses in
// one table, so no room decides on an HTTP status.
type Kind uint8

// The kinds, in the order a request can meet them.
const (
	Internal         Kind = iota // our own fault; the message of a foreign error never leaves the server
	Invalid                      // the request is wrong and will stay wrong
	Unauthenticated              // no key, or not a valid one
	Forbidden                    // a valid caller who may not do this
	NotFound                     // NotFound means absent or another account's; callers cannot distinguish the two.
	Conflict                     // the state of the thing does not allow it
	Unprocessable                // understood, but it contradicts what was said before
	MethodNotAllowed             // the path exists, the method does not
	TooLarge                     // a body or a value beyond its limit
	MediaType                    // a content type the route does not read
	Unfunded                     // the prepaid credit does not cover it
	Exhausted                    // a rate or concurrency limit
	Upstream                     // a provider failed or refused
	Timeout                      // a provider did not answer in time
	Unavailable                  // temporarily no way to serve it
	Canceled                     // the client left
)

// none is the kind of what is no error.
const none = Kind(^uint8(0))

// Error is the one error type that faces render. Code is the stable word programs match on; Message is written for
// the person who reads it and names the field, the allowed values and the next step.
type Error struct {
	Kind       Kind
	Code       string
	Message    string
	Param      string        // the field at fault, as a path like messages[2].role
	Missing    bool          // the field is not there
	Doc        string        // path of the page that explains it, relative to the base URL
	RetryAfter time.Duration // zero when waiting does not help
	NoRetry    bool          // a retry can never succeed; told to clients, which otherwise retry by status
	Status     int           // the provider's own status when it refused the request (4xx), else zero
	Allow      string        // the methods a path takes, with MethodNotAllowed
	Err        error         // the cause, for the operator only
}

// Error is the operator's view: the code, the message and the whole cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Code + ": " + e.Message + ": " + e.Err.Error()
	}
	return e.Code + ": " + e.Message
}

// Unwrap gives the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error whose message is for the caller. A %w verb is not supported: attach a cause with Because,
// so that it can never leak into the message. A text among the arguments may be a caller's and of any length; the message has its
// beginning.
func Errorf(kind Kind, code, format string, args ...any) *Error {
	if format != "%s" { // with that format the text is the whole message
		args = shorten(args)
	}
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// shownBytesMax is how much of one text a message repeats.
const shownBytesMax = 600

// shorten cuts the texts among the arguments of a message.
func shorten(args []any) []any {
	short := slices.Clone(args)
	for i, arg := range args {
		if v := reflect.ValueOf(arg); v.Kind() == reflect.String && v.Len() > shownBytesMax {
			short[i] = TruncateBytes(v.String(), shownBytesMax)
		}
	}
	return short
}

// At names the field at fault.
func (e *Error) At(param string) *Error {
	e.Param = param
	return e
}

// Because attaches the cause, which only operators see.
func (e *Error) Because(err error) *Error {
	e.Err = err
	return e
}

// After says when a retry is worth it.
func (e *Error) After(d time.Duration) *Error {
	e.RetryAfter = d
	return e
}

// Bounds of what clients are told to wait.
const (
	RetryMax         = 59 * time.Second // clients sleep as long as they are told, and some ignore a minute
	unavailableRetry = 5 * time.Second  // for what is away and says no time
)

// RetryIn is how long clients should wait before they try again, at most RetryMax; zero when waiting does not help. A
// temporary failure without its own time gets the default.
func (e *Error) RetryIn() time.Duration {
	wait := e.RetryAfter
	if wait <= 0 && e.Kind == Unavailable {
		wait = unavailableRetry
	}
	return min(max(wait, 0), RetryMax)
}

// RetrySeconds is RetryIn in whole seconds, as the header Retry-After has it.
func (e *Error) RetrySeconds() int64 { return int64((e.RetryIn() + time.Second - 1) / time.Second) }

// Final says that no retry can succeed until a person acts.
func (e *Error) Final() *Error {
	e.NoRetry = true
	return e
}

// AsError returns the *Error inside err, or wraps a foreign error as Internal with a message that gives nothing
// away. It returns nil for nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{
		Kind: Internal, Code: "internal_error", Err: err,
		Message: "Something went wrong on our side. Try again; if it stays, tell the operator the x-request-id of this answer.",
	}
}

// KindOf is the kind of err; foreign errors are Internal, and no error is of none of the kinds.
func KindOf(err error) Kind {
	if err == nil {
		return none
	}
	return AsError(err).Kind
}

// ErrStore is what every room answers when the database cannot be reached: temporary, and never mistaken for a
// missing key, an empty balance or an unknown object.
func ErrStore(cause error) *Error {
	return Errorf(Unavailable, "service_unavailable",
		"The service cannot reach its store right now. Nothing was charged; try again in a few seconds.").Because(cause).After(2 * time.Second)
}

// InvalidValue is the error for a field with a value that it cannot have.
func InvalidValue(param, format string, args ...any) *Error {
	return Errorf(Invalid, "invalid_value", format, args...).At(param)
}

// InvalidRequest is the error for a field of an API request that is not what the API documents.
func InvalidRequest(param, format string, args ...any) *Error {
	return Errorf(Invalid, "invalid_request_error", format, args...).At(param)
}

// MissingField is the error for a field of an API request that is required and not there.
func MissingField(param, format string, args ...any) *Error {
	e := InvalidRequest(param, format, args...)
	e.Missing = true
	return e
}
