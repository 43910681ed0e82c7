package responses

import (
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
	app.Canceled:         "invalid_request_error",
}

// AppendError appends the body of an error: {error:{message, type, param, code}}. The request id is in a header.
func AppendError(dst []byte, e *app.Error, _ string) []byte {
	dst = append(dst, `{"error":{`...)
	dst = textMember(dst, "message", e.Message)
	dst = textMember(dst, "type", errorTypes.Of(e))
	dst = textOrNull(dst, "param", e.Param)
	dst = textMember(dst, "code", e.Code)
	return append(dst, "}}"...)
}

// failures has the codes of errors inside an answer. Every other kind is a server_error.
var failures = map[app.Kind]string{app.Exhausted: "rate_limit_exceeded", app.Invalid: "invalid_prompt"}

// failureCode is the code of an error inside an answer.
func failureCode(e *app.Error) string {
	kind := e.Kind
	if llm.IsRefusal(e) {
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
