package responses

import (
	"net/http"

	"umg/app"
)

// statusClientGone is what servers write in their logs when the client left before the answer.
const statusClientGone = 499

// word is how the style says a kind of error.
type word struct {
	status int
	kind   string
}

// words is the error table of the style: every kind has a status and a type.
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
	app.Canceled:         {statusClientGone, "invalid_request_error"},
}

// Status is the HTTP status of an error in this style. A request that a provider refused keeps the provider's status.
func Status(e *app.Error) int {
	if refused(e) {
		return e.Status
	}
	return wordOf(e).status
}

// Type is the word of an error in this style.
func Type(e *app.Error) string {
	if refused(e) {
		return words[app.Invalid].kind
	}
	return wordOf(e).kind
}

// refused reports whether a provider found fault with the request.
func refused(e *app.Error) bool {
	return e.Kind == app.Upstream && e.Status >= 400 && e.Status < 500
}

func wordOf(e *app.Error) word {
	if w, ok := words[e.Kind]; ok {
		return w
	}
	return words[app.Internal]
}

// AppendError appends the body of an error: {error:{message, type, param, code}}. The request id travels in a header.
func AppendError(dst []byte, e *app.Error, _ string) []byte {
	dst = append(dst, `{"error":{`...)
	dst = textMember(dst, "message", e.Message)
	dst = textMember(dst, "type", Type(e))
	dst = textOrNull(dst, "param", e.Param)
	dst = textMember(dst, "code", e.Code)
	return append(dst, "}}"...)
}

// failures are the few codes that the error of an answer may have. Every other kind is a server_error.
var failures = map[app.Kind]string{app.Exhausted: "rate_limit_exceeded", app.Invalid: "invalid_prompt"}

// failureCode is the code of an error inside an answer.
func failureCode(e *app.Error) string {
	kind := e.Kind
	if refused(e) {
		kind = app.Invalid
	}
	if code, ok := failures[kind]; ok {
		return code
	}
	return serverError
}

const serverError = "server_error"

// appendFailure appends the error of a failed answer.
func appendFailure(dst []byte, code, message, requestID string) []byte {
	dst = append(dst, '{')
	dst = textMember(dst, "code", code)
	dst = textMember(dst, "message", message)
	dst = optional(dst, "request_id", requestID)
	return append(dst, '}')
}
