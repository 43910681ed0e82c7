package console_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"umg/app"
	"umg/app/markdown"
)

const (
	weatherTool = `[{"name": "get_weather", "description": "The weather of a city.", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}]`
	citySchema  = `{"type": "object", "properties": {"city": {"type": "string"}, "big": {"type": "boolean"}}, "required": ["city", "big"], "additionalProperties": false}`
)

var textStyles = []string{"chat", "messages", "responses", "native"}

func first(events []event, kind string) event {
	for _, e := range events {
		if e.Kind == kind {
			return e
		}
	}
	return event{}
}

func last(events []event) event { return events[len(events)-1] }

// markdownOf puts the drawn blocks together as the page does.
func markdownOf(events []event) string {
	var html strings.Builder
	for _, e := range events {
		if e.Kind == "block" {
			html.WriteString(e.HTML)
		}
	}
	if end := last(events); end.HTML != "" {
		return end.HTML
	}
	return html.String()
}

// TestAToolIsCalledAnsweredByHandAndTheAnswerUsesIt goes once around in every style, streamed and as pages without scripts.
func TestAToolIsCalledAnsweredByHandAndTheAnswerUsesIt(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("tools@example.com")
	for _, style := range textStyles {
		form := url.Values{
			"model": {allStyles}, "style": {style}, "stream": {"true"}, "tools": {weatherTool}, "tool_choice": {"required"}, "prompt": {`call: get_weather {"city":"Oslo"}`},
		}
		events := p.stream(form)
		call := first(events, "call").Call
		if call.Name != "get_weather" || call.Arguments != `{"city":"Oslo"}` || call.ID == "" || fact(last(events), "Finish") != "tool calls" {
			t.Errorf("%s: %+v", style, events)
			continue
		}
		calls, _ := json.Marshal([]any{call})
		form.Set("tool_choice", "auto")
		form.Set("prompt", "")
		form["turn_role"], form["turn_text"] = []string{"user", "assistant", "tool"}, []string{"What is the weather in Oslo?", "", `{"degrees": 21, "edited": true}`}
		form["turn_calls"], form["turn_call"] = []string{"", string(calls), ""}, []string{"", "", call.ID}
		if events = p.stream(form); said(events) != `According to the tool: {"degrees": 21, "edited": true}.` {
			t.Errorf("%s: %+v", style, events)
		}
		if !strings.Contains(first(events, "request").Body, "get_weather") || !json.Valid([]byte(first(events, "request").Body)) {
			t.Errorf("%s: %+v", style, first(events, "request"))
		}
		form["turn_text"][2] = ""
		if e := last(p.stream(form)); e.Kind != "error" || e.Field != "turns[2]" || !strings.Contains(e.Text, "get_weather is empty") {
			t.Errorf("%s, no result: %+v", style, e)
		}
		delete(form, "turn_call")
		form["turn_role"], form["turn_text"] = form["turn_role"][:2], form["turn_text"][:2]
		if e := last(p.stream(form)); e.Kind != "error" || e.Field != "turns[1]" || !strings.Contains(e.Text, "has no result") {
			t.Errorf("%s, no turn of the result: %+v", style, e)
		}
		a := p.send("/console/playground", url.Values{
			"model": {allStyles}, "style": {style}, "tools": {weatherTool}, "tool_choice": {"get_weather"}, "prompt": {`call: get_weather {"city":"Oslo"}`},
		})
		if a.status != http.StatusOK || strings.Count(a.body, `name="turn_call" value="call`) != 1 && !strings.Contains(a.body, call.ID[:4]) {
			t.Errorf("%s as a page: %d", style, a.status)
		}
	}
}

func TestAnswersFollowASchemaAndStylesThatCannotSayItRefuse(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("schema@example.com")
	for _, style := range textStyles {
		form := url.Values{"model": {allStyles}, "style": {style}, "prompt": {"city=Rome"}, "format": {"json_schema"}, "schema_name": {"place"}, "schema": {citySchema}}
		events := p.stream(form)
		var place struct {
			City string
			Big  *bool
		}
		if err := json.Unmarshal([]byte(said(events)), &place); err != nil || place.City != "Rome" || place.Big == nil {
			t.Errorf("%s: %v in %+v", style, err, events)
		}
		form.Set("format", "json_object")
		e := last(p.stream(form))
		if refused := e.Kind == "error" && e.Field == "format" && strings.Contains(e.Text, "Write a schema"); refused != (style == "messages") {
			t.Errorf("%s, JSON of any kind: %+v", style, e)
		}
	}
}

