package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestAKeptAnswerIsRefusedAsTheGatewaysLimit names an earlier answer to a model that has providers of each style: what the error says is
// no matter of the model, and tells what to send in its place.
func TestAKeptAnswerIsRefusedAsTheGatewaysLimit(t *testing.T) {
	t.Parallel()
	w := newErrorWorld(t)
	for _, model := range []string{"test/plain", "test/seeing"} {
		a := w.send("caller", "POST", "/v1/responses", text("/v1/responses", model, "x", `,"previous_response_id":"resp_1"`))
		e := readError(t, a)
		if a.status != http.StatusBadRequest || e.param != "previous_response_id" || strings.Contains(e.message, model) ||
			!strings.Contains(e.message, "which this gateway does not offer for any model. Send the whole conversation") {
			t.Errorf("%s: %d %s", model, a.status, a.body)
		}
		checkErrorLaws(t, a, &e)
	}
}

// TestAWrongFieldInsideIsNamedWhereItStands breaks one member deep inside of requests whose objects have one of several forms: the error
// is about that member in the form that the object has, and not about the object.
func TestAWrongFieldInsideIsNamedWhereItStands(t *testing.T) {
	t.Parallel()
	w := newErrorWorld(t)
	for _, c := range []struct{ path, turns, param, says string }{
		{"/v1/messages", `[{"role":"user","content":[{"type":"text","text":7}]}]`, "messages[0].content[0].text", "must be a string, not a number (7)."},
		{"/v1/messages", `[{"role":"user","content":[{"type":"text"}]}]`, "messages[0].content[0].text", "is required; it must be a string."},
		{"/v1/messages", `[{"role":"user","content":[{"text":"x"}]}]`, "messages[0].content[0].type", `is required; it must be "text"`},
		{"/v1/messages", `[{"role":"user","content":[{"type":"text","text":"x","cache_control":{"type":"forever"}}]}]`,
			"messages[0].content[0].cache_control.type", `must be "ephemeral", not "forever".`},
		{"/v1/messages", `[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/bmp","data":"AAAA"}}]}]`,
			"messages[0].content[0].source.media_type", `or "image/webp", not "image/bmp".`},
		{"/v1/messages", `[{"role":"user","content":[{"type":"image","source":{"type":"url"}}]}]`, "messages[0].content[0].source.url", "is required"},
		{"/v1/messages", `[{"role":"user","content":[{"type":"tool_result","content":"x"}]}]`, "messages[0].content[0].tool_use_id", "is required"},
		{"/v1/responses", `[{"role":"user","content":[{"type":"input_text"}]}]`, "input[0].content[0].text", "is required; it must be a string."},
		{"/v1/responses", `[{"role":"user","content":[{"type":"input_image","image_url":7}]}]`, "input[0].content[0].image_url", "must be a string"},
		{"/v1/responses", `[{"type":"function_call","name":"f","arguments":"{}"}]`, "input[0].call_id", "is required; it must be a string."},
		{"/v1/responses", `[{"type":"function_call_output","call_id":"c","output":7}]`, "input[0].output", "must be a string or an array, not a number (7)."},
		{"/v1/responses", `[{"content":"x"}]`, "input[0].role", `is required; it must be "user"`},
		{"/v1/chat/completions", `[{"role":"user","content":[{"type":"image_url","image_url":{"url":7}}]}]`, "messages[0].content[0].image_url.url",
			"must be a string, not a number (7)."},
		{"/v1/chat/completions", `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x","detail":"huge"}}]}]`,
			"messages[0].content[0].image_url.detail", `not "huge".`},
		{"/v1/chat/completions", `[{"role":"user","content":[{"type":"image_url","image_url":"https://x"}]}]`, "messages[0].content[0].image_url",
			`must be an object, not a string ("https://x").`},
		{"/v1/chat/completions", `[{"role":"tool","content":"x"}]`, "messages[0].tool_call_id", "is required; it must be a string."},
		{"/v1/chat/completions", `[{"role":"assistant"}]`, "messages[0].content", "is required: the object needs content (a string or an array), tool_calls"},
		{"/vendorc/native", `[{"parts":[{"text":7}]}]`, "contents[0].parts[0].text", "must be a string or null, not a number (7)."},
		{"/vendorc/native", `[{"parts":[{"inlineData":{"mimeType":"image/png"}}]}]`, "contents[0].parts[0].inlineData.data", "is required"},
	} {
		field := map[string]string{"/v1/responses": "input", "/vendorc/native": "contents"}[c.path]
		if field == "" {
			field = "messages"
		}
		more := ""
		if c.path == "/v1/messages" {
			more = `"max_tokens":9,`
		}
		a := w.send("caller", "POST", c.path, `{"model":"test/seeing",`+more+`"`+field+`":`+c.turns+`}`)
		e := readError(t, a)
		if a.status != http.StatusBadRequest || e.param != c.param || !strings.HasPrefix(e.message, c.param+" ") || !strings.Contains(e.message, c.says) {
			t.Errorf("%s %s: %d at %q, want %q, %q: %s", c.path, c.turns, a.status, e.param, c.param, c.says, e.message)
		}
		checkErrorLaws(t, a, &e)
	}
}
