package harness

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Style is one of the text styles as its clients use it. A test sends the same request in each.
type Style struct {
	Name string
	Path string
	// CountPath is the path that counts input tokens; empty when the style has none.
	CountPath string

	// Model is one of the default catalog, served at this path by a provider of the same style.
	Model string
	// TranslatedModel is served at this path too, with a first route to a provider of another style.
	TranslatedModel string
	// UnservedModel is a text model that is not served at this path.
	UnservedModel string

	// MessagesMember is the member with the conversation.
	MessagesMember string
	// prompt is that member, with %s for a text of the user.
	prompt string
	// LimitMember is the member that limits the answer, with %d for its tokens.
	LimitMember string
	// Errors are the status and the type of each kind of failure.
	Errors    map[string]ErrorForm
	ReadError func(t *testing.T, a Response) APIError

	ReadAnswer func(t *testing.T, o map[string]any) Answer
	// piece returns the text that a frame of a stream adds.
	piece func(t *testing.T, f StreamEvent) string
	// CheckEnd checks the end of a stream of the style.
	CheckEnd        func(t *testing.T, frames []StreamEvent)
	ReadStreamError func(t *testing.T, frames []StreamEvent) string
}

// ErrorForm is the form of a kind of failure in a style.
type ErrorForm struct {
	Status int
	Type   string
}

// APIError is a failure as a client reads it, whatever the layout.
type APIError struct{ Type, Code, Param, Message string }

// Answer is the content of a whole answer, in every style. The cost stays text, so that no float touches it.
type Answer struct {
	Model, Text, Stop string
	Input, Output     int64
	Cost              string
}

// StreamEvent is one event of a stream.
type StreamEvent struct{ Name, Data string }

