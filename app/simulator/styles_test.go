package simulator

import (
	"encoding/json"
	goflag "flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = goflag.Bool("update", false, "rewrite the golden files")

const png = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg=="

const placeSchema = `{"type":"object","properties":{"name":{"type":"string"},"tags":{"type":"array","items":{"$ref":"#/$defs/tag"}},` +
	`"size":{"type":"integer","minimum":3}},"required":["name","tags","size"],"additionalProperties":false,` +
	`"$defs":{"tag":{"type":"string","enum":["sea","hill"]}}}`

// kase is a prompt and what every style must make of it.
type kase struct {
	name  string
	ask   ask
	text  string
	calls []call
	// finish has the words of chat, messages, responses and native, in this order.
	finish [4]string
}

var styleNames = []string{"chat", "messages", "responses", "native"}

var (
	natural = [4]string{"stop", "end_turn", "completed", "STOP"}
	length  = [4]string{"length", "max_tokens", "incomplete max_output_tokens", "MAX_TOKENS"}
	tooling = [4]string{"tool_calls", "tool_use", "completed", "STOP"}
)

func kases() []kase {
	rome := call{"get_weather", `{"city":"Rome","days":2,"unit":"celsius"}`}
	return []kase{
		{name: "echo", ask: ask{text: "echo: Hello, wörld! \"quoted\"\n\ttabs \\ and 𝄞", system: "Be kind."},
			text: "Hello, wörld! \"quoted\"\n\ttabs \\ and 𝄞", finish: natural},
		{name: "count", ask: ask{text: "count to 20"}, text: counting(20), finish: natural},
		{name: "length", ask: ask{text: "say 40 words", limit: 17}, text: saying(17), finish: length},
		{name: "call", ask: ask{text: "Please call the tool for Rome", tools: true}, calls: []call{rome}, finish: tooling},
		{name: "both", ask: ask{text: "narrate, then do both for Rome with days=5", tools: true, required: true}, text: "Let me look that up.",
			calls: []call{{"get_weather", `{"city":"Rome","days":5,"unit":"celsius"}`}, {"get_time", "{}"}}, finish: tooling},
		{name: "results", ask: ask{text: "call both", tools: true, results: true},
			text: "According to the tool: 18 degrees; noon.", finish: natural},
		{name: "schema", ask: ask{text: "Describe the town of Porto", schema: placeSchema},
			text: `{"name":"Porto","size":3,"tags":["sea"]}`, finish: natural},
		{name: "image", ask: ask{text: "", image: png},
			text: "I see 1 image (image/png, 16 bytes). What would you like to know about it?", finish: natural},
		{name: "reasoning", ask: ask{text: "echo: 42", thinking: true}, text: "42", finish: natural},
		{name: "cached", ask: ask{text: "echo: ok", system: "cached: a long text that was seen before"}, text: "ok", finish: natural},
		{name: "refused", ask: ask{text: "refuse: please"}, text: "I cannot help with that.",
			finish: [4]string{"content_filter", "refusal", "incomplete content_filter", "SAFETY"}},
		{name: "blocked", ask: ask{text: "block: please"}, text: "",
			finish: [4]string{"content_filter", "refusal", "incomplete content_filter", "blocked SAFETY"}},
		{name: "stop", ask: ask{text: "count to 20", stop: " 11"}, text: counting(10),
			finish: [4]string{"stop", "stop_sequence", "", "STOP"}},
	}
}

// TestEveryStyleSaysTheSame proves for every prompt and style that the body and the stream say what the prompt
// determines, that the two agree in every count, that the tokens shown are the tokens counted, that both fit the
// schema of the style, and that neither changed since the golden files were written.
func TestEveryStyleSaysTheSame(t *testing.T) {
	t.Parallel()
	schemas := loadSchemas(t)
	for _, k := range kases() {
		for i, style := range styleNames {
			if k.finish[i] == "" {
				continue // The responses style has no stop sequences.
			}
			t.Run(k.name+"/"+style, func(t *testing.T) {
				t.Parallel()
				var got [2]reading
				for n, stream := range []bool{false, true} {
					u := setup(t, Options{})
					a := k.ask
					a.stream = stream
					res := u.post(style, a)
					if res.status != 200 || res.err != nil {
						t.Fatalf("%d %v %s", res.status, res.err, res.body)
					}
					golden(t, style+"_"+k.name, stream, res.body)
					schemas.check(t, style, stream, res.body)
					got[n] = read(t, style, stream, res.body)
					if got[n].text != k.text || !slices.Equal(got[n].calls, k.calls) || got[n].finish != k.finish[i] {
						t.Errorf("stream %t: got %+v", stream, got[n])
					}
				}
				lawOfTokens(t, got[0], got[1])
			})
		}
	}
}

// lawOfTokens holds a body and a stream of the same prompt against each other.
func lawOfTokens(t *testing.T, body, stream reading) {
	t.Helper()
	if !stream.ended {
		t.Error("the stream has no end marker")
	}
	if stream.reasoning != body.reasoning {
		t.Errorf("reasoning differs: %q, %q", body.reasoning, stream.reasoning)
	}
	if body.in != stream.in || body.out != stream.out || body.cached != stream.cached || body.thought != stream.thought {
		t.Errorf("usage differs: body %+v, stream %+v", body, stream)
	}
	if int64(stream.frames) != stream.out {
		t.Errorf("%d token frames, %d tokens", stream.frames, stream.out)
	}
	if shown := countTokens(stream.text) + countTokens(stream.reasoning); stream.calls == nil && shown != stream.out {
		t.Errorf("the text has %d tokens, the usage %d", shown, stream.out)
	}
	if body.thought != countTokens(body.reasoning) {
		t.Errorf("%d tokens of reasoning, %q", body.thought, body.reasoning)
	}
	if body.in <= 0 || body.cached > body.in {
		t.Errorf("input %d, of it cached %d", body.in, body.cached)
	}
}

func golden(t *testing.T, name string, stream bool, got []byte) {
	t.Helper()
	ext := ".json"
	if stream {
		ext = ".sse"
	}
	path := filepath.Join("testdata", "golden", name+ext)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got) {
		t.Errorf("%s changed:\n%s", path, got)
	}
}

