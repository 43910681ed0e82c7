package messages

import (
	"net/http"

	"umg/app"
	"umg/app/llm"
)

// statusOverloaded is the status of this style for a service that cannot take the call now.
const statusOverloaded = 529

// errorTypes has the type of each kind of error in this style.
var errorTypes = llm.ErrorTypes{
	app.Internal:         "api_error",
	app.Invalid:          "invalid_request_error",
	app.Unauthenticated:  "authentication_error",
	app.Forbidden:        "permission_error",
	app.NotFound:         "not_found_error",
	app.Conflict:         "conflict_error",
	app.Unprocessable:    "invalid_request_error",
	app.MethodNotAllowed: "invalid_request_error",
	app.TooLarge:         "request_too_large",
	app.MediaType:        "invalid_request_error",
	app.Unfunded:         "billing_error",
	app.Exhausted:        "rate_limit_error",
	app.Upstream:         "api_error",
	app.Timeout:          "timeout_error",
	app.Unavailable:      "overloaded_error",
	app.Canceled:         "api_error",
}

// Status returns the HTTP status of an error in this style. A database that is unavailable is a plain 503, as in every style.
func Status(e *app.Error) int {
	if e.Status == 0 && e.Kind == app.Unavailable && e.Code != "service_unavailable" {
		return statusOverloaded
	}
	return app.HTTPStatus(e)
}

// Type returns the type of an error in this style.
func Type(e *app.Error) string {
	if llm.IsRefusal(e) && e.Status == http.StatusRequestEntityTooLarge {
		return errorTypes[app.TooLarge]
	}
	return errorTypes.Of(e)
}

// AppendError appends the body of an error: {type, error:{type, message, details:{error_code, param?}}, request_id}.
func AppendError(dst []byte, e *app.Error, requestID string) []byte {
	dst = append(dst, `{"type":"error","error":{"type":`...)
	dst = llm.Quote(dst, Type(e))
	dst = append(dst, `,"message":`...)
	dst = llm.Quote(dst, e.Message)
	dst = append(dst, `,"details":{"error_code":`...)
	dst = llm.Quote(dst, e.Code)
	if e.Param != "" {
		dst = append(dst, `,"param":`...)
		dst = llm.Quote(dst, e.Param)
	}
	dst = append(dst, `}},"request_id":`...)
	dst = llm.Quote(dst, requestID)
	return append(dst, '}')
}
