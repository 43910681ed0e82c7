package llm

import (
	"net/http"

	"umg/app"
)

// statusClientGone is what servers write in their logs when the client left before the answer.
const statusClientGone = 499

// statuses has the HTTP status of each kind of error.
var statuses = map[app.Kind]int{
	app.Internal:         http.StatusInternalServerError,
	app.Invalid:          http.StatusBadRequest,
	app.Unauthenticated:  http.StatusUnauthorized,
	app.Forbidden:        http.StatusForbidden,
	app.NotFound:         http.StatusNotFound,
	app.Conflict:         http.StatusConflict,
	app.Unprocessable:    http.StatusUnprocessableEntity,
	app.MethodNotAllowed: http.StatusMethodNotAllowed,
	app.TooLarge:         http.StatusRequestEntityTooLarge,
	app.MediaType:        http.StatusUnsupportedMediaType,
	app.Unfunded:         http.StatusPaymentRequired,
	app.Exhausted:        http.StatusTooManyRequests,
	app.Upstream:         http.StatusBadGateway,
	app.Timeout:          http.StatusGatewayTimeout,
	app.Unavailable:      http.StatusServiceUnavailable,
	app.Canceled:         statusClientGone,
}

// HTTPStatus returns the HTTP status of an error. An error of a provider that refused the request keeps the provider's status.
func HTTPStatus(e *app.Error) int {
	if e.Status != 0 {
		return e.Status
	}
	if status, ok := statuses[e.Kind]; ok {
		return status
	}
	return http.StatusInternalServerError
}

// IsRefusal reports whether an error says that a provider refused the request.
func IsRefusal(e *app.Error) bool {
	return e.Kind == app.Upstream && e.Status >= 400 && e.Status < 500
}

// ErrorTypes has the type of each kind of error in one style.
type ErrorTypes map[app.Kind]string

// Of returns the type of an error. A request that a provider refused is an invalid request.
func (t ErrorTypes) Of(e *app.Error) string {
	kind := e.Kind
	if IsRefusal(e) {
		kind = app.Invalid
	}
	if name, ok := t[kind]; ok {
		return name
	}
	return t[app.Internal]
}
