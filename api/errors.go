package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"umg/app"
	"umg/app/apikey"
	"umg/app/dialect"
	"umg/app/dialect/chat"
	"umg/app/docs"
	"umg/app/llm"
)

const (
	errorStatusHeader = "X-Error-Status"
	codeBytesMax      = 64
	statusClientLeft  = 499 // what proxies log for a client that did not wait
	eventStream       = "text/event-stream; charset=utf-8"
	jsonType          = "application/json"
)

// ErrorFormat is a group of routes that share one error layout.
type ErrorFormat string

// The families. OpenAIFamily is responses, videos, models, files and every unknown path.
const (
	ChatFamily     ErrorFormat = "chat"
	MessagesFamily ErrorFormat = "messages"
	OpenAIFamily   ErrorFormat = "openai"
	NativeFamily   ErrorFormat = "native"
)

// layout is how one family speaks of an error: in the words of a style, which stand in its dialect because they also
// appear inside streams.
type layout struct {
	style llm.Style
	end   string // the text at the end of a body, before which the link to the explaining page is put; empty where a link is not allowed
}

var layouts = map[ErrorFormat]layout{
	ChatFamily:     {llm.Chat, `},"request_id":`},
	MessagesFamily: {llm.Messages, `},"request_id":`},
	OpenAIFamily:   {llm.Responses, `}}`},
	NativeFamily:   {llm.Native, ""},
}

// alwaysTrue are the kinds that keep their HTTP status on the chat route in both error modes: what breaks them is
// seen by programs that read no body.
var alwaysTrue = map[app.Kind]bool{
	app.Unauthenticated: true, app.TooLarge: true, app.MediaType: true, app.MethodNotAllowed: true,
}

// alwaysTrueCodes are further refusals of the caller rather than of the call.
var alwaysTrueCodes = map[string]bool{"insufficient_scope": true, "address_not_allowed": true, "overloaded": true}

// WriteError answers a failed request in the layout of its family. Once an answer has begun it only records the
// failure: the stream itself has told the client.
func (a *API) WriteError(c echo.Context, err error) error {
	x := AccessOf(c)
	if x.family == "" {
		x.family, _ = familyOf(c.Request().URL.Path)
	}
	e := bounded(named(c, coded(x.family, Explain(c, err))))
	x.Fail(e)
	defer x.tape.End()
	if c.Response().Committed {
		return nil
	}
	h := c.Response().Header()
	h.Set("X-Error-Code", token(e.Code))
	h.Set("Cache-Control", "no-store")
	h.Add("Link", a.helpLink(e))     // beside a link to the successor of a model
	h.Set("Request-Id", x.RequestID) // errors of routing come past no route that stamps it
	if e.Kind == app.Unauthenticated {
		h.Set("WWW-Authenticate", "Bearer")
	}
	if e.Allow != "" {
		h.Set("Allow", e.Allow)
	}
	if e.NoRetry {
		h.Set("X-Should-Retry", "false")
	}
	if wait := e.RetryIn(); wait > 0 {
		h.Set("Retry-After", strconv.FormatInt(e.RetrySeconds(), 10))
		h.Set("Retry-After-Ms", strconv.FormatInt(int64((wait+time.Millisecond-1)/time.Millisecond), 10))
	}
	x.setServerTiming(h, a.now())
	if x.family == ChatFamily {
		h.Add("Vary", errorStatusHeader) // This request header decides whether the status is the true one.
	}
	as := layouts[x.family]
	status, body := dialect.Error(as.style, e, x.RequestID)
	body = withDoc(body, as.end, a.baseURL+cmp.Or(e.Doc, docs.ErrorPath(e.Code)))
	contentType := jsonType
	if x.family == ChatFamily && !alwaysTrue[e.Kind] && !alwaysTrueCodes[e.Code] && !x.unread && a.documented(c, x) {
		status = http.StatusOK
		if x.streams {
			contentType = eventStream
			h.Set("Cache-Control", "no-cache, no-transform")
			h.Set("X-Accel-Buffering", "no")
			body = append(append([]byte("data: "), body...), "\n\n"+chat.DoneFrame...)
		}
	}
	x.tape.Error(body)
	extendWrite(c.Response().Writer, a.now())
	return c.Blob(status, contentType, body)
}

