package protocols

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"umg/e2e/harness"
)

// matrixCase is a row of the matrix: what is asked, and what every cell must say.
type matrixCase struct {
	name string
	// everyPair is true when every client asks every upstream; otherwise it runs in oncePerStyle.
	everyPair bool
	ask       question
	text      string
	// begins is true when the text is only the beginning of the answer.
	begins bool
	// calls have names and arguments.
	calls  []part
	finish string
	// thinks is true when the answer begins with thoughts.
	thinks bool
	// mode is json or stream; both when empty.
	mode string
	// uncounted is an upstream style whose answers have no usage unless the request asks for it.
	uncounted string
}

const (
	// nastyText has what breaks writers of JSON and of event streams.
	nastyText = "Grüße, 世界! 🎈 \"quoted\" \\ <b>&amp;</b> \u2028 tab\tdata: [DONE] end"
	// nastyArguments are what a writer that parses them would change: order, digits, escapes.
	nastyArguments = `{"zeta":12345678901234567890.000100,"city":"Zürich 🎈 <&> \u00e9","alpha":{"b":[1e2,-0.0,null,true],"a":{}},` +
		`"days":9007199254740993}`
	dataImage = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
	webImage  = "https://images.example.com/dot.png"
)

const placeSchema = `{"type":"object","properties":{"place":{"type":"string"},"days":{"type":"integer"}},"required":["place","days"],` +
	`"additionalProperties":false}`

const thoughtsOf = "The user wants an answer to “"

func says(texts ...string) []turn {
	turns := make([]turn, 0, len(texts))
	for i, text := range texts {
		if i%2 == 1 {
			turns = append(turns, turn{said: &reply{parts: []part{{kind: "text", text: text}}}})
		} else {
			turns = append(turns, turn{text: text})
		}
	}
	return turns
}

// toolTurns are a question, two calls and what the tools said.
func toolTurns() []turn {
	return []turn{
		{text: "Compare the weather and the time."},
		{said: &reply{parts: []part{
			{kind: "text", text: "Let me look."},
			{kind: "call", id: "call_1a", name: "get_weather", arguments: nastyArguments},
			{kind: "call", id: "call_2b", name: "get_time", arguments: "{}"},
		}}},
		{results: []result{{"call_1a", "get_weather", "18 degrees\n\"mild\""}, {"call_2b", "get_time", "noon 🕛"}}},
	}
}

var matrixCases = []matrixCase{
	{name: "text in a conversation, input from the cache", everyPair: true, text: nastyText, finish: "end", ask: question{
		system: "cached: this is the handbook of the company, which is long.", turns: says("Hello", "Hello to you.", "echo: "+nastyText)}},
	{name: "reasoning and two parallel tools", everyPair: true, ask: question{thinks: true, limit: 4000, tools: true,
		turns: says("call: get_weather " + nastyArguments + "\ncall: get_time {}")}, finish: "calls", thinks: true,
		calls: []part{{name: "get_weather", arguments: nastyArguments}, {name: "get_time", arguments: "{}"}}},
	{name: "words before the tools", ask: question{tools: true, turns: says("Please narrate both tools for city=Oslo days=3")},
		text: "Let me look that up.", finish: "calls",
		calls: []part{{name: "get_weather", arguments: `{"city":"Oslo","days":3}`}, {name: "get_time", arguments: "{}"}}},
	{name: "results of tools", everyPair: true, ask: question{tools: true, turns: toolTurns()},
		text: "According to the tool: 18 degrees\n\"mild\"; noon 🕛.", finish: "end"},
	{name: "image as data", ask: question{turns: []turn{{text: "What is it?", image: dataImage}}},
		text: "I see 1 image (image/png, 70 bytes). ", begins: true, finish: "end"},
	{name: "reasoning", ask: question{thinks: true, limit: 4000, turns: says("echo: thought over")}, text: "thought over", finish: "end",
		thinks: true},
	{name: "JSON schema", ask: question{schema: placeSchema, turns: says("Choose place=Bergen days=4")},
		text: `{"days":4,"place":"Bergen"}`, finish: "end"},
	{name: "length", ask: question{limit: 20, turns: says("count to 60")}, finish: "length",
		text: "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"},
	{name: "filter", ask: question{turns: says("refuse: do it")}, text: "I cannot help with that.", finish: "filter"},
	{name: "blocked prompt", ask: question{turns: says("block: all of it")}, finish: "filter"},

	{name: "a body where a stream was asked for", mode: "stream", finish: "end",
		ask: question{turns: says("simulate: json-instead-of-stream\necho: " + nastyText)}, text: nastyText},
	{name: "a stream where a body was asked for", mode: "json", finish: "end", uncounted: "chat",
		ask: question{turns: says("simulate: stream-instead-of-json\necho: " + nastyText)}, text: nastyText},
	{name: "tools in a body where a stream was asked for", mode: "stream", finish: "calls",
		ask: question{tools: true, thinks: true, limit: 4000,
			turns: says("simulate: json-instead-of-stream\ncall: get_weather " + nastyArguments + "\ncall: get_time {}")}, thinks: true,
		calls: []part{{name: "get_weather", arguments: nastyArguments}, {name: "get_time", arguments: "{}"}}},
	{name: "tools in a stream where a body was asked for", mode: "json", finish: "calls", uncounted: "chat",
		ask: question{tools: true, thinks: true, limit: 4000,
			turns: says("simulate: stream-instead-of-json\ncall: get_weather " + nastyArguments + "\ncall: get_time {}")}, thinks: true,
		calls: []part{{name: "get_weather", arguments: nastyArguments}, {name: "get_time", arguments: "{}"}}},
}