// TestOneConversationCountsTheSameInEveryStyle proves that input tokens do not depend on the wire format.
func TestOneConversationCountsTheSameInEveryStyle(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	for _, a := range []ask{
		{text: "echo: one two three", system: "Be brief and kind."},
		{text: "call", tools: true},
		{text: "look", image: png},
		{text: "go on", tools: true, results: true},
		{text: "echo: x", system: "cached: yes"},
	} {
		first := read(t, "chat", false, u.post("chat", a).body)
		for _, style := range styleNames[1:] {
			if r := read(t, style, false, u.post(style, a).body); r.in != first.in || r.cached != first.cached || r.out != first.out {
				t.Errorf("%q: %s counts %d/%d/%d, chat %d/%d/%d", a.text, style, r.in, r.cached, r.out, first.in, first.cached, first.out)
			}
		}
	}
}

// TestCountingRoutesAgreeWithUsage proves that asking for the number of input tokens gives the number that is
// charged for the call.
func TestCountingRoutesAgreeWithUsage(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	schemas := loadSchemas(t)
	a := ask{model: "m", text: "how many tokens is this, with a tool or two", tools: true}
	want := read(t, "chat", false, u.post("chat", ask{text: a.text, tools: true}).body).in
	for style, path := range map[string]string{"messages": "/v1/messages/count_tokens", "responses": "/v1/responses/input_tokens",
		"native": "/v1beta/models/m:countTokens"} {
		_, body := forms[style](a)
		delete(body, "max_tokens")
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		res := u.do("POST", path, raw, nil)
		schemas.fits(t, map[string]string{"messages": "messages#/definitions/MessageTokensCount",
			"responses": "open#/components/schemas/TokenCountsResource", "native": "native#/$defs/CountTokensResponse"}[style], res.body)
		got := decode[map[string]any](t, res.body)
		n, _ := got["input_tokens"].(float64)
		if style == "native" {
			n, _ = got["totalTokens"].(float64)
		}
		if int64(n) != want {
			t.Errorf("%s says %s, want %d", style, res.body, want)
		}
	}
}

// TestChatUsageIsStreamedOnlyOnRequest proves the usage rule of chat streams.
func TestChatUsageIsStreamedOnlyOnRequest(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	res := u.post("chat", ask{text: "count to 3", stream: true, noUsage: true})
	if strings.Contains(string(res.body), "usage") {
		t.Errorf("usage without being asked: %s", res.body)
	}
	res = u.post("chat", ask{text: "count to 3", stream: true})
	all := framesOf(res.body)
	for i, f := range all {
		null := strings.Contains(f.data, `"usage":null`)
		switch {
		case i < len(all)-2 && !null, i == len(all)-2 && (null || !strings.Contains(f.data, `"choices":[],"usage":{`)):
			t.Errorf("frame %d: %s", i, f.data)
		}
	}
	if all[len(all)-1].data != "[DONE]" {
		t.Error("no [DONE]")
	}
}

