package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/meter"
	"umg/app/provider/quirk"
	"umg/app/usagereader"
)

// strictAnswer is the text of a strictProvider. Its middle is the stop sequence of the requests.
const strictAnswer = "before###after"

// strictProvider answers chat requests and keeps them. The one at the path of Mistral refuses members that Mistral does not know, and sends
// the usage of a stream in the frame with the finish reason.
type strictProvider struct {
	mu   sync.Mutex
	sent []members
}

// mistralMembers are the members that requests of this file may have at Mistral.
var mistralMembers = []string{
	"model", "messages", "max_tokens", "temperature", "top_p", "presence_penalty", "frequency_penalty", "stop", "n", "random_seed", "stream",
	"tools", "tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort",
}

func (p *strictProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	var m members
	if json.Unmarshal(text, &m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.sent = append(p.sent, m)
	p.mu.Unlock()
	isStrict := strings.HasPrefix(r.URL.Path, "/mistral/")
	for name := range m {
		if isStrict && !slices.Contains(mistralMembers, name) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = fmt.Fprintf(w, `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body",%q]}]}}`, name)
			return
		}
	}
	const head, usage = `{"id":"1","created":1,"model":"up","object":`, `"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}`
	if m["stream"] != true {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, head+`"chat.completion",`+usage+`,"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"`+
			strictAnswer+`"}}]}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := head + `"chat.completion.chunk",`
	_, _ = io.WriteString(w, "data: "+chunk+`"choices":[{"index":0,"delta":{"role":"assistant","content":"`+strictAnswer+"\"}}]}\n\n"+
		"data: "+chunk+usage+`,"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
}

// take returns the requests since the last take.
func (p *strictProvider) take() []members {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent := p.sent
	p.sent = nil
	return sent
}

// quirkBench has one provider for each reader of usage with quirks, and two without a reader: "plain", and "unnamed" at the address of Mistral.
// Each has a model that may reason, and one that always does.
type quirkBench struct {
	*bench
	provider *strictProvider
	names    []string
}

func setupQuirks(t *testing.T) *quirkBench {
	t.Helper()
	b := &quirkBench{bench: setup(t, startMoney), provider: &strictProvider{}}
	b.answerWith(b.provider)
	for _, name := range usagereader.Names() {
		if quirk.Of(name, llm.Chat, false) != nil {
			b.names = append(b.names, name)
		}
	}
	providers, models := "", ""
	for _, name := range append([]string{"plain", "unnamed"}, b.names...) {
		reader, path := "usage: "+name+", ", name
		switch name {
		case "plain":
			reader = ""
		case "unnamed":
			reader, path = "", "mistral"
		}
		providers += fmt.Sprintf("  - {id: %s, name: %s, %sbase_url: \"${SIM}/%s\", credential: \"${SECRET}\"}\n", name, name, reader, path)
		route := fmt.Sprintf("[{provider: %s, model: up, style: chat}]}\n", name)
		models += fmt.Sprintf("  - {id: test/%s, %s %s", name, recordedTerms, route)
		models += fmt.Sprintf("  - {id: test/%s-reasons, ranges: {reasoning_effort: {values: [low, high]}}, %s %s", name, recordedTerms, route)
	}
	f, err := catalog.ParseFile([]byte("providers:\n" + providers + "models:\n" + models))
	must(t, err)
	snapshot, err := catalog.NewSnapshot(f, catalog.Options{Now: time.Now, Secrets: b.lookup, Log: slog.New(slog.DiscardHandler), Traits: dialect.Traits, Extras: extraRows})
	must(t, err)
	b.options.Snapshot = func() *catalog.Snapshot { return snapshot }
	b.gateway = gateway.New(b.options)
	return b
}

// call sends a request and returns what the provider got, the header that lists what was left out, and what the client got.
func (b *quirkBench) call(style llm.Style, model, body string, stream bool) (sent members, dropped, answer string) {
	b.t.Helper()
	body = strings.Replace(body, "{", fmt.Sprintf(`{"model":%q,"stream":%t,`, model, stream), 1)
	b.provider.take()
	_, s, err := b.generate(gateway.Call{
		ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account, KeyID: "key_1"}, Style: style, Body: []byte(body),
	})
	all := b.provider.take()
	if err != nil || len(all) != 1 {
		b.t.Fatalf("%s to %s: %v, the provider got %v", style, model, err, all)
	}
	return all[0], s.header.Get("X-Gateway-Dropped"), s.text()
}

// fullRequests has a request in each style with all members that can become one of a chat request.
var fullRequests = map[llm.Style]string{
	llm.Chat: `{"messages":[{"role":"developer","content":"d"},{"role":"user","content":"x"}],"max_completion_tokens":50,"temperature":0.5,"top_p":0.5,
"presence_penalty":0.5,"frequency_penalty":0.5,"stop":["###"],"n":1,"seed":3,"logprobs":true,"top_logprobs":2,"logit_bias":{"5":1},"metadata":{"a":"b"},
"user":"u","verbosity":"low","reasoning_effort":"low","parallel_tool_calls":false,"tool_choice":"required",
"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]}`,
	llm.Messages: `{"messages":[{"role":"user","content":"x"}],"system":"s","max_tokens":5000,"stop_sequences":["###"],"metadata":{"user_id":"u"},
"thinking":{"type":"enabled","budget_tokens":1024},"tools":[{"name":"f","input_schema":{"type":"object"}}],
"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`,
	llm.Responses: `{"input":"x","instructions":"s","max_output_tokens":50,"temperature":0.5,"top_p":0.5,"metadata":{"a":"b"},"safety_identifier":"u",
"text":{"verbosity":"low"},"reasoning":{"effort":"low"},"parallel_tool_calls":false,"tool_choice":"required",
"tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":false}]}`,
	llm.Native: `{"contents":[{"role":"user","parts":[{"text":"x"}]}],"systemInstruction":{"parts":[{"text":"s"}]},"labels":{"a":"b"},
"generationConfig":{"maxOutputTokens":5000,"temperature":0.5,"topP":0.5,"seed":3,"presencePenalty":0.5,"frequencyPenalty":0.5,"stopSequences":["###"],
"thinkingConfig":{"thinkingBudget":1024}},"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},
"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"type":"object"}}]}]}`,
}

// clientNames has the names of members of a chat request in other styles. A stop sequence is not listed there, since the gateway watches for it.
var clientNames = map[llm.Style]map[string]string{
	llm.Messages:  {"user": "metadata.user_id", "parallel_tool_calls": "tool_choice.disable_parallel_tool_use", "stop": ""},
	llm.Responses: {"user": "safety_identifier", "verbosity": "text.verbosity"},
	llm.Native: {"metadata": "labels", "seed": "generationConfig.seed", "presence_penalty": "generationConfig.presencePenalty",
		"frequency_penalty": "generationConfig.frequencyPenalty", "stop": ""},
}

// quirkRow is in what a request to a provider differs from one without quirks, and whether developers become the system.
type quirkRow struct {
	gone, bound, seed, choice string
	keepsDeveloper            bool
	// effort returns the member that takes the place of reasoning_effort.
	effort func(word any) (name string, value any)
}

func effortObject(word any) (string, any) { return "reasoning", members{"effort": word} }

func thinkingOn(any) (string, any) { return "thinking", members{"type": "enabled"} }

var quirkRows = map[string]quirkRow{
	"openai":     {gone: "temperature top_p logprobs top_logprobs", bound: "max_completion_tokens", keepsDeveloper: true},
	"mistral":    {gone: "logprobs top_logprobs logit_bias user metadata verbosity stream_options", bound: "max_tokens", seed: "random_seed", choice: "any"},
	"azure":      {gone: "temperature top_p logprobs top_logprobs", keepsDeveloper: true},
	"ollama":     {gone: "parallel_tool_calls", bound: "max_tokens"},
	"xai":        {gone: "stop presence_penalty frequency_penalty"},
	"cerebras":   {gone: "frequency_penalty presence_penalty logit_bias parallel_tool_calls"},
	"deepseek":   {gone: "seed", bound: "max_tokens", effort: thinkingOn},
	"moonshot":   {gone: "seed", bound: "max_tokens", effort: thinkingOn},
	"openrouter": {keepsDeveloper: true, effort: effortObject},
	"perplexity": {gone: "stop seed", bound: "max_tokens"},
	"together":   {bound: "max_tokens"},
	"dashscope":  {bound: "max_tokens", effort: func(any) (string, any) { return "enable_thinking", true }},
	"groq":       {}, "fireworks": {}, "huggingface": {}, "minimax": {}, "vllm": {}, "zai": {effort: thinkingOn},
}

// expected returns the request and the header for a provider with quirks, from those for a provider without.
func (q *quirkRow) expected(style llm.Style, plain members, listed string) (members, string) {
	want := maps.Clone(plain)
	names := strings.Split(listed, ",")
	for name := range strings.FieldsSeq(q.gone) {
		if want[name] == nil {
			continue
		}
		delete(want, name)
		called, renamed := clientNames[style][name]
		if !renamed {
			called = name
		}
		if name != "stream_options" {
			names = append(names, called)
		}
		if name == "stop" && style != llm.Chat {
			want["stream"], want["stream_options"] = true, members{"include_usage": true}
		}
	}
	for from, to := range map[string]string{"max_completion_tokens": q.bound, "seed": q.seed} {
		if value := want[from]; value != nil && to != "" {
			delete(want, from)
			want[to] = value
		}
	}
	if want["tool_choice"] == "required" && q.choice != "" {
		want["tool_choice"] = q.choice
	}
	if word := want["reasoning_effort"]; word != nil && q.effort != nil {
		name, value := q.effort(word)
		delete(want, "reasoning_effort")
		want[name] = value
	}
	if !q.keepsDeveloper && style == llm.Chat {
		want["messages"] = []any{members{"role": "system", "content": "d"}, members{"role": "user", "content": "x"}}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	return want, dialect.DroppedHeader(names)
}

func TestProvidersGetRequestsThatTheyTake(t *testing.T) {
	t.Parallel()
	b := setupQuirks(t)
	if tested := slices.Sorted(maps.Keys(quirkRows)); !slices.Equal(tested, b.names) {
		t.Fatalf("the table has %q and the test %q", b.names, tested)
	}
	for _, style := range llm.Styles() {
		for _, stream := range []bool{false, true} {
			plain, listed, _ := b.call(style, "test/plain", fullRequests[style], stream)
			for name, row := range quirkRows {
				want, wantListed := row.expected(style, plain, listed)
				got, dropped, answer := b.call(style, "test/"+name, fullRequests[style], stream)
				if !reflect.DeepEqual(got, want) || dropped != wantListed {
					t.Errorf("%s, %s, stream %t\n got %v\nwant %v\ndropped %q\n   want %q", name, style, stream, got, want, dropped, wantListed)
				}
				if refusesStop := plain["stop"] != nil && got["stop"] == nil; refusesStop && style != llm.Chat && strings.Contains(answer, "after") {
					t.Errorf("%s, %s, stream %t: the answer goes on behind the stop sequence: %s", name, style, stream, answer)
				}
			}
		}
	}
}

func TestTheStreamOfAProviderThatRefusesUnknownMembersIsCharged(t *testing.T) {
	t.Parallel()
	b := setupQuirks(t)
	if _, _, err := b.generate(b.bench.call("test/unnamed", "x", withUsage)); err == nil {
		t.Error("the provider takes stream_options")
	}
	b.provider.take()
	r, s, err := b.generate(b.bench.call("test/mistral", "x", withUsage))
	must(t, err)
	a := readStream(t, s.text())
	if a.text != strictAnswer || a.finish != "stop" || !a.done || a.usage == nil || a.usage.Prompt != 5 || a.usage.Completion != 2 {
		t.Errorf("the client got %s", s.text())
	}
	if r.Usage[meter.InputTokens] != 5 || r.Usage[meter.OutputTokens] != 2 || s.header.Get("X-Gateway-Dropped") != "" {
		t.Errorf("the usage is %+v, dropped %q", r.Usage, s.header.Get("X-Gateway-Dropped"))
	}
	if sent := b.provider.take(); len(sent) != 1 || sent[0]["stream_options"] != nil {
		t.Errorf("the provider got %v", sent)
	}
}

// TestTheAddedBoundHasTheNameThatTheProviderKnows makes a call with too little credit for the whole output of the model, so that the gateway
// adds a bound.
func TestTheAddedBoundHasTheNameThatTheProviderKnows(t *testing.T) {
	t.Parallel()
	b := setupQuirks(t)
	b.open(app.Dollar / 2)
	for name, row := range quirkRows {
		sent, _, _ := b.call(llm.Chat, "test/"+name, `{"messages":[{"role":"user","content":"x"}]}`, false)
		bound := row.bound
		if bound == "" {
			bound = "max_tokens"
		}
		var have []string
		for _, name := range []string{"max_tokens", "max_completion_tokens"} {
			if sent[name] != nil {
				have = append(have, name)
			}
		}
		if !slices.Equal(have, []string{bound}) {
			t.Errorf("%s got %v, want %s", name, sent, bound)
		}
	}
}

// TestAModelThatAlwaysReasonsDropsWithoutAnEffort compares models that can be asked not to reason with models that cannot.
func TestAModelThatAlwaysReasonsDropsWithoutAnEffort(t *testing.T) {
	t.Parallel()
	b := setupQuirks(t)
	const request = `{"messages":[{"role":"user","content":"x"}],"stop":["###"],"temperature":0.5}`
	for model, want := range map[string]string{
		"test/xai": "", "test/xai-reasons": "stop", "test/openai": "", "test/openai-reasons": "temperature", "test/plain-reasons": "",
	} {
		sent, dropped, _ := b.call(llm.Chat, model, request, false)
		if dropped != want || (sent["stop"] == nil) != (want == "stop") || (sent["temperature"] == nil) != (want == "temperature") {
			t.Errorf("%s got %v, dropped %q", model, sent, dropped)
		}
	}
}
