package native

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/llm"
)

// statusClientGone is what servers write in their logs when the client left before the answer.
const statusClientGone = 499

// word is how the style says a kind of error.
type word struct {
	status int
	kind   string
}

// words is the error table of the native route: every kind has a code and a status.
var words = map[app.Kind]word{
	app.Internal:         {http.StatusInternalServerError, "INTERNAL"},
	app.Invalid:          {http.StatusBadRequest, "INVALID_ARGUMENT"},
	app.Unauthenticated:  {http.StatusUnauthorized, "UNAUTHENTICATED"},
	app.Forbidden:        {http.StatusForbidden, "PERMISSION_DENIED"},
	app.NotFound:         {http.StatusNotFound, "NOT_FOUND"},
	app.Conflict:         {http.StatusConflict, "ABORTED"},
	app.Unprocessable:    {http.StatusUnprocessableEntity, "INVALID_ARGUMENT"},
	app.MethodNotAllowed: {http.StatusMethodNotAllowed, "INVALID_ARGUMENT"},
	app.TooLarge:         {http.StatusRequestEntityTooLarge, "INVALID_ARGUMENT"},
	app.MediaType:        {http.StatusUnsupportedMediaType, "INVALID_ARGUMENT"},
	app.Unfunded:         {http.StatusPaymentRequired, "RESOURCE_EXHAUSTED"},
	app.Exhausted:        {http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"},
	app.Upstream:         {http.StatusBadGateway, "INTERNAL"},
	app.Timeout:          {http.StatusGatewayTimeout, "DEADLINE_EXCEEDED"},
	app.Unavailable:      {http.StatusServiceUnavailable, "UNAVAILABLE"},
	app.Canceled:         {statusClientGone, "CANCELLED"},
}

// Status is the HTTP status of an error, which is also the number in the body. A request that a provider refused keeps
// the provider's status.
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

// The kinds of details that clients of this style know.
const (
	detailReason  = `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":`
	detailRequest = `,{"@type":"type.googleapis.com/google.rpc.RequestInfo","requestId":`
	detailField   = `,{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":`
	detailRetry   = `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":`
)

// AppendError appends the body of an error: {error:{code, message, status, details}}. The stable word is in the
// first detail, as its reason in capitals and as it is elsewhere in its metadata.
func AppendError(dst []byte, e *app.Error, requestID string) []byte {
	dst = append(dst, `{"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(Status(e)), 10)
	dst = append(dst, `,"message":`...)
	dst = quote(dst, e.Message)
	dst = append(dst, `,"status":`...)
	dst = quote(dst, Type(e))
	dst = append(dst, `,"details":[`+detailReason...)
	dst = quote(dst, strings.ToUpper(e.Code))
	dst = append(dst, `,"domain":"gateway","metadata":{"code":`...)
	dst = quote(dst, e.Code)
	dst = append(dst, "}}"...)
	if requestID != "" {
		dst = append(dst, detailRequest...)
		dst = append(quote(dst, requestID), '}')
	}
	if e.Param != "" {
		dst = append(dst, detailField...)
		dst = quote(dst, e.Param)
		dst = append(dst, `,"description":`...)
		dst = append(quote(dst, e.Message), "}]}"...)
	}
	if seconds := e.RetrySeconds(); seconds > 0 {
		dst = append(dst, detailRetry+`"`...)
		dst = strconv.AppendInt(dst, seconds, 10)
		dst = append(dst, `s"}`...)
	}
	return append(dst, "]}}"...)
}

// AppendErrorFrame appends how a stream ends with an error: one frame that every client raises.
func AppendErrorFrame(dst []byte, e *app.Error, requestID string, charge *llm.Charge) []byte {
	dst = append(dst, "data: "...)
	dst = AppendError(dst, e, requestID)
	if charge != nil {
		dst = append(dst[:len(dst)-1], `,"usageMetadata":`...)
		dst = append(encodeUsage(dst, charge.Usage, &charge.Cost), '}')
	}
	return append(dst, "\n\n"...)
}

// quote appends s as a JSON string; what is not UTF-8 in it is replaced.
func quote(dst []byte, s string) []byte {
	// The only error says that bytes which are not UTF-8 were replaced.
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}
