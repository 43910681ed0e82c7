package protocols

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// errorCase is an error of the upstream, and the error that the client gets: its status, and the word of each
// style for it.
type errorCase struct {
	name string
	// everyPair is true when every client asks every upstream; otherwise it runs in oncePerStyle.
	everyPair bool
	// does is the behavior of the simulator.
	does   string
	status int
	// statusOf is the status in styles that have another one.
	statusOf map[string]int
	words    map[string]string
	// tries is the number of requests that the upstream gets.
	tries int
}

// errorsBefore come before anything was said: an error answer in the client's style, and nothing to pay.
var errorsBefore = []errorCase{
	{name: "refused", does: "status=400;code=invalid_value", status: 400, tries: 1,
		words: map[string]string{"chat": "invalid_request_error", "messages": "invalid_request_error", "responses": "invalid_request_error",
			"native": "INVALID_ARGUMENT"}},
	{name: "rate limited", does: "status=429", status: 429, tries: 2,
		words: map[string]string{"chat": "rate_limit_error", "messages": "rate_limit_error", "responses": "rate_limit_error",
			"native": "RESOURCE_EXHAUSTED"}},
	{name: "broken", everyPair: true, does: "status=500", status: 502, tries: 2,
		words: map[string]string{"chat": "server_error", "messages": "api_error", "responses": "server_error", "native": "INTERNAL"}},
	{name: "our credential", does: "auth", status: 503, tries: 1, statusOf: map[string]int{"messages": 529},
		words: map[string]string{"chat": "server_error", "messages": "overloaded_error", "responses": "server_error", "native": "UNAVAILABLE"}},
	{name: "an error under status 200", does: "error-in-200", status: 502,
		words: map[string]string{"chat": "server_error", "messages": "api_error", "responses": "server_error", "native": "INTERNAL"}},
	{name: "no answer at all", does: "empty", status: 502,
		words: map[string]string{"chat": "server_error", "messages": "api_error", "responses": "server_error", "native": "INTERNAL"}},
}

// errorsMidway come after some of the answer: the client gets the beginning and an error in its own style, never an
// invented end, and pays once for what it got.
var errorsMidway = []errorCase{
	{name: "an error event", everyPair: true, does: "error-after=6t", status: 502},
	{name: "a cut connection", does: "cut-after=6t", status: 502},
	{name: "an orderly end too early", does: "end-after=6t", status: 502},
}

func testMatrixErrors(m *matrix, t *testing.T) {
	for _, p := range pairs() {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			for _, c := range errorsBefore {
				for _, stream := range []bool{false, true} {
					if slices.Contains(cells(c.everyPair), p) {
						t.Run(c.name+"/"+modeOf(stream), func(t *testing.T) { m.failsBefore(t, &c, p, stream) })
					}
				}
			}
			for _, c := range errorsMidway {
				if !slices.Contains(cells(c.everyPair), p) {
					continue
				}
				t.Run(c.name+"/json", func(t *testing.T) {
					c.words = errorsBefore[2].words
					m.failsBefore(t, &c, p, false)
				})
				t.Run(c.name+"/stream", func(t *testing.T) { m.failsMidway(t, &c, p) })
			}
		})
	}
}

func (m *matrix) failsBefore(t *testing.T, c *errorCase, p pair, stream bool) {
	t.Helper()
	s := m.send(t, p.client, question{model: p.model(), stream: stream, turns: says("simulate: " + c.does + "\necho: x")})
	status := c.status
	if other := c.statusOf[p.client.style]; other != 0 {
		status = other
	}
	if s.Status != status || !strings.HasPrefix(s.Header.Get("Content-Type"), "application/json") {
		t.Errorf("status %d, content type %q", s.Status, s.Header.Get("Content-Type"))
	}
	if word := m.errorWord(t, p.client, s.Status, s.Body); word != c.words[p.client.style] {
		t.Errorf("the error is called %q: %s", word, s.Body)
	}
	if s.record.Cost != 0 || s.record.Outcome != "failed" {
		t.Errorf("recorded is %+v", s.record)
	}
	// All cells fail the same few providers, whose budget of retries is soon used up.
	if n := len(m.arrived(t, s.mark)); c.tries != 0 && (n < 1 || n > c.tries) {
		t.Errorf("the upstream was asked %d times", n)
	}
}

