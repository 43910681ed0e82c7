package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// protocol is one of the text styles as its clients speak it, so that a test can say the same thing in each.
type protocol struct {
	style string
	path  string
	// count is the path that counts input tokens; empty when the style has none.
	count string

	// model is one of the default catalog, served at this path by a provider of the same style.
	model string
	// other is served at this path too, with a first route to a provider of another style.
	other string
	// absent is a text model that is not served at this path.
	absent string

	// turns is the member with the conversation.
	turns string
	// prompt is that member, with %s for a text of the user.
	prompt string
	// bound is the member that limits the answer, with %d for its tokens.
	bound    string
	standing map[string]standing
	refusal  func(t *testing.T, a answer) refusal

	whole func(t *testing.T, o map[string]any) said
	// piece returns the text that a frame of a stream adds.
	piece func(t *testing.T, f sseFrame) string
	// last checks the end of a stream of the style.
	last func(t *testing.T, frames []sseFrame)
	late func(t *testing.T, frames []sseFrame) string
}

// standing is the form of a kind of failure in a style.
type standing struct {
	status int
	kind   string
}

// refusal is a failure as a client reads it, whatever the layout.
type refusal struct{ kind, code, param, message string }

// said is the content of a whole answer, in every style. The cost stays text, so that no float touches it.
type said struct {
	model, text, stop string
	input, output     int64
	cost              string
}

// sseFrame is one event of a stream.
type sseFrame struct{ event, data string }

// protocols are the styles by name. Chat refuses with true statuses only where it is asked to.
var protocols = map[string]protocol{
	"chat": {
		style: "chat", path: chatPath, model: "meridian/atlas-large", other: "quillon/folio-large", absent: "",
		turns: "messages", prompt: `"messages":[{"role":"user","content":%s}]`, bound: `"max_tokens":%d`,
		refusal: chatRefusal, whole: chatSaid, piece: chatPiece, last: chatLast, late: chatLate,
		standing: map[string]standing{
			"invalid": {400, "invalid_request_error"}, "unauthenticated": {401, "authentication_error"}, "unfunded": {402, "insufficient_quota"},
			"forbidden": {403, "permission_error"}, "not found": {404, "invalid_request_error"}, "method": {405, "invalid_request_error"},
			"large": {413, "invalid_request_error"}, "media": {415, "invalid_request_error"}, "busy": {429, "rate_limit_error"},
			"refused": {422, "invalid_request_error"}, "upstream": {502, "server_error"}, "unavailable": {503, "server_error"}, "timeout": {504, "server_error"},
		},
	},
	"messages": {
		style: "messages", path: "/v1/messages", count: "/v1/messages/count_tokens",
		model: "quillon/folio-large", other: "tessera/mosaic-pro", absent: cheapModel,
		turns: "messages", prompt: `"messages":[{"role":"user","content":%s}]`, bound: `"max_tokens":%d`,
		refusal: messagesRefusal, whole: messagesSaid, piece: messagesPiece, last: messagesLast, late: messagesLate,
		standing: map[string]standing{
			"invalid": {400, "invalid_request_error"}, "unauthenticated": {401, "authentication_error"}, "unfunded": {402, "billing_error"},
			"forbidden": {403, "permission_error"}, "not found": {404, "not_found_error"}, "method": {405, "invalid_request_error"},
			"large": {413, "request_too_large"}, "media": {415, "invalid_request_error"}, "busy": {429, "rate_limit_error"},
			"refused": {422, "invalid_request_error"}, "upstream": {502, "api_error"}, "unavailable": {529, "overloaded_error"}, "timeout": {504, "timeout_error"},
		},
	},
	"responses": {
		style: "responses", path: "/v1/responses", count: "/v1/responses/input_tokens",
		model: "tessera/grout", other: "meridian/atlas-nano", absent: "boreal/fjord-lite",
		turns: "input", prompt: `"input":%s`, bound: `"max_output_tokens":%d`,
		refusal: openAIRefusal, whole: responsesSaid, piece: responsesPiece, last: responsesLast, late: responsesLate,
		standing: map[string]standing{
			"invalid": {400, "invalid_request_error"}, "unauthenticated": {401, "authentication_error"}, "unfunded": {402, "insufficient_quota"},
			"forbidden": {403, "permission_error"}, "not found": {404, "invalid_request_error"}, "method": {405, "invalid_request_error"},
			"large": {413, "invalid_request_error"}, "media": {415, "invalid_request_error"}, "busy": {429, "rate_limit_error"},
			"refused": {422, "invalid_request_error"}, "upstream": {502, "server_error"}, "unavailable": {503, "server_error"}, "timeout": {504, "server_error"},
		},
	},
	"native": {
		style: "native", path: "/vendorc/native", count: "/vendorc/native/count_tokens",
		model: "boreal/fjord-flash", other: cheapModel, absent: "tessera/mosaic",
		turns: "contents", prompt: `"contents":[{"role":"user","parts":[{"text":%s}]}]`, bound: `"generationConfig":{"maxOutputTokens":%d}`,
		refusal: nativeRefusal, whole: nativeSaid, piece: nativePiece, last: nativeLast, late: nativeLate,
		standing: map[string]standing{
			"invalid": {400, "INVALID_ARGUMENT"}, "unauthenticated": {401, "UNAUTHENTICATED"}, "unfunded": {402, "RESOURCE_EXHAUSTED"},
			"forbidden": {403, "PERMISSION_DENIED"}, "not found": {404, "NOT_FOUND"}, "method": {405, "INVALID_ARGUMENT"},
			"large": {413, "INVALID_ARGUMENT"}, "media": {415, "INVALID_ARGUMENT"}, "busy": {429, "RESOURCE_EXHAUSTED"},
			"refused": {422, "INVALID_ARGUMENT"}, "upstream": {502, "INTERNAL"}, "unavailable": {503, "UNAVAILABLE"}, "timeout": {504, "DEADLINE_EXCEEDED"},
		},
	},
}

