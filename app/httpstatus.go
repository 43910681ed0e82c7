package app

import "net/http"

// statusClientGone is what servers write in their logs when the client left before the answer.
const statusClientGone = 499

// statuses has the HTTP status of each kind of error.
var statuses = map[Kind]int{
	Internal:         http.StatusInternalServerError,
	Invalid:          http.StatusBadRequest,
	Unauthenticated:  http.StatusUnauthorized,
	Forbidden:        http.StatusForbidden,
	NotFound:         http.StatusNotFound,
	Conflict:         http.StatusConflict,
	Unprocessable:    http.StatusUnprocessableEntity,
	MethodNotAllowed: http.StatusMethodNotAllowed,
	TooLarge:         http.StatusRequestEntityTooLarge,
	MediaType:        http.StatusUnsupportedMediaType,
	Unfunded:         http.StatusPaymentRequired,
	Exhausted:        http.StatusTooManyRequests,
	Upstream:         http.StatusBadGateway,
	Timeout:          http.StatusGatewayTimeout,
	Unavailable:      http.StatusServiceUnavailable,
	Canceled:         statusClientGone,
}

// HTTPStatus returns the HTTP status of an error. An error of a provider that refused the request keeps the provider's status.
func HTTPStatus(e *Error) int {
	if e.Status != 0 {
		return e.Status
	}
	if status, ok := statuses[e.Kind]; ok {
		return status
	}
	return http.StatusInternalServerError
}
