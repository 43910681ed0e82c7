package simulator

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// begunForms are conversations whose answer the assistant has begun.
var begunForms = map[string]func(model, asked, said string) (string, object){
	"chat": func(model, asked, said string) (string, object) {
		return "/v1/chat/completions", object{"model": model, "messages": []any{
			object{"role": "user", "content": asked}, object{"role": "assistant", "content": said}}}
	},
	"messages": func(model, asked, said string) (string, object) {
		return "/v1/messages", object{"model": model, "max_tokens": 1000, "messages": []any{
			object{"role": "user", "content": asked}, object{"role": "assistant", "content": said}}}
	},
	"responses": func(model, asked, said string) (string, object) {
		return "/v1/responses", object{"model": model, "input": []any{
			object{"role": "user", "content": asked},
			object{"type": "message", "role": "assistant", "content": []any{object{"type": "output_text", "text": said, "annotations": []any{}}}}}}
	},
	"native": func(model, asked, said string) (string, object) {
		return "/v1beta/models/" + model + ":generateContent", object{"contents": []any{
			object{"role": "user", "parts": []any{object{"text": asked}}}, object{"role": "model", "parts": []any{object{"text": said}}}}}
	},
}

func (u *upstream) postBegun(style, model, asked, said string) answered {
	u.t.Helper()
	path, body := begunForms[style](model, asked, said)
	raw, err := json.Marshal(body)
	if err != nil {
		u.t.Fatal(err)
	}
	return u.do(http.MethodPost, path, raw, nil)
}

func TestAnAnswerThatIsBegunIsGoneOnWith(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, style string) {
		u := setup(t, Options{})
		for name, c := range map[string]struct{ model, asked, said, want string }{
			"its beginning":            {"small", "count to 6", "1 2 3", " 4 5 6"},
			"a part of a word":         {"small", "echo: a quick fox", "a qui", "ck fox"},
			"another beginning":        {"small", "count to 3", "one", "1 2 3"},
			"a provider that restarts": {"small+prefill=restart", "count to 3", "1", "1 2 3"},
			"a fault of the prompt":    {"small", "simulate: usage=none\ncount to 3", "1", " 2 3"},
		} {
			res := u.postBegun(style, c.model, c.asked, c.said)
			if got := read(t, style, false, res.body); res.status != http.StatusOK || got.text != c.want {
				t.Errorf("%s: %d %q, want %q", name, res.status, got.text, c.want)
			}
		}
		if res := u.postBegun(style, "small+prefill=refuse", "count to 3", "1"); res.status != http.StatusBadRequest ||
			!strings.Contains(string(res.body), "prefill") {
			t.Errorf("%d %s", res.status, res.body)
		}
		if res := u.postBegun(style, "small", "count to 3", "1 "); (res.status == http.StatusBadRequest) != (style == "messages") {
			t.Errorf("white space at the end: %d %s", res.status, res.body)
		}
		if res := u.post(style, ask{text: "count to 3", model: "small+prefill=refuse"}); res.status != http.StatusOK {
			t.Errorf("nothing is begun: %d %s", res.status, res.body)
		}
	})
}

func TestRefusalsOfLongAndFilteredPromptsSpeakTheStyle(t *testing.T) {
	t.Parallel()
	for style, words := range map[string][2]string{
		"chat":      {`"code":"context_length_exceeded"`, `"code":"content_filter"`},
		"messages":  {`prompt is too long: 209001 tokens`, `Output blocked by content filtering policy`},
		"responses": {`"code":"context_length_exceeded"`, `"code":"invalid_prompt"`},
		"native":    {`The input token count (1209001) exceeds`, `"status":"INVALID_ARGUMENT"`},
	} {
		u := setup(t, Options{})
		for i, spec := range []string{"context-length", "content-filter"} {
			if res := u.post(style, ask{text: "echo: x", simulated: spec}); res.status != http.StatusBadRequest || !strings.Contains(string(res.body), words[i]) {
				t.Errorf("%s: %s: %d %s", style, spec, res.status, res.body)
			}
		}
	}
}

func TestADateTellsWhenToTryAgain(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	res := u.post("chat", ask{text: "echo: x", simulated: "status=429;retry-date=40"})
	at, err := http.ParseTime(res.header.Get("Retry-After"))
	sent, errSent := http.ParseTime(res.header.Get("Date"))
	if d := at.Sub(sent); err != nil || errSent != nil || d < 39*time.Second || d > 41*time.Second {
		t.Errorf("%v %v", res.header, err)
	}
}

func TestAHeadThatIsNoHTTP(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	if res := u.post("chat", ask{text: "echo: x", simulated: "bad-header"}); res.failed == nil {
		t.Errorf("%d %v", res.status, res.header)
	}
}
