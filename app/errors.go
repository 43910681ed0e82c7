package app

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Kind is whose fault an error is and what a caller may do about it. The API and the console map kinds to HTTP statuses in one
// table each, so no service decides on a status.
type Kind uint8

// The kinds are in the order in which a request can meet them.
const (
	Internal         Kind = iota // The server itself failed. The text of the cause is never sent.
	Invalid                      // The request is wrong, and a retry stays wrong.
	Unauthenticated              // The request has no valid key.
	Forbidden                    // The caller is known and may not do this.
	NotFound                     // NotFound means absent or another account's; callers cannot distinguish the two.
	Conflict                     // The state of the object does not allow it.
	Unprocessable                // The request contradicts an earlier one.
	MethodNotAllowed             // The path exists without this method.
	TooLarge                     // A body or a value is too large.
	MediaType                    // The route does not read this content type.
	Unfunded                     // The prepaid credit is too little.
	Exhausted                    // A rate or concurrency limit is reached.
	Upstream                     // A provider failed or refused.
	Timeout                      // A provider did not answer in time.
	Unavailable                  // The request cannot be served now.
	Canceled                     // The client left.
)

// none is the kind of a nil error.
const none = Kind(^uint8(0))

// Error is the only error type that the API and the console show. Programs match on Code, which is stable. Message is for people: it
// names the field, the allowed values and the next step.
type Error struct {
	Kind       Kind
	Code       string
	Message    string
	Param      string        // Param is the path of the wrong field, such as messages[2].role.
	Value      string        // Value is what the request had in the field, for the account's own record. Few errors have it.
	Missing    bool          // Missing means that the request lacks the field.
	Reason     string        // Reason tells causes of one code apart for the console. It is not sent to callers.
	Doc        string        // Doc is the path of the page that explains the error.
	RetryAfter time.Duration // RetryAfter is zero when waiting does not help.
	NoRetry    bool          // NoRetry means that a retry never succeeds. Clients are told.
	Status     int           // Status is that of the provider's refusal (4xx), else zero.
	Allow      string        // Allow lists the methods of the path, for MethodNotAllowed.
	Err        error         // Err is the cause, for the operator only.
}

// Error is the operator's view: the code, the message and the whole cause.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Code + ": " + e.Message + ": " + e.Err.Error()
	}
	return e.Code + ": " + e.Message
}

// Unwrap returns the cause, for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error whose message is for the caller. A %w verb is not supported: attach a cause with Because,
// because callers must never see it. A text among the arguments may come from a caller and be long; the message has its beginning.
func Errorf(kind Kind, code, format string, args ...any) *Error {
	if format != "%s" { // With that format, the text is the whole message.
		args = shorten(args)
	}
	return &Error{Kind: kind, Code: code, Message: fmt.Sprintf(format, args...)}
}

// shownBytesMax is how many bytes of one argument a message repeats.
const shownBytesMax = 600

// shorten truncates the texts among the arguments of a message.
func shorten(args []any) []any {
	short := slices.Clone(args)
	for i, arg := range args {
		if v := reflect.ValueOf(arg); v.Kind() == reflect.String && v.Len() > shownBytesMax {
			short[i] = TruncateBytes(v.String(), shownBytesMax)
		}
	}
	return short
}

// At sets the path of the wrong field.
func (e *Error) At(param string) *Error {
	e.Param = param
	return e
}

// For sets the reason, which tells causes of one code apart.
func (e *Error) For(reason string) *Error {
	e.Reason = reason
	return e
}

// Because attaches the cause, which only operators see.
func (e *Error) Because(err error) *Error {
	e.Err = err
	return e
}

// After sets when a retry may succeed.
func (e *Error) After(d time.Duration) *Error {
	e.RetryAfter = d
	return e
}

// These limits bound how long clients are told to wait.
const (
	RetryMax         = 59 * time.Second // Clients wait this long, and some ignore a minute or more.
	unavailableRetry = 5 * time.Second  // This is the wait for what is unavailable and names no time.
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

// Final marks that no retry can succeed until a person acts.
func (e *Error) Final() *Error {
	e.NoRetry = true
	return e
}

// AsError returns the *Error inside err, or wraps another error as Internal with a message that reveals nothing. It returns nil for nil.
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

// KindOf returns the kind of an error. An error without a kind is Internal, and nil has none of the kinds.
func KindOf(err error) Kind {
	if err == nil {
		return none
	}
	return AsError(err).Kind
}

// ErrStore is the error of every service when the database cannot be reached. It is temporary, and never looks like a missing key,
// an empty balance or an unknown object.
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
