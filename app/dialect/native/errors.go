package native

import (
	"strconv"
	"strings"

	"umg/app"
	"umg/app/llm"
)

// errorTypes has the type of each kind of error in this style.
var errorTypes = llm.ErrorTypes{
	app.Internal:         "INTERNAL",
	app.Invalid:          "INVALID_ARGUMENT",
	app.Unauthenticated:  "UNAUTHENTICATED",
	app.Forbidden:        "PERMISSION_DENIED",
	app.NotFound:         "NOT_FOUND",
	app.Conflict:         "ABORTED",
	app.Unprocessable:    "INVALID_ARGUMENT",
	app.MethodNotAllowed: "INVALID_ARGUMENT",
	app.TooLarge:         "INVALID_ARGUMENT",
	app.MediaType:        "INVALID_ARGUMENT",
	app.Unfunded:         "RESOURCE_EXHAUSTED",
	app.Exhausted:        "RESOURCE_EXHAUSTED",
	app.Upstream:         "INTERNAL",
	app.Timeout:          "DEADLINE_EXCEEDED",
	app.Unavailable:      "UNAVAILABLE",
	app.Canceled:         "CANCELLED",
}

// The kinds of details that clients of this style know.
const (
	detailReason  = `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":`
	detailRequest = `,{"@type":"type.googleapis.com/google.rpc.RequestInfo","requestId":`
	detailField   = `,{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":`
	detailRetry   = `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":`
)

// AppendError appends the body of an error: {error:{code, message, status, details}}. The first detail has the code of the gateway, in
// capitals as its reason and unchanged in its metadata.
func AppendError(dst []byte, e *app.Error, requestID string) []byte {
	dst = append(dst, `{"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(app.HTTPStatus(e)), 10)
	dst = append(dst, `,"message":`...)
	dst = llm.Quote(dst, e.Message)
	dst = append(dst, `,"status":`...)
	dst = llm.Quote(dst, errorTypes.Of(e))
	dst = append(dst, `,"details":[`+detailReason...)
	dst = llm.Quote(dst, strings.ToUpper(e.Code))
	dst = append(dst, `,"domain":"gateway","metadata":{"code":`...)
	dst = llm.Quote(dst, e.Code)
	dst = append(dst, "}}"...)
	if requestID != "" {
		dst = append(dst, detailRequest...)
		dst = append(llm.Quote(dst, requestID), '}')
	}
	if e.Param != "" {
		dst = append(dst, detailField...)
		dst = llm.Quote(dst, e.Param)
		dst = append(dst, `,"description":`...)
		dst = append(llm.Quote(dst, e.Message), "}]}"...)
	}
	if seconds := e.RetrySeconds(); seconds > 0 {
		dst = append(dst, detailRetry+`"`...)
		dst = strconv.AppendInt(dst, seconds, 10)
		dst = append(dst, `s"}`...)
	}
	return append(dst, "]}}"...)
}

// AppendErrorFrame appends the frame that ends a stream with an error.
func AppendErrorFrame(dst []byte, e *app.Error, requestID string, charge *llm.Charge) []byte {
	dst = append(dst, "data: "...)
	dst = AppendError(dst, e, requestID)
	if charge != nil {
		dst = append(dst[:len(dst)-1], `,"usageMetadata":`...)
		dst = append(encodeUsage(dst, charge.Usage, &charge.Cost), '}')
	}
	return append(dst, "\n\n"...)
}