// Styles are the styles by name. Chat refuses with true statuses only where it is asked to.
var Styles = map[string]Style{
	"chat": {
		Name: "chat", Path: ChatPath, Model: "meridian/atlas-large", TranslatedModel: "quillon/folio-large", UnservedModel: "",
		MessagesMember: "messages", prompt: `"messages":[{"role":"user","content":%s}]`, LimitMember: `"max_tokens":%d`,
		ReadError: chatError, ReadAnswer: chatAnswer, piece: chatPiece, CheckEnd: checkChatEnd, ReadStreamError: chatStreamError,
		Errors: map[string]ErrorForm{
			"invalid": {400, "invalid_request_error"}, "unauthenticated": {401, "authentication_error"}, "unfunded": {402, "insufficient_quota"},
			"forbidden": {403, "permission_error"}, "not found": {404, "invalid_request_error"}, "method": {405, "invalid_request_error"},
			"large": {413, "invalid_request_error"}, "media": {415, "invalid_request_error"}, "busy": {429, "rate_limit_error"},
			"refused": {422, "invalid_request_error"}, "upstream": {502, "server_error"}, "unavailable": {503, "server_error"},
			"timeout": {504, "server_error"},
		},
	},
	"messages": {
		Name: "messages", Path: "/v1/messages", CountPath: "/v1/messages/count_tokens",
		Model: "quillon/folio-large", TranslatedModel: "tessera/mosaic-pro", UnservedModel: CheapModel,
		MessagesMember: "messages", prompt: `"messages":[{"role":"user","content":%s}]`, LimitMember: `"max_tokens":%d`,
		ReadError: messagesError, ReadAnswer: messagesAnswer, piece: messagesPiece, CheckEnd: checkMessagesEnd,
		ReadStreamError: messagesStreamError,
		Errors: map[string]ErrorForm{
			"invalid": {400, "invalid_request_error"}, "unauthenticated": {401, "authentication_error"}, "unfunded": {402, "billing_error"},
			"forbidden": {403, "permission_error"}, "not found": {404, "not_found_error"}, "method": {405, "invalid_request_error"},
			"large": {413, "request_too_large"}, "media": {415, "invalid_request_error"}, "busy": {429, "rate_limit_error"},
			"refused": {422, "invalid_request_error"}, "upstream": {502, "api_error"}, "unavailable": {529, "overloaded_error"},
			"timeout": {504, "timeout_error"},
		},
	},
	"responses": {
		Name: "responses", Path: "/v1/responses", CountPath: "/v1/responses/input_tokens",
		Model: "tessera/grout", TranslatedModel: "meridian/atlas-nano", UnservedModel: "boreal/fjord-lite",
		MessagesMember: "input", prompt: `"input":%s`, LimitMember: `"max_output_tokens":%d`,
		ReadError: OpenAIError, ReadAnswer: responsesAnswer, piece: responsesPiece, CheckEnd: checkResponsesEnd,
		ReadStreamError: responsesStreamError,
		Errors: map[string]ErrorForm{
			"invalid": {400, "invalid_request_error"}, "unauthenticated": {401, "authentication_error"}, "unfunded": {402, "insufficient_quota"},
			"forbidden": {403, "permission_error"}, "not found": {404, "invalid_request_error"}, "method": {405, "invalid_request_error"},
			"large": {413, "invalid_request_error"}, "media": {415, "invalid_request_error"}, "busy": {429, "rate_limit_error"},
			"refused": {422, "invalid_request_error"}, "upstream": {502, "server_error"}, "unavailable": {503, "server_error"},
			"timeout": {504, "server_error"},
		},
	},
	"native": {
		Name: "native", Path: "/vendorc/native", CountPath: "/vendorc/native/count_tokens",
		Model: "boreal/fjord-flash", TranslatedModel: CheapModel, UnservedModel: "tessera/mosaic",
		MessagesMember: "contents", prompt: `"contents":[{"role":"user","parts":[{"text":%s}]}]`,
		LimitMember: `"generationConfig":{"maxOutputTokens":%d}`,
		ReadError:   nativeRouteError, ReadAnswer: NativeAnswer, piece: nativePiece, CheckEnd: checkNativeEnd, ReadStreamError: nativeStreamError,
		Errors: map[string]ErrorForm{
			"invalid": {400, "INVALID_ARGUMENT"}, "unauthenticated": {401, "UNAUTHENTICATED"}, "unfunded": {402, "RESOURCE_EXHAUSTED"},
			"forbidden": {403, "PERMISSION_DENIED"}, "not found": {404, "NOT_FOUND"}, "method": {405, "INVALID_ARGUMENT"},
			"large": {413, "INVALID_ARGUMENT"}, "media": {415, "INVALID_ARGUMENT"}, "busy": {429, "RESOURCE_EXHAUSTED"},
			"refused": {422, "INVALID_ARGUMENT"}, "upstream": {502, "INTERNAL"}, "unavailable": {503, "UNAVAILABLE"}, "timeout": {504,
				"DEADLINE_EXCEEDED"},
		},
	},
}

// StylesWithStatuses are the styles that have true statuses on every failure.
func StylesWithStatuses() []Style {
	return []Style{Styles["messages"], Styles["responses"], Styles["native"]}
}

// AllStyles are the four text styles.
func AllStyles() []Style { return append([]Style{Styles["chat"]}, StylesWithStatuses()...) }

// Request is a request of the style.
func (p Style) Request(model, prompt string, members ...string) string {
	text, _ := json.Marshal(prompt)
	return p.RequestWith(model, append([]string{fmt.Sprintf(p.prompt, text)}, members...)...)
}

// RequestWith is a request that has only these members and the model.
func (p Style) RequestWith(model string, members ...string) string {
	return fmt.Sprintf(`{"model":%q,%s}`, model, strings.Join(members, ","))
}

// OutputLimit is the member that limits the answer to a number of tokens.
func (p Style) OutputLimit(tokens int) string { return fmt.Sprintf(p.LimitMember, tokens) }

// IncludeUsage is the member that asks for the usage in a stream. Styles whose streams always have it ignore the member.
func (p Style) IncludeUsage() string {
	if p.Name == "chat" {
		return `"stream_options":{"include_usage":true}`
	}
	return `"unknown_member":null`
}

// Send sends a request of the style, and wants true statuses in every style.
func (p Style) Send(t *testing.T, c Customer, body string, headers ...string) Response {
	t.Helper()
	return c.Call(t, http.MethodPost, p.Path, body, append([]string{"X-Error-Status", "standard"}, headers...)...)
}