// helpLink is the value of the header that leads to what the documentation says of an error.
func (a *API) helpLink(e *app.Error) string {
	return "<" + a.baseURL + docs.ErrorPath(e.Code) + `>; rel="help"`
}

// listsOf are what lists the objects whose absence has a code of its own.
var listsOf = map[string]struct{ param, noun, list string }{
	"key_not_found":              {idParam, "key", "GET /v1/keys"},
	"member_not_found":           {idParam, "member", "GET /v1/members"},
	"invitation_not_found":       {idParam, "open invitation", "GET /v1/invitations"},
	"topup_not_found":            {idParam, "top-up", "GET /v1/top_ups"},
	"video_not_found":            {idParam, "video", "GET /v1/videos"},
	"webhook_endpoint_not_found": {idParam, "webhook endpoint", "GET /v1/webhook_endpoints"},
	"webhook_delivery_not_found": {"delivery", "delivery", "GET /v1/webhook_endpoints/{id}/deliveries"},
}

// named adds to an error the name of its field where its message lacks it, and where to find the ids of objects where the path has one
// that the account does not have. It does not repeat the id: foreign and unknown ids are answered with the same bytes.
func named(c echo.Context, e *app.Error) *app.Error {
	if e.Kind == app.Invalid && !strings.Contains(strings.ToLower(e.Message), strings.ToLower(lastName(e.Param))) {
		exact := *e
		exact.Message = e.Param + ": " + e.Message
		return &exact
	}
	of, known := listsOf[e.Code]
	if !known || c.Param(of.param) == "" {
		return e
	}
	exact := *e
	exact.Message = "There is no " + of.noun + " of this id in the account. " + of.list + " lists those it has."
	return &exact
}

// Bounds of an error, whatever the caller has sent.
const (
	messageBytesMax = 900
	paramBytesMax   = 256
)

// bounded cuts what is too long in an error: names and values in it may be the caller's.
func bounded(e *app.Error) *app.Error {
	if len(e.Message) <= messageBytesMax && len(e.Param) <= paramBytesMax {
		return e
	}
	exact := *e
	if len(e.Message) > messageBytesMax {
		exact.Message = strings.ToValidUTF8(e.Message[:messageBytesMax], "") + "… This message is cut."
	}
	if len(e.Param) > paramBytesMax {
		exact.Param = strings.ToValidUTF8(e.Param[:paramBytesMax], "") + "…"
	}
	return &exact
}

// lastName is the last name of a path, such as type of messages[0].content[1].type.
func lastName(path string) string {
	name, _, _ := strings.Cut(path[strings.LastIndexByte(path, '.')+1:], "[")
	return name
}

// coded gives an error about a field the code that clients of the family match on; wire.md section 1.5. The chat route
// has one code for all of them; section 4.1, D3.
func coded(family ErrorFormat, e *app.Error) *app.Error {
	if family != OpenAIFamily || e.Kind != app.Invalid || e.Code != "invalid_request_error" {
		return e
	}
	exact := *e
	if exact.Code = "invalid_value"; e.Missing {
		exact.Code = "missing_required_parameter"
	}
	return &exact
}

// documented reports whether chat failures travel in the body of a 200. The header overrides the key's mode. While no
// key is known there is no mode, and the status is the true one.
func (a *API) documented(c echo.Context, x *RequestLog) bool {
	if !x.known {
		return false
	}
	switch apikey.ErrorMode(strings.ToLower(c.Request().Header.Get(errorStatusHeader))) {
	case apikey.Documented:
		return true
	case apikey.Standard:
		return false
	}
	return x.mode == apikey.Documented
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
			return wrongMethod(c.Request().Method, c.Request().URL.Path, allow)
		}
	}
	if errors.Is(err, context.Canceled) && c.Request().Context().Err() != nil {
		return app.Errorf(app.Canceled, "client_left", "The client closed the connection.").Because(err)
	}
	return app.AsError(err)
}

// withDoc adds the page that explains an error to its error object, right before the last occurrence of end.
func withDoc(body []byte, end, address string) []byte {
	at := bytes.LastIndex(body, []byte(end))
	if end == "" || at < 0 {
		return body
	}
	return slices.Insert(body, at, []byte(`,"doc_url":`+quoted(address))...)
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
