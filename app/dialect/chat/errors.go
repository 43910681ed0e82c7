package chat

import (
	"strconv"

	"umg/app"
	"umg/app/llm"
)

// errorTypes has the type of each kind of error in this style.
var errorTypes = llm.ErrorTypes{
	app.Internal:         "server_error",
	app.Invalid:          "invalid_request_error",
	app.Unauthenticated:  "authentication_error",
	app.Forbidden:        "permission_error",
	app.NotFound:         "invalid_request_error",
	app.Conflict:         "invalid_request_error",
	app.Unprocessable:    "idempotency_error",
	app.MethodNotAllowed: "invalid_request_error",
	app.TooLarge:         "invalid_request_error",
	app.MediaType:        "invalid_request_error",
	app.Unfunded:         "insufficient_quota",
	app.Exhausted:        "rate_limit_error",
}

// AppendError appends the body of an error: {code, error:{code, message, type, param?}, request_id}.
func AppendError(dst []byte, e *app.Error, requestID string) []byte {
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, int64(app.HTTPStatus(e)), 10)
	dst = append(dst, `,"error":{"code":`...)
	dst = llm.Quote(dst, e.Code)
	dst = append(dst, `,"message":`...)
	dst = llm.Quote(dst, e.Message)
	dst = append(dst, `,"type":`...)
	dst = llm.Quote(dst, errorTypes.Of(e))
	if e.Param != "" {
		dst = append(dst, `,"param":`...)
		dst = llm.Quote(dst, e.Param)
	}
	dst = append(dst, `},"request_id":`...)
	dst = llm.Quote(dst, requestID)
	return append(dst, '}')
}
