package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"umg/app"
	"umg/app/account"
	"umg/app/dialect/chat"
)

const (
	errorStatusHeader = "X-Error-Status"
	retryAfterMax     = 60 * time.Second // clients sleep exactly as long as they are told
	codeBytesMax      = 64
	statusClientLeft  = 499 // what proxies log for a client that did not wait
	eventStream       = "text/event-stream; charset=utf-8"
	jsonType          = "application/json"
)

// Family is a group of routes that share one error layout.
type Family string

// The families. OpenAIFamily is responses, videos, models, files and every unknown path.
const (
	ChatFamily     Family = "chat"
	MessagesFamily Family = "messages"
	OpenAIFamily   Family = "openai"
	NativeFamily   Family = "native"
)

// standing is how one kind of error looks from outside: the status, and the type word of each layout.
type standing struct {
	status                   int
	openai, messages, native string
}

// standings is the one place that decides on statuses and types.
var standings = [...]standing{
	app.Internal:         {http.StatusInternalServerError, "server_error", "api_error", "INTERNAL"},
	app.Invalid:          {http.StatusBadRequest, "invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"},
	app.Unauthenticated:  {http.StatusUnauthorized, "authentication_error", "authentication_error", "UNAUTHENTICATED"},
	app.Forbidden:        {http.StatusForbidden, "permission_error", "permission_error", "PERMISSION_DENIED"},
	app.NotFound:         {http.StatusNotFound, "invalid_request_error", "not_found_error", "NOT_FOUND"},
	app.Conflict:         {http.StatusConflict, "invalid_request_error", "conflict_error", "ABORTED"},
	app.MethodNotAllowed: {http.StatusMethodNotAllowed, "invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"},
	app.TooLarge:         {http.StatusRequestEntityTooLarge, "invalid_request_error", "request_too_large", "INVALID_ARGUMENT"},
	app.MediaType:        {http.StatusUnsupportedMediaType, "invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"},
	app.Unfunded:         {http.StatusPaymentRequired, "insufficient_quota", "billing_error", "RESOURCE_EXHAUSTED"},
	app.Exhausted:        {http.StatusTooManyRequests, "rate_limit_error", "rate_limit_error", "RESOURCE_EXHAUSTED"},
	app.Upstream:         {http.StatusBadGateway, "server_error", "api_error", "UNAVAILABLE"},
	app.Timeout:          {http.StatusGatewayTimeout, "server_error", "timeout_error", "DEADLINE_EXCEEDED"},
	app.Unavailable:      {http.StatusServiceUnavailable, "server_error", "overloaded_error", "UNAVAILABLE"},
	app.Canceled:         {statusClientLeft, "invalid_request_error", "invalid_request_error", "CANCELLED"},
}

// alwaysTrue are the kinds that keep their HTTP status on the chat route in both error modes: what breaks them is
// seen by programs that read no body.
var alwaysTrue = map[app.Kind]bool{
	app.Unauthenticated: true, app.TooLarge: true, app.MediaType: true, app.MethodNotAllowed: true,
}

// stand looks an error up for every family but chat, whose words are in its dialect because they also appear inside
// streams. A provider's refusal of the request keeps the provider's status.
func stand(e *app.Error) standing {
	s := standings[app.Internal]
	if int(e.Kind) < len(standings) {
		s = standings[e.Kind]
	}
	if e.Kind == app.Upstream && e.Status >= 400 && e.Status < 500 {
		s = standings[app.Invalid]
		s.status = e.Status
	}
	return s
}

// WriteError answers a failed request in the layout of its family. Once an answer has begun it only records the
// failure: the stream itself has told the client.
func (a *API) WriteError(c echo.Context, err error) error {
	x := AccessOf(c)
	if x.family == "" {
		x.family, _ = familyOf(c.Request().URL.Path)
	}
	e := Explain(c, err)
	x.Fail(e)
	if c.Response().Committed {
		return nil
	}
	h := c.Response().Header()
	h.Set("X-Error-Code", token(e.Code))
	h.Set("Cache-Control", "no-store")
	if e.Kind == app.Unauthenticated {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if e.Allow != "" {
		h.Set("Allow", e.Allow)
	}
	if e.NoRetry {
		h.Set("X-Should-Retry", "false")
	}
	if wait := min(e.RetryAfter, retryAfterMax); wait > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
		h.Set("Retry-After-Ms", strconv.FormatInt(int64((wait+time.Millisecond-1)/time.Millisecond), 10))
	}
	status, contentType := stand(e).status, jsonType
	if x.family == ChatFamily {
		status = chat.Status(e)
	}
	body := a.body(x, e)
	if x.family == ChatFamily && !alwaysTrue[e.Kind] && a.documented(c, x) {
		status = http.StatusOK
		if x.streams {
			contentType = eventStream
			h.Set("Cache-Control", "no-cache, no-transform")
			h.Set("X-Accel-Buffering", "no")
			body = append(append([]byte("data: "), body...), "\n\n"+chat.DoneFrame...)
		}
	}
	extendWrite(c.Response().Writer, a.now())
	return c.Blob(status, contentType, body)
}