// testMatrixAnswers asks every row in its cells, as a body and as a stream: the same text, the same calls to the byte, the same usage
// and the same cost.
func testMatrixAnswers(m *matrix, t *testing.T) {
	for _, c := range matrixCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var once sync.Once
			var first tokens
			for _, p := range cells(c.everyPair) {
				for _, stream := range []bool{false, true} {
					if c.mode != "" && c.mode != modeOf(stream) {
						continue
					}
					t.Run(p.String()+"/"+modeOf(stream), func(t *testing.T) {
						got := m.cell(t, &c, p, stream)
						if c.uncounted == p.upstream.style {
							return
						}
						once.Do(func() { first = got.tokens })
						if got.tokens != first {
							t.Errorf("the usage is %+v here and %+v elsewhere", got.tokens, first)
						}
					})
				}
			}
		})
	}
}

// cell asks one question in one cell, and looks at both ends of it.
func (m *matrix) cell(t *testing.T, c *matrixCase, p pair, stream bool) reply {
	t.Helper()
	q := c.ask
	q.model, q.stream = p.model(), stream
	r, s := m.ask(t, p.client, q)
	text := r.text()
	if c.begins {
		text = text[:min(len(text), len(c.text))]
	}
	if text != c.text {
		t.Errorf("the text is %q", r.text())
	}
	if r.finish != c.finish {
		t.Errorf("the answer ends with %q: %s", r.finish, s.Body)
	}
	sameCalls(t, r.calls(), c.calls)
	if got := r.thoughts(); strings.HasPrefix(got, thoughtsOf) != c.thinks || c.thinks && r.parts[0].kind != "thought" {
		t.Errorf("the thoughts are %q in %+v", got, r.parts)
	}
	if s.record.Estimated != (c.uncounted == p.upstream.style) || s.record.Streamed != stream || s.record.Style != p.client.style {
		t.Errorf("recorded is %+v", s.record)
	}
	if lost := s.Header.Get("X-Gateway-Dropped"); lost != "" {
		t.Errorf("something was lost: %s", lost)
	}
	m.reached(t, p, &q, s.mark)
	return r
}

func sameCalls(t *testing.T, got, want []part) {
	t.Helper()
	same := slices.EqualFunc(got, want, func(a, b part) bool { return a.name == b.name && harness.SameJSON(a.arguments, b.arguments) })
	if !same {
		t.Errorf("the calls are %+v", got)
	}
	for i, c := range got {
		if c.id == "" || slices.ContainsFunc(got[:i], func(other part) bool { return other.id == c.id }) {
			t.Errorf("a call has no id of its own: %+v", got)
		}
	}
}

// reached looks at what came to the upstream: once, in its own style, bounded as it must be, and streaming as asked.
func (m *matrix) reached(t *testing.T, p pair, q *question, mark string) {
	t.Helper()
	list := m.arrived(t, mark)
	if len(list) != 1 {
		t.Fatalf("%d requests reached the upstream", len(list))
	}
	a := list[0]
	top := m.schemas.received(t, p.upstream.style, a.Body)
	if a.Provider != "m-"+p.upstream.style {
		t.Errorf("the call went to %q", a.Provider)
	}
	streams := string(top["stream"]) == "true" || strings.HasSuffix(a.Path, ":streamGenerateContent")
	if streams != q.stream {
		t.Errorf("the upstream was asked for a stream: %t", streams)
	}
	want := q.limit
	if want == 0 && p.upstream.style == "messages" {
		// Every request of the style has an output limit.
		want = matrixOutputMax
	}
	if got := boundOf(t, p.upstream, top); got != want {
		t.Errorf("the upstream got the bound %d: %s", got, a.Body)
	}
}

// boundOf is the bound on output in a request that reached an upstream, zero for none.
func boundOf(t *testing.T, w *wire, top map[string]json.RawMessage) int {
	t.Helper()
	raw := top[map[string]string{"chat": "max_completion_tokens", "messages": "max_tokens", "responses": "max_output_tokens"}[w.style]]
	if config := top["generationConfig"]; config != nil {
		raw = harness.DecodeJSON[map[string]json.RawMessage](t, string(config))["maxOutputTokens"]
	}
	if raw == nil {
		return 0
	}
	return harness.DecodeJSON[int](t, string(raw))
}
