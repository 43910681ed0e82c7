package api

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

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
	statusClientLeft  = 499 // Nginx logs 499 for a client that closed the connection.
	eventStream       = "text/event-stream; charset=utf-8"
	jsonType          = "application/json"
)

// ErrorFormat is a group of routes that share one error layout.
type ErrorFormat string

// These are the families. OpenAIFamily is responses, videos, models, files and every unknown path.
const (
	ChatFamily     ErrorFormat = "chat"
	MessagesFamily ErrorFormat = "messages"
	OpenAIFamily   ErrorFormat = "openai"
	NativeFamily   ErrorFormat = "native"
)

// layout is the error layout of one family. It is that of a style, whose dialect has it because streams contain the same errors.
type layout struct {
	style llm.Style
	// The documentation link goes before end, the text at the end of a body. An empty end means no link.
	end string
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

// writeError answers a failed request in the layout of its family. It only records a failure after a response has begun, because the
// stream itself has told the client.
func (a *API) writeError(x exchange, l *RequestLog, err error) error {
	if l.format == "" {
		l.format, _ = familyOf(x.Request().URL.Path)
	}
	e := truncated(withFieldName(x, withClientCode(l.format, x.explain(err))))
	l.Fail(e)
	defer l.recorder.End()
	if x.committed() {
		return nil
	}
	h := x.Header()
	h.Set("X-Error-Code", headerToken(e.Code))
	h.Set("Cache-Control", "no-store")
	h.Add("Link", a.helpLink(e))     // A deprecated model has added a Link to its successor already.
	h.Set("Request-Id", l.RequestID) // Errors of routing have no Request-Id yet.
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
	l.setServerTiming(h, a.now())
	if l.format == ChatFamily {
		h.Add("Vary", errorStatusHeader) // This request header decides whether the status is the true one.
	}
	as := layouts[l.format]
	trueStatus, body := dialect.Error(as.style, e, l.RequestID)
	status := trueStatus
	body = withDoc(body, as.end, a.o.BaseURL+cmp.Or(e.Doc, docs.ErrorPath(e.Code)))
	contentType := jsonType
	if l.format == ChatFamily && !alwaysTrue[e.Kind] && !alwaysTrueCodes[e.Code] && !l.unread && a.documented(x, l) {
		status = http.StatusOK
		if l.streams {
			contentType = eventStream
			h.Set("Cache-Control", "no-cache, no-transform")
			h.Set("X-Accel-Buffering", "no")
			body = append(append([]byte("data: "), body...), "\n\n"+chat.DoneFrame...)
		}
	}
	l.recorder.Error(body)
	a.recordRefusal(x, l, e, trueStatus)
	extendWrite(x.Connection(), a.now())
	return x.Blob(status, contentType, body)
}

// helpLink is the value of the header with the address at which the documentation explains an error.
func (a *API) helpLink(e *app.Error) string {
	return "<" + a.o.BaseURL + docs.ErrorPath(e.Code) + `>; rel="help"`
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

// withFieldName adds the name of the field to a message that lacks it. Where the path has the id of an object that the account does not
// have, it says where to find the ids. It does not repeat the id: ids of other accounts and unknown ids are answered with the same
// bytes.
func withFieldName(x exchange, e *app.Error) *app.Error {
	// The last name of a path is type in messages[0].content[1].type.
	name, _, _ := strings.Cut(e.Param[strings.LastIndexByte(e.Param, '.')+1:], "[")
	if e.Kind == app.Invalid && !strings.Contains(strings.ToLower(e.Message), strings.ToLower(name)) {
		exact := *e
		exact.Message = e.Param + ": " + e.Message
		return &exact
	}
	of, known := listsOf[e.Code]
	if !known || x.Param(of.param) == "" {
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

// truncated shortens the parts of an error that are too long: they may contain text of the caller.
func truncated(e *app.Error) *app.Error {
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

// withClientCode gives an error about a field the code that clients of the family expect. The chat route has one code for all of them.
func withClientCode(family ErrorFormat, e *app.Error) *app.Error {
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
func (a *API) documented(x exchange, l *RequestLog) bool {
	if !l.known {
		return false
	}
	switch apikey.ErrorMode(strings.ToLower(x.Request().Header.Get(errorStatusHeader))) {
	case apikey.Documented:
		return true
	case apikey.Standard:
		return false
	}
	return l.mode == apikey.Documented
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
	b, _ := jsontext.AppendQuote(nil, s) // The error only reports that invalid UTF-8 was replaced.
	return string(b)
}

// headerToken makes a code fit for a header, because the code of a provider may be any text.
func headerToken(code string) string {
	bad := func(r rune) bool { return r <= ' ' || r >= 0x7f }
	if code == "" || len(code) > codeBytesMax || strings.ContainsFunc(code, bad) {
		return "error"
	}
	return code
}