// TestSeveralChoicesAreAllCounted proves that n answers cost n times the output.
func TestSeveralChoicesAreAllCounted(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	for _, stream := range []bool{false, true} {
		body := []byte(`{"model":"m","n":3,"stream":` + map[bool]string{false: "false", true: "true"}[stream] +
			`,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"count to 4"}]}`)
		r := read(t, "chat", stream, u.do("POST", "/v1/chat/completions", body, nil).body)
		if r.text != strings.Repeat(counting(4), 3) || r.out != 12 {
			t.Errorf("stream %t: %+v", stream, r)
		}
	}
	body := []byte(`{"contents":[{"parts":[{"text":"count to 4"}]}],"generationConfig":{"candidateCount":2}}`)
	if r := read(t, "native", false, u.do("POST", "/v1beta/models/m:generateContent", body, nil).body); r.out != 8 {
		t.Errorf("%+v", r)
	}
}

// TestReasoningIsCountedWhereItIsHidden proves that reasoning which the caller does not see is still paid for, and
// that the limit of output covers it.
func TestReasoningIsCountedWhereItIsHidden(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	for path, body := range map[string]string{
		"/v1/responses":                         `{"model":"sim-reason","input":"echo: x","stream":true}`,
		"/v1beta/models/reason:generateContent": `{"contents":[{"parts":[{"text":"echo: x"}]}]}`,
		"/v1beta/models/reasons:generateContent": `{"contents":[{"parts":[{"text":"echo: x"}]}],` +
			`"generation_config":{"thinking_config":{"include_thoughts":false}}}`,
	} {
		style := map[bool]string{true: "responses", false: "native"}[path == "/v1/responses"]
		r := read(t, style, style == "responses", u.do("POST", path, []byte(body), nil).body)
		if r.reasoning != "" || r.thought == 0 || r.out != r.thought+1 || r.text != "x" {
			t.Errorf("%s: %+v", path, r)
		}
	}
	off := read(t, "chat", false, u.do("POST", "/v1/chat/completions",
		[]byte(`{"model":"sim-reason","reasoning_effort":"none","messages":[{"role":"user","content":"echo: x"}]}`), nil).body)
	if off.thought != 0 || off.out != 1 {
		t.Errorf("reasoning that was switched off: %+v", off)
	}
	cut := read(t, "chat", true, u.post("chat", ask{model: "reason", text: "echo: x", limit: 3, stream: true}).body)
	if cut.out != 3 || cut.text != "" || cut.finish != "length" || cut.thought != 3 {
		t.Errorf("the limit does not cover reasoning: %+v", cut)
	}
}

// TestNativeStreamsAsAnArrayToo proves the form of a native stream that does not ask for events.
func TestNativeStreamsAsAnArrayToo(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	res := u.do("POST", "/kestrel/v1/models/a:b:streamGenerateContent", []byte(`{"contents":[{"parts":[{"text":"count to 5"}]}]}`), nil)
	chunks := decode[[]json.RawMessage](t, res.body)
	var r reading
	for _, c := range chunks {
		readNativeChunk(t, &r, frame{data: string(c)})
	}
	if r.text != counting(5) || r.out != 5 || !r.ended || res.header.Get("Content-Type") != "application/json" {
		t.Errorf("%+v %s", r, res.body)
	}
	if !strings.Contains(string(res.body), `"modelVersion":"a:b"`) {
		t.Errorf("a model with a colon: %s", res.body)
	}
}

// TestAnswersMentionThePrompt proves that conversation refers to what was said, always in the same words.
func TestAnswersMentionThePrompt(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	for _, text := range []string{"Hi there", "Write code for sorting", "a list of birds", "why is the sky blue",
		"a haiku, please", "Blauwal"} {
		first := read(t, "chat", false, u.post("chat", ask{text: text}).body).text
		if !strings.Contains(first, text) || len(first) < 40 {
			t.Errorf("%q: %q", text, first)
		}
		if again := read(t, "messages", true, u.post("messages", ask{text: text, stream: true}).body).text; again != first {
			t.Errorf("%q, then %q", first, again)
		}
	}
	if r := read(t, "chat", false, u.post("chat", ask{text: " "}).body); r.text == "" {
		t.Error("no answer to an empty prompt")
	}
}