// errorWord reads an error body and returns the style's word for what happened.
func (m *matrix) errorWord(t *testing.T, w *wire, status int, body string) string {
	t.Helper()
	e := harness.DecodeJSON[struct {
		Code  int    `json:"code"`
		Type  string `json:"type"`
		Error struct {
			Code    any    `json:"code"`
			Type    string `json:"type"`
			Message string `json:"message"`
			Status  string `json:"status"`
		} `json:"error"`
		RequestID string `json:"request_id"`
	}](t, body)
	whole := e.Error.Message != ""
	switch w.style {
	case "chat":
		_, text := e.Error.Code.(string)
		whole = whole && e.Code == status && text && e.RequestID != ""
	case "messages":
		m.schemas.fits(t, "messages#/definitions/ErrorResponse", body)
		whole = whole && e.Type == "error" && e.RequestID != ""
	case "responses":
		m.schemas.fits(t, "open#/components/schemas/ErrorResponse", body)
	case "native":
		whole = whole && fmt.Sprint(e.Error.Code) == fmt.Sprint(status)
	}
	if !whole || strings.Contains(body, "m-"+w.style) || strings.Contains(harness.WithoutHelpLink(body), "127.0.0.1") {
		t.Errorf("the error body is %s", body)
	}
	return e.Error.Type + e.Error.Status
}

func (m *matrix) failsMidway(t *testing.T, c *errorCase, p pair) {
	t.Helper()
	s := m.send(t, p.client, question{model: p.model(), stream: true, turns: says("simulate: " + c.does + "\ncount to 50")})
	if s.Status != http.StatusOK {
		t.Fatalf("status %d: %s", s.Status, s.Body)
	}
	const most = "1 2 3 4 5 6"
	text, failure := m.brokenOff(t, p.client, s.Body)
	if failure == "" || text == "" || text != most[:min(len(text), len(most))] {
		t.Errorf("the text is %q and the error %q: %s", text, failure, s.Body)
	}
	k := s.record
	if words := int64(len(strings.Fields(text))); k.Outcome != "cut" || !k.Estimated || k.Out+k.Thought != words || k.In == 0 ||
		k.Cost != k.In*nanosIn+words*nanosOut {
		t.Errorf("%q was delivered, recorded is %+v", text, k)
	}
	if n := len(m.arrived(t, s.mark)); n != 1 {
		t.Errorf("the upstream was asked %d times", n)
	}
}

// brokenOff reads a stream that ends with an error: what it said, and the error. No end of an answer may stand in it.
func (m *matrix) brokenOff(t *testing.T, w *wire, body string) (text, failure string) {
	t.Helper()
	named := w.style == "messages" || w.style == "responses"
	all := framesOf(t, body, named)
	last := all[len(all)-1]
	if w.style == "chat" {
		if last.data != "[DONE]" || len(all) < 2 {
			t.Fatalf("the stream ends with %q", last.data)
		}
		all = all[:len(all)-1]
		last = all[len(all)-1]
	}
	for i, f := range all[:len(all)-1] {
		e := harness.DecodeJSON[map[string]json.RawMessage](t, f.data)
		if e["error"] != nil || f.event == "error" || f.event == "response.failed" {
			t.Errorf("the error is not the last frame: %s", f.data)
		}
		text += saidBy(t, w, f, int64(i), i == len(all)-2)
	}
	for _, end := range []string{`"finish_reason":"`, `"stop_reason":"`, `"finishReason"`, "response.completed", "response.incomplete", "message_stop"} {
		if strings.Contains(body, end) {
			t.Errorf("an end was invented: %s", body)
		}
	}
	return text, m.lastError(t, w, last, len(all)-1)
}

// saidBy is the text that one frame adds. The last one before an error says in the chat style what was used.
func saidBy(t *testing.T, w *wire, f frame, number int64, last bool) string {
	t.Helper()
	var r reply
	switch w.style {
	case "chat":
		s := chatState{ids: map[string]bool{}}
		s.read(t, &r, f.data, number == 0, last)
	case "native":
		c := harness.DecodeJSON[nativeChunk](t, f.data)
		r.addNative(t, &c)
	case "messages":
		e := harness.DecodeJSON[struct {
			Delta struct {
				Text string `json:"text"`
			} `json:"delta"`
		}](t, f.data)
		return e.Delta.Text
	case "responses":
		e := harness.DecodeJSON[responsesEvent](t, f.data)
		if e.Number == nil || *e.Number != number {
			t.Errorf("the number should be %d: %s", number, f.data)
		}
		if strings.HasSuffix(e.Type, "output_text.delta") {
			return e.Delta
		}
	}
	return r.text()
}

// lastError is the word for the error in the last frame.
func (m *matrix) lastError(t *testing.T, w *wire, last frame, number int) string {
	t.Helper()
	if w.style != "responses" {
		if named := w.style == "messages"; named != (last.event == "error") {
			t.Errorf("the event line of the error is %q", last.event)
		}
		return m.errorWord(t, w, http.StatusBadGateway, last.data)
	}
	m.schemas.fits(t, "open#/components/schemas/ResponseStreamEvent", last.data)
	e := harness.DecodeJSON[responsesEvent](t, last.data)
	if last.event != "response.failed" || e.Type != last.event || e.Number == nil || *e.Number != int64(number) ||
		e.Response.Status != "failed" || e.Response.Error == nil || e.Response.Error.Message == "" {
		t.Fatalf("the last event is %q: %s", last.event, last.data)
	}
	return e.Response.Error.Code
}
