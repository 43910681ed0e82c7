package chat

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
)

// statusClientGone is what servers write in their logs when the client left before the answer.
const statusClientGone = 499

// word is how the style says a kind of error.
type word struct {
	status int
	kind   string
}

// words is the error table of the chat route: every kind has a status and a type.
var words = map[app.Kind]word{
	app.Internal:         {http.StatusInternalServerError, "server_error"},
	app.Invalid:          {http.StatusBadRequest, "invalid_request_error"},
	app.Unauthenticated:  {http.StatusUnauthorized, "authentication_error"},
	app.Forbidden:        {http.StatusForbidden, "permission_error"},
	app.NotFound:         {http.StatusNotFound, "invalid_request_error"},
	app.Conflict:         {http.StatusConflict, "invalid_request_error"},
	app.Unprocessable:    {http.StatusUnprocessableEntity, "idempotency_error"},
	app.MethodNotAllowed: {http.StatusMethodNotAllowed, "invalid_request_error"},
	app.TooLarge:         {http.StatusRequestEntityTooLarge, "invalid_request_error"},
	app.MediaType:        {http.StatusUnsupportedMediaType, "invalid_request_error"},
	app.Unfunded:         {http.StatusPaymentRequired, "insufficient_quota"},
	app.Exhausted:        {http.StatusTooManyRequests, "rate_limit_error"},
	app.Upstream:         {http.StatusBadGateway, "server_error"},
	app.Timeout:          {http.StatusGatewayTimeout, "server_error"},
	app.Unavailable:      {http.StatusServiceUnavailable, "server_error"},
	app.Canceled:         {statusClientGone, "server_error"},
}

// Status is the code of an error in this style: the number in the body, and the HTTP status where statuses are
// true. A request that a provider refused keeps the provider's status.
func Status(e *app.Error) int {
	if e.Status != 0 {
		return e.Status
	}
	return wordOf(e).status
}

// Type is the word of an error in this style.
func Type(e *app.Error) string {
	if e.Status >= 400 && e.Status < 500 && e.Kind == app.Upstream {
		return words[app.Invalid].kind
	}
	return wordOf(e).kind
}

func wordOf(e *app.Error) word {
	if w, ok := words[e.Kind]; ok {
		return w
	}
	return words[app.Internal]
}

// AppendError appends the body of an error: {code, error:{code, message, type, param?}, request_id}.
func AppendError(dst []byte, e *app.Error, requestID string) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(Status(e)), 10)
	dst = append(dst, `,"error":{"code":`...)
	dst = quote(dst, e.Code)
	dst = append(dst, `,"message":`...)
	dst = quote(dst, e.Message)
	dst = append(dst, `,"type":`...)
	dst = quote(dst, Type(e))
	if e.Param != "" {
		dst = append(dst, `,"param":`...)
		dst = quote(dst, e.Param)
	}
	dst = append(dst, `},"request_id":`...)
	dst = quote(dst, requestID)
	return append(dst, '}')
}

// quote appends s as a JSON string; what is not UTF-8 in it is replaced.
func quote(dst []byte, s string) []byte {
	// The only error says that bytes which are not UTF-8 were replaced.
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