// Complete sends a request that must succeed with one JSON object.
func (p Style) Complete(t *testing.T, c Customer, body string, headers ...string) (Answer, Response) {
	t.Helper()
	a := p.Send(t, c, body, headers...)
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s: status %d, %s: %s\nfor %.300s", p.Name, a.Status, a.Header.Get("Content-Type"), a.Body, body)
	}
	return p.ReadAnswer(t, DecodeObject(t, a.Body)), a
}

// Stream sends a request that must be answered with a whole stream, and returns the text of it.
func (p Style) Stream(t *testing.T, c Customer, body string) (string, []StreamEvent) {
	t.Helper()
	a := p.Send(t, c, body)
	if got, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";"); a.Status != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("%s: status %d, %s: %s", p.Name, a.Status, got, a.Body)
	}
	all := p.Frames(t, a.Body)
	p.CheckEnd(t, all)
	return p.Text(t, all), all
}

// Text is the text of a stream.
func (p Style) Text(t *testing.T, frames []StreamEvent) string {
	t.Helper()
	var text strings.Builder
	for _, f := range frames {
		text.WriteString(p.piece(t, f))
	}
	return text.String()
}

// Frames splits a stream: an event line where the style has them, one data line, one blank line. Like clients, it skips the comment with
// the cost of a chat stream.
func (p Style) Frames(t *testing.T, body string) []StreamEvent {
	t.Helper()
	named := p.Name == "messages" || p.Name == "responses"
	var all []StreamEvent
	for block := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		if p.Name == "chat" && strings.HasPrefix(block, `: {"cost":`) {
			continue
		}
		var f StreamEvent
		rest, isNamed := strings.CutPrefix(block, "event: ")
		if isNamed {
			f.Name, rest, _ = strings.Cut(rest, "\n")
		}
		data, ok := strings.CutPrefix(rest, "data: ")
		if f.Data = data; !ok || isNamed != named || strings.Contains(data, "\n") {
			t.Fatalf("not a frame of the %s style: %q\nin %.2000s", p.Name, block, body)
		}
		if o := (struct{ Type string }{}); named && (json.Unmarshal([]byte(data), &o) != nil || o.Type != f.Name) {
			t.Errorf("the event %s has other data: %s", f.Name, data)
		}
		all = append(all, f)
	}
	if !strings.HasSuffix(body, "\n\n") || len(all) < 2 {
		t.Fatalf("the stream does not end with a frame: %q", body)
	}
	return all
}

// CheckError fails the test unless the response is a failure in the layout of the style, with its status.
func (p Style) CheckError(t *testing.T, a Response, as, code, param string) APIError {
	t.Helper()
	want, known := p.Errors[as]
	if !known {
		t.Fatalf("there is no standing %q", as)
	}
	if a.Status < http.StatusBadRequest {
		t.Errorf("%s: status %d, not %d %s at %q: %.600s", p.Name, a.Status, want.Status, want.Type, param, a.Body)
		return APIError{}
	}
	r := p.ReadError(t, a)
	if a.Status != want.Status || r.Type != want.Type || code != "" && r.Code != code || r.Param != param {
		t.Errorf("%s: status %d, %+v, not %d %s %s at %q: %s", p.Name, a.Status, r, want.Status, want.Type, code, param, a.Body)
	}
	if got := a.Header.Get("X-Error-Code"); got != r.Code || a.Header.Get("Content-Type") != "application/json" ||
		a.Header.Get("X-Request-Id") == "" {
		t.Errorf("%s: the headers are %v", p.Name, a.Header)
	}
	return r
}

// InvalidCode is the error code of a member that has a wrong value.
func (p Style) InvalidCode() string {
	if p.Name == "responses" {
		return "invalid_value"
	}
	return "invalid_request_error"
}

// MissingCode is the error code of a member that is missing.
func (p Style) MissingCode() string {
	if p.Name == "responses" {
		return "missing_required_parameter"
	}
	return "invalid_request_error"
}
