package messages

import (
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
)

const (
	// statusClientGone is what servers log when the client disconnects before the answer.
	statusClientGone = 499
	// statusOverloaded is the style's own status for a service that cannot take the call now.
	statusOverloaded = 529
)

// word is how the style says a kind of error.
type word struct {
	status int
	kind   string
}

// kinds is the error table of the messages route: every kind has a status and a type.
var kinds = map[app.Kind]word{
	app.Internal:         {http.StatusInternalServerError, "api_error"},
	app.Invalid:          {http.StatusBadRequest, "invalid_request_error"},
	app.Unauthenticated:  {http.StatusUnauthorized, "authentication_error"},
	app.Forbidden:        {http.StatusForbidden, "permission_error"},
	app.NotFound:         {http.StatusNotFound, "not_found_error"},
	app.Conflict:         {http.StatusConflict, "conflict_error"},
	app.Unprocessable:    {http.StatusUnprocessableEntity, "invalid_request_error"},
	app.MethodNotAllowed: {http.StatusMethodNotAllowed, "invalid_request_error"},
	app.TooLarge:         {http.StatusRequestEntityTooLarge, "request_too_large"},
	app.MediaType:        {http.StatusUnsupportedMediaType, "invalid_request_error"},
	app.Unfunded:         {http.StatusPaymentRequired, "billing_error"},
	app.Exhausted:        {http.StatusTooManyRequests, "rate_limit_error"},
	app.Upstream:         {http.StatusBadGateway, "api_error"},
	app.Timeout:          {http.StatusGatewayTimeout, "timeout_error"},
	app.Unavailable:      {statusOverloaded, "overloaded_error"},
	app.Canceled:         {statusClientGone, "api_error"},
}

// Status is the HTTP status of an error in this style. A request that a provider refused keeps the provider's status,
// and a store that is away is a plain 503, as in every style.
func Status(e *app.Error) int {
	switch {
	case e.Status != 0:
		return e.Status
	case e.Kind == app.Unavailable && e.Code == "service_unavailable":
		return http.StatusServiceUnavailable
	}
	return wordOf(e).status
}

// Type is the word of an error in this style.
func Type(e *app.Error) string {
	if e.Status >= 400 && e.Status < 500 && e.Kind == app.Upstream {
		if e.Status == http.StatusRequestEntityTooLarge {
			return kinds[app.TooLarge].kind
		}
		return kinds[app.Invalid].kind
	}
	return wordOf(e).kind
}

func wordOf(e *app.Error) word {
	if w, ok := kinds[e.Kind]; ok {
		return w
	}
	return kinds[app.Internal]
}

// AppendError appends the body of an error: {type, error:{type, message, details:{error_code, param?}}, request_id}.
func AppendError(dst []byte, e *app.Error, requestID string) []byte {
	dst = append(dst, `{"type":"error","error":{"type":`...)
	dst = quote(dst, Type(e))
	dst = append(dst, `,"message":`...)
	dst = quote(dst, e.Message)
	dst = append(dst, `,"details":{"error_code":`...)
	dst = quote(dst, e.Code)
	if e.Param != "" {
		dst = append(dst, `,"param":`...)
		dst = quote(dst, e.Param)
	}
	dst = append(dst, `}},"request_id":`...)
	dst = quote(dst, requestID)
	return append(dst, '}')
}

// quote appends s as a JSON string; what is not UTF-8 in it is replaced.
func quote(dst []byte, s string) []byte {
	// The only error says that bytes which are not UTF-8 were replaced.
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