// documented reports whether chat failures travel in the body of a 200. The header overrides the key's mode. While no
// key is known there is no mode, and the status is the true one.
func (a *API) documented(c echo.Context, x *Access) bool {
	if !x.known {
		return false
	}
	switch account.ErrorMode(strings.ToLower(c.Request().Header.Get(errorStatusHeader))) {
	case account.Documented:
		return true
	case account.Standard:
		return false
	}
	return x.mode == account.Documented
}

// Explain turns what a room or the web framework returned into an error a face can render.
func Explain(c echo.Context, err error) *app.Error {
	if ours, ok := errors.AsType[*app.Error](err); ok {
		return ours
	}
	if web, ok := errors.AsType[*echo.HTTPError](err); ok {
		switch web.Code {
		case http.StatusNotFound:
			return notFound(c.Request().URL.Path)
		case http.StatusMethodNotAllowed:
			allow, _ := c.Get(echo.ContextKeyHeaderAllow).(string)
			e := app.Errorf(app.MethodNotAllowed, "method_not_allowed", "This endpoint takes the methods %s, not %q.",
				allow, shorten(c.Request().Method))
			e.Allow = allow
			return e
		}
	}
	if errors.Is(err, context.Canceled) && c.Request().Context().Err() != nil {
		return app.Errorf(app.Canceled, "client_left", "The client closed the connection.").Because(err)
	}
	return app.AsError(err)
}

type openAIError struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
	DocURL  string  `json:"doc_url,omitempty"`
}

type messagesError struct {
	Type      string         `json:"type"`
	Error     messagesDetail `json:"error"`
	RequestID string         `json:"request_id"`
}

type messagesDetail struct {
	Type    string            `json:"type"`
	Message string            `json:"message"`
	Details map[string]string `json:"details"`
}

type nativeError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
	Details []any  `json:"details,omitempty"`
}

// body renders the error in the layout of its family.
func (a *API) body(x *Access, e *app.Error) []byte {
	s, doc := stand(e), ""
	if e.Doc != "" {
		doc = a.baseURL + e.Doc
	}
	var v any
	switch x.family {
	case ChatFamily:
		return withDoc(chat.AppendError(nil, e, x.RequestID), doc, x.RequestID)
	case MessagesFamily:
		detail := messagesDetail{Type: s.messages, Message: e.Message, Details: map[string]string{"error_code": e.Code}}
		v = messagesError{Type: "error", Error: detail, RequestID: x.RequestID}
	case NativeFamily:
		v = map[string]any{"error": nativeError{
			Code: s.status, Message: e.Message, Status: s.native, Details: []any{map[string]string{"reason": e.Code, "request_id": x.RequestID}},
		}}
	default:
		out := openAIError{Message: e.Message, Type: s.openai, Code: e.Code, DocURL: doc}
		if e.Param != "" {
			out.Param = &e.Param
		}
		v = map[string]any{"error": out}
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte(`{"error":{"message":"Something went wrong on our side.","type":"server_error","param":null,"code":"internal_error"}}`)
	}
	return []byte(strings.TrimSuffix(b.String(), "\n"))
}

// withDoc adds the page that explains a chat error to its error object, which stands right before the request id.
func withDoc(body []byte, doc, requestID string) []byte {
	tail := `},"request_id":` + quoted(requestID) + `}`
	head, ok := bytes.CutSuffix(body, []byte(tail))
	if doc == "" || !ok {
		return body
	}
	return append(head, `,"doc_url":`+quoted(doc)+tail...)
}

// quoted is s as JSON; what is not UTF-8 in it is replaced.
func quoted(s string) string {
	b, _ := jsontext.AppendQuote(nil, s) // its error only reports the replacement
	return string(b)
}

// token makes a code fit for a header; a provider's own code may be anything.
func token(code string) string {
	bad := func(r rune) bool { return r <= ' ' || r >= 0x7f }
	if code == "" || len(code) > codeBytesMax || strings.ContainsFunc(code, bad) {
		return "error"
	}
	return code
}