// newProtocols are the styles that have true statuses on every failure.
func newProtocols() []protocol {
	return []protocol{protocols["messages"], protocols["responses"], protocols["native"]}
}

func allProtocols() []protocol { return append([]protocol{protocols["chat"]}, newProtocols()...) }

// ask is a request of the style.
func (p protocol) ask(model, prompt string, members ...string) string {
	text, _ := json.Marshal(prompt)
	return p.with(model, append([]string{fmt.Sprintf(p.prompt, text)}, members...)...)
}

// with is a request that has only these members and the model.
func (p protocol) with(model string, members ...string) string {
	return fmt.Sprintf(`{"model":%q,%s}`, model, strings.Join(members, ","))
}

func (p protocol) bounded(tokens int) string { return fmt.Sprintf(p.bound, tokens) }

// wantsUsage is the member that makes a stream tell its usage, harmless where every stream does.
func (p protocol) wantsUsage() string {
	if p.style == "chat" {
		return `"stream_options":{"include_usage":true}`
	}
	return `"unknown_member":null`
}

// send sends a request of the style, and wants true statuses in every style.
func (p protocol) send(t *testing.T, c customer, body string, headers ...string) answer {
	t.Helper()
	return c.call(t, http.MethodPost, p.path, body, append([]string{"X-Error-Status", "standard"}, headers...)...)
}

// answers sends a request that must succeed with one JSON object.
func (p protocol) answers(t *testing.T, c customer, body string, headers ...string) (said, answer) {
	t.Helper()
	a := p.send(t, c, body, headers...)
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s: status %d, %s: %s\nfor %.300s", p.style, a.status, a.header.Get("Content-Type"), a.body, body)
	}
	return p.whole(t, object(t, a.body)), a
}

// streams sends a request that must be answered with a whole stream, and returns the text of it.
func (p protocol) streams(t *testing.T, c customer, body string) (string, []sseFrame) {
	t.Helper()
	a := p.send(t, c, body)
	if got, _, _ := strings.Cut(a.header.Get("Content-Type"), ";"); a.status != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("%s: status %d, %s: %s", p.style, a.status, got, a.body)
	}
	all := p.frames(t, a.body)
	p.last(t, all)
	return p.textOf(t, all), all
}

func (p protocol) textOf(t *testing.T, frames []sseFrame) string {
	t.Helper()
	var text strings.Builder
	for _, f := range frames {
		text.WriteString(p.piece(t, f))
	}
	return text.String()
}

// frames splits a stream: an event line where the style has them, one data line, one blank line.
func (p protocol) frames(t *testing.T, body string) []sseFrame {
	t.Helper()
	named := p.style == "messages" || p.style == "responses"
	var all []sseFrame
	for block := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		var f sseFrame
		rest, isNamed := strings.CutPrefix(block, "event: ")
		if isNamed {
			f.event, rest, _ = strings.Cut(rest, "\n")
		}
		data, ok := strings.CutPrefix(rest, "data: ")
		if f.data = data; !ok || isNamed != named || strings.Contains(data, "\n") {
			t.Fatalf("not a frame of the %s style: %q\nin %.2000s", p.style, block, body)
		}
		if o := (struct{ Type string }{}); named && (json.Unmarshal([]byte(data), &o) != nil || o.Type != f.event) {
			t.Errorf("the event %s has other data: %s", f.event, data)
		}
		all = append(all, f)
	}
	if !strings.HasSuffix(body, "\n\n") || len(all) < 2 {
		t.Fatalf("the stream does not end with a frame: %q", body)
	}
	return all
}

// fails insists on a failure in the layout of the style, with its true status.
func (p protocol) fails(t *testing.T, a answer, as, code, param string) refusal {
	t.Helper()
	want, known := p.standing[as]
	if !known {
		t.Fatalf("there is no standing %q", as)
	}
	if a.status < http.StatusBadRequest {
		t.Errorf("%s: status %d, not %d %s at %q: %.600s", p.style, a.status, want.status, want.kind, param, a.body)
		return refusal{}
	}
	r := p.refusal(t, a)
	if a.status != want.status || r.kind != want.kind || code != "" && r.code != code || r.param != param {
		t.Errorf("%s: status %d, %+v, not %d %s %s at %q: %s", p.style, a.status, r, want.status, want.kind, code, param, a.body)
	}
	if got := a.header.Get("X-Error-Code"); got != r.code || a.header.Get("Content-Type") != "application/json" || a.header.Get("X-Request-Id") == "" {
		t.Errorf("%s: the headers are %v", p.style, a.header)
	}
	return r
}

// invalid is the code of a member that has the wrong value, and absent that of one that is missing.
func (p protocol) invalid() string {
	if p.style == "responses" {
		return "invalid_value"
	}
	return "invalid_request_error"
}

func (p protocol) missing() string {
	if p.style == "responses" {
		return "missing_required_parameter"
	}
	return "invalid_request_error"
}