func TestAMistakeInTheFormIsNamedWithItsField(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("mistakes@example.com")
	for _, c := range []struct{ name, value, field, says string }{
		{"tools", "[{\n \"name\": }]", "tools", "line 2, column"},
		{"tools", `{"name": "x"}`, "tools", "write a list"},
		{"tools", `[{"name": "x"}, {"description": "y"}]`, "tools", "tools[1].name: every tool needs a name"},
		{"tools", `[{"name": "a b"}]`, "tools", "tools[0].name: \"a b\" is no name"},
		{"tools", `[{"name": "x"}, {"name": "x"}]`, "tools", "tools[1].name: another tool"},
		{"tools", `[{"name": "x", "parameters": {"type": "string"}}]`, "tools", "tools[0].parameters.type"},
		{"tools", `[{"name": "x", "colour": 1}]`, "tools", "tools[0].colour"},
		{"tool_choice", "required", "tool_choice", "there are no tools"},
		{"format", "poem", "format", "none of text"},
		{"format", "json_schema", "schema", "write a JSON Schema"},
		{"prompt", "about {{topic}}", "var_topic", "{{topic}} has no value"},
		{"turn_role", "tool", "turns[0]", "answers no call"},
	} {
		form := url.Values{"model": {allStyles}, "style": {"chat"}, "prompt": {"echo: hi"}}
		form.Set(c.name, c.value)
		if e := last(p.stream(form)); e.Kind != "error" || e.Field != c.field || !strings.Contains(e.Text, c.says) || !strings.HasPrefix(e.Doc, "/console/docs/errors") {
			t.Errorf("%s %s: %+v", c.name, c.value, e)
		}
	}
	var records int
	if err := p.db.QueryRowContext(t.Context(), `select count(*) from usage_records`).Scan(&records); err != nil || records != 0 {
		t.Errorf("%d records of what was refused, %v", records, err)
	}
	form := url.Values{"model": {allStyles}, "style": {"chat"}, "prompt": {"echo: {{a}} and {{b}}"}, "var_a": {"{{b}}"}, "var_b": {"two"}}
	if got := said(p.stream(form)); got != "{{b}} and two" {
		t.Errorf("filled: %q", got)
	}
}

// ids are what differs between two calls of the same thing.
var ids = regexp.MustCompile(`"(id|created|created_at|completed_at|responseId|request_id|createTime|item_id|obfuscation)":("[^"]*"|\d+)|(req|resp|msg|chatcmpl)_?-?[A-Za-z0-9_]+`)

// TestTheLogIsWhatAClientOfTheStyleReads compares the raw events with the answer of the API to the very request that the page
// shows.
func TestTheLogIsWhatAClientOfTheStyleReads(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("raw@example.com")
	secret := ownKey(t, p)
	for _, style := range textStyles {
		for _, stream := range []string{"true", ""} {
			events := p.stream(url.Values{"model": {allStyles}, "style": {style}, "stream": {stream}, "prompt": {"echo: seven words, *and* no more\n\nthan that"}})
			var log strings.Builder
			for _, e := range events {
				log.WriteString(e.Raw)
			}
			sent := first(events, "request")
			r := httptest.NewRequestWithContext(t.Context(), sent.Method, "http://gateway.test"+sent.Path, strings.NewReader(sent.Body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+secret)
			w := httptest.NewRecorder()
			p.web.ServeHTTP(w, r)
			if w.Code != http.StatusOK || ids.ReplaceAllString(log.String(), "") != ids.ReplaceAllString(w.Body.String(), "") {
				t.Errorf("%s, stream %q: %d\nthe log   %s\nthe client %s", style, stream, w.Code, log.String(), w.Body.String())
			}
		}
	}
}

// ownKey makes a key of the person's account, past its page.
func ownKey(t *testing.T, p *person) string {
	t.Helper()
	a := p.send("/console/keys", url.Values{"name": {"raw"}})
	secret := secretPattern.FindString(a.body)
	if secret == "" {
		t.Fatalf("no key in the answer: %d", a.status)
	}
	return secret
}

const sample = "# Title\n\nSome **bold** text with `code`.\n\n- one\n- two\n\n  still two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nfunc main() {\n\n}\n```\n\nThe [end][1].\n\n[1]: https://example.com/\n"

func TestAnswersAreDrawnBlockByBlockAndHostileOnesAreInert(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("blocks@example.com")
	hostile := "<script>alert(1)</script>\n\n[x](javascript:alert(1)) ![y](https://evil.example/p.png)\n\n<img src=x onerror=alert(1)>"
	for _, text := range []string{sample, strings.TrimSuffix(sample, "[1]: https://example.com/\n"), hostile} {
		form := url.Values{"model": {allStyles}, "style": {"chat"}, "stream": {"true"}, "prompt": {"echo: " + text}}
		events := p.stream(form)
		want := string(markdown.Untrusted(said(events)))
		if got := markdownOf(events); got != want || strings.TrimSpace(said(events)) != strings.TrimSpace(text) {
			t.Errorf("drawn  %s\nwanted %s", got, want)
		}
		if whole := p.send("/console/playground", form); !strings.Contains(whole.body, want) {
			t.Errorf("the page does not hold %s", want)
		}
		if strings.Contains(want, "<script") || strings.Contains(want, "<img") || strings.Contains(want, `href="javascript`) {
			t.Errorf("not inert: %s", want)
		}
	}
}

func (p *person) estimate(form url.Values) (e struct {
	InputTokens          int64 `json:"input_tokens"`
	Low, High, Text, Why string
	Enough               bool
	Field                string
}) {
	p.t.Helper()
	a := p.send("/console/playground/estimate", form)
	if err := json.Unmarshal([]byte(a.body), &e); err != nil || a.status != http.StatusOK {
		p.t.Fatalf("%d %v %s", a.status, err, a.body)
	}
	return e
}

func TestAnEstimateBracketsWhatTheCallCosts(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("estimate@example.com")
	dollars := func(s string) app.Amount {
		amount, err := app.ParseAmount(strings.TrimPrefix(s, "$"))
		if err != nil {
			t.Fatalf("%v of %q", err, s)
		}
		return amount
	}
	for _, style := range textStyles {
		form := url.Values{"model": {allStyles}, "style": {style}, "prompt": {"say 20 words"}, "system": {"Be brief."}, "tools": {weatherTool}}
		e := p.estimate(form)
		cost := dollars(fact(last(p.stream(form)), "Cost"))
		if e.InputTokens <= 0 || !e.Enough || e.Why != "" || dollars(e.Low) > cost || dollars(e.High) < cost || !strings.Contains(e.Text, e.Low) {
			t.Errorf("%s: %+v for %s", style, e, cost)
		}
	}
	if e := p.estimate(url.Values{"model": {allStyles}, "prompt": {"hi"}, "tools": {"["}}); e.Enough || e.Field != "tools" || e.Why == "" {
		t.Errorf("a form that is wrong: %+v", e)
	}
	var records int
	if err := p.db.QueryRowContext(t.Context(), `select count(*) from usage_records`).Scan(&records); err != nil || records != len(textStyles) {
		t.Errorf("%d records, %v", records, err)
	}
}

// TestTheConversationIsArrangedWithoutScripts presses each of its buttons.
func TestTheConversationIsArrangedWithoutScripts(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("arrange@example.com")
	turnText := regexp.MustCompile(`(?s)name="turn_text"[^>]*?(?: value="([^"]*)"[^>]*>|>([^<]*)</textarea>)`)
	for _, c := range []struct{ do, turns, prompt string }{
		{"delete-1", "one|three|four", "new"},
		{"up-1", "two|one|three|four", "new"},
		{"down-1", "one|three|two|four", "new"},
		{"branch-1", "one|two", "new"},
		{"edit-2", "one|two", "three"},
		{"add-user", "one|two|three|four|new", ""},
		{"add-assistant", "one|two|three|four|new", ""},
		{"clear", "", ""},
		{"up-99", "one|two|three|four", "new"},
	} {
		form := url.Values{
			"model": {allStyles}, "style": {"chat"}, "prompt": {"new"}, "do": {c.do}, "tools": {weatherTool},
			"turn_role": {"user", "assistant", "user", "assistant"}, "turn_text": {"one", "two", "three", "four"},
		}
		a := p.send("/console/playground", form)
		body, _, _ := strings.Cut(a.body, "<template")
		var turns []string
		for _, m := range turnText.FindAllStringSubmatch(body, -1) {
			turns = append(turns, m[1]+m[2])
		}
		if a.status != http.StatusOK || strings.Join(turns, "|") != c.turns || !strings.Contains(body, ">"+c.prompt+"</textarea>") || !strings.Contains(body, "get_weather") {
			t.Errorf("%s: %d, turns %q", c.do, a.status, turns)
		}
	}
	a := p.send("/console/playground", url.Values{
		"model": {allStyles}, "style": {"chat"}, "prompt": {"kept"}, "do": {"regenerate"}, "turn_role": {"user", "assistant"}, "turn_text": {"echo: again", "old"},
	})
	if a.status != http.StatusOK || !strings.Contains(a.body, "again") || strings.Contains(a.body, ">old<") || !strings.Contains(a.body, ">kept</textarea>") {
		t.Errorf("regenerate: %d", a.status)
	}
}

func TestALinkFillsThePlaygroundIn(t *testing.T) {
	t.Parallel()
	p := withModels(t).signedIn("link@example.com")
	a := p.see("/console/playground?" + url.Values{
		"model": {allStyles, "meridian/atlas-small"}, "style": {"messages"}, "system": {"Speak of {{topic}}."}, "prompt_text": {"Hello from a link"}, "var_topic": {"tea"},
	}.Encode())
	for _, want := range []string{"Hello from a link", "Speak of {{topic}}.", "tea", "meridian/atlas-small", "/v1/messages"} {
		if a.status != http.StatusOK || !strings.Contains(a.body, want) {
			t.Errorf("the page lacks %q: %d", want, a.status)
		}
	}
}
