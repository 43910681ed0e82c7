package quirk

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"umg/app/llm"
	"umg/app/provider/recordings"
)

// everyMember is a request with every member that a rule can concern.
const everyMember = `{"model":"m", "messages" : [{"role":"developer","content":"d"},{"role":"user","content":"developer"}],
"max_completion_tokens":7,"stream":true,"stream_options":{"include_usage":true},"tools":[{"type":"function","function":{"name":"f"}}],
"tool_choice":"required","frequency_penalty":1,"logit_bias":{"5":1},"logprobs":true,"metadata":{"a":"b"},"n":1,
"parallel_tool_calls":false,"prediction":{},"presence_penalty":1,"prompt_cache_key":"k","reasoning_effort":"low","safety_identifier":"s",
"seed":3,"service_tier":"auto","stop":["x"],"store":false,"temperature":0.5,"top_k":2,"top_logprobs":2,"top_p":0.5,
"usage":{"include":true},"user":"u","verbosity":"low","unknown":1e2}`

// difference is what the rules of a provider make of everyMember.
type difference struct {
	dropped, bound, seed, choice string
	noDeveloper, noStreamOptions bool
	// effort and its value take the place of reasoning_effort.
	effort, effortValue string
}

var differences = map[string]difference{
	"openai": {dropped: "logprobs temperature top_logprobs top_p", bound: boundName},
	"mistral": {dropped: "logit_bias logprobs metadata top_logprobs usage user verbosity", bound: formerBoundName, seed: "random_seed",
		choice: "any", noDeveloper: true, noStreamOptions: true},
	"azure":  {dropped: "logprobs temperature top_logprobs top_p"},
	"ollama": {dropped: "parallel_tool_calls", bound: formerBoundName, noDeveloper: true},
	"xai":    {dropped: "frequency_penalty presence_penalty stop", noDeveloper: true},
	"cerebras": {dropped: "frequency_penalty logit_bias parallel_tool_calls presence_penalty service_tier",
		noDeveloper: true},
	"deepseek":    {dropped: "seed", bound: formerBoundName, noDeveloper: true, effort: "thinking", effortValue: `{"type":"enabled"}`},
	"moonshot":    {dropped: "seed", bound: formerBoundName, noDeveloper: true, effort: "thinking", effortValue: `{"type":"enabled"}`},
	"perplexity":  {dropped: "seed stop", bound: formerBoundName, noDeveloper: true},
	"together":    {bound: formerBoundName, noDeveloper: true},
	"dashscope":   {bound: formerBoundName, noDeveloper: true, effort: "enable_thinking", effortValue: "true"},
	"openrouter":  {effort: "reasoning", effortValue: `{"effort":"low"}`},
	"groq":        {noDeveloper: true},
	"fireworks":   {noDeveloper: true},
	"huggingface": {noDeveloper: true},
	"minimax":     {noDeveloper: true},
	"vllm":        {noDeveloper: true},
	"zai":         {noDeveloper: true, effort: "thinking", effortValue: `{"type":"enabled"}`},
}

func TestEveryProviderGetsWhatItTakes(t *testing.T) {
	t.Parallel()
	var have []string
	for name := range table {
		if Of(name, llm.Chat, false) != nil {
			have = append(have, name)
		}
	}
	slices.Sort(have)
	if tested := slices.Sorted(maps.Keys(differences)); !slices.Equal(have, tested) {
		t.Fatalf("the table has %q and the test %q", have, tested)
	}
	for name, d := range differences {
		want := decode(t, []byte(everyMember))
		for member := range strings.FieldsSeq(d.dropped) {
			delete(want, member)
		}
		move(want, boundName, d.bound)
		move(want, "seed", d.seed)
		if d.effort != "" {
			delete(want, "reasoning_effort")
			want[d.effort] = json.RawMessage(d.effortValue)
		}
		if d.choice != "" {
			want["tool_choice"] = json.RawMessage(`"` + d.choice + `"`)
		}
		if d.noDeveloper {
			want["messages"] = bytes.Replace(want["messages"], []byte("developer"), []byte("system"), 1)
		}
		if d.noStreamOptions {
			delete(want, "stream_options")
		}
		rules := Of(name, llm.Chat, false)
		body, dropped := rules.Rewrite([]byte(everyMember))
		slices.Sort(dropped)
		if strings.Join(dropped, " ") != d.dropped {
			t.Errorf("%s drops %q", name, dropped)
		}
		if got := decode(t, body); !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
			t.Errorf("%s gets\n%s", name, body)
		}
		if rules.OutputBound() != d.bound || rules.SendsUsageUnasked() != d.noStreamOptions {
			t.Errorf("%s: the bound is %q, usage unasked: %t", name, rules.OutputBound(), rules.SendsUsageUnasked())
		}
		if again, more := rules.Rewrite(body); len(more) > 0 || !bytes.Equal(again, body) {
			t.Errorf("%s changes a request twice: %s", name, again)
		}
	}
}

func decode(t *testing.T, body []byte) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(body, &m); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return m
}

// move gives a member another name unless that is empty.
func move(m map[string]json.RawMessage, from, to string) {
	if value := m[from]; value != nil && to != "" {
		delete(m, from)
		m[to] = value
	}
}

func TestProvidersThatThinkInTheText(t *testing.T) {
	t.Parallel()
	var thinking []string
	for name := range table {
		if rules := Of(name, llm.Chat, false); rules != nil && rules.ThinksInText() {
			thinking = append(thinking, name)
		}
	}
	slices.Sort(thinking)
	if want := []string{"groq", "huggingface", "minimax", "perplexity"}; !slices.Equal(thinking, want) {
		t.Errorf("%q think in the text, want %q", thinking, want)
	}
}

func TestEndUserMembers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reader string
		style  llm.Style
		want   string
	}{
		{"openai", llm.Chat, "safety_identifier"}, {"openai", llm.Responses, "safety_identifier"}, {"azure", llm.Responses, "user"},
		{"anthropic", llm.Messages, "metadata.user_id"}, {"anthropic", llm.Chat, ""}, {"groq", llm.Chat, "user"}, {"openrouter", llm.Chat, "user"},
		{"mistral", llm.Chat, ""}, {"", llm.Chat, ""}, {"gemini", llm.Native, ""},
	} {
		if got := EndUserMember(c.reader, c.style); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.reader, c.style, got, c.want)
		}
	}
}

func TestOtherProvidersAndStylesHaveNoRules(t *testing.T) {
	t.Parallel()
	for _, style := range llm.Styles() {
		for _, name := range []string{"", "compatible", "anthropic", "unknown"} {
			if Of(name, style, true) != nil {
				t.Errorf("%q has rules in the style %s", name, style)
			}
		}
		if style != llm.Chat && Of("mistral", style, false) != nil {
			t.Errorf("the style %s has rules", style)
		}
	}
}

// rewriteTools are the tools of rewriteCases.
const rewriteTools = `"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"b"}}]`

// namedTool is the end of a request that names one of them.
func namedTool(name string) string {
	return `,"tool_choice":{"type":"function","function":{"name":"` + name + `"}}}`
}

// rewriteCases are requests and what their providers get.
var rewriteCases = []struct {
	provider, body, want, dropped string
	always                        bool
}{
	// Of two bounds the present name counts, as for the credit that is held. A null bound is none.
	{provider: "ollama", body: `{"max_tokens":9,"max_completion_tokens":5}`, want: `{"max_tokens":5}`},
	{provider: "ollama", body: `{"max_tokens":9,"max_completion_tokens":null}`, want: `{"max_tokens":9}`},
	{provider: "ollama", body: `{"max_tokens" : 9}`, want: `{"max_tokens" : 9}`},
	{provider: "openai", body: `{"max_tokens":9,"max_completion_tokens":5}`, want: `{"max_completion_tokens":5}`},
	{provider: "openai", body: ` { "max_tokens":9 , "x":1}`, want: `{"max_completion_tokens":9,"x":1}`},
	{provider: "openai", body: `{"max_tokens":null}`, want: `{}`},
	{provider: "xai", body: `{"max_tokens":9,"max_completion_tokens":5}`, want: `{"max_tokens":9,"max_completion_tokens":5}`},
	// A member without a value is left out and not listed.
	{provider: "mistral", body: `{"user":null,"seed":null,"logprobs":false}`, want: `{"random_seed":null}`, dropped: "logprobs"},
	{provider: "mistral", body: `{"us\u0065r":"u"}`, want: `{}`, dropped: "user"},
	// One tool by its name is the only one, and is forced.
	{provider: "mistral", body: `{` + rewriteTools + namedTool("b"), want: `{"tools":[{"type":"function","function":{"name":"b"}}],"tool_choice":"any"}`},
	{provider: "mistral", body: `{` + rewriteTools + namedTool("c"), want: `{` + rewriteTools + namedTool("c")},
	{provider: "ollama", body: `{` + rewriteTools + namedTool("b"), want: `{` + rewriteTools + namedTool("b")},
	{provider: "mistral", body: `{"tool_choice":"auto"}`, want: `{"tool_choice":"auto"}`},
	// Only roles are changed.
	{provider: "groq", body: `{"messages":[ {"content":"developer","role": "developer"} ,1,{"role":"developer"}, {"role":"user"}]}`,
		want: `{"messages":[ {"content":"developer","role": "system"} ,1,{"role":"system"}, {"role":"user"}]}`},
	{provider: "groq", body: `{"messages" : [{"role":"user","content":"developer"}] }`, want: `{"messages" : [{"role":"user","content":"developer"}] }`},
	// Whether the model reasons depends on the request, and on the model when the request does not say so.
	{provider: "xai", body: `{"stop":"x"}`, want: `{"stop":"x"}`},
	{provider: "xai", body: `{"stop":"x"}`, want: `{}`, dropped: "stop", always: true},
	{provider: "xai", body: `{"stop":"x","reasoning_effort":"none"}`, want: `{"stop":"x","reasoning_effort":"none"}`, always: true},
	{provider: "xai", body: `{"stop":"x","reasoning_effort":null}`, want: `{"stop":"x","reasoning_effort":null}`},
	{provider: "openai", body: `{"reasoning_effort":"low","top_p":1}`, want: `{"reasoning_effort":"low"}`, dropped: "top_p"},
	// An empty list of tools has no settings.
	{provider: "xai", body: `{"tools":[ ],"tool_choice":"auto","parallel_tool_calls":true,"n":1}`, want: `{"n":1}`},
	{provider: "mistral", body: `{"tools":[],"tool_choice":"required"}`, want: `{}`},
	// A last message of the assistant is the beginning of the answer.
	{provider: "mistral", body: `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b" }]}`,
		want: `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b","prefix":true}]}`},
	{provider: "moonshot", body: `{"messages":[{"role":"assistant","content":"b"}]}`, want: `{"messages":[{"role":"assistant","content":"b","partial":true}]}`},
	{provider: "mistral", body: `{"messages":[{"role":"assistant","prefix":false}]}`, want: `{"messages":[{"role":"assistant","prefix":false}]}`},
	{provider: "mistral", body: `{"messages":[{"role":"assistant","tool_calls":[{"id":"1"}]}]}`, want: `{"messages":[{"role":"assistant","tool_calls":[{"id":"1"}]}]}`},
	{provider: "mistral", body: `{"messages":[{"role":"assistant","content":"a"},{"role":"user","content":"b"}]}`,
		want: `{"messages":[{"role":"assistant","content":"a"},{"role":"user","content":"b"}]}`},
	{provider: "deepseek", body: `{"messages":[{"role":"assistant","content":"b"}]}`, want: `{"messages":[{"role":"assistant","content":"b"}]}`},
	// Some providers refuse the reasoning of earlier turns.
	{provider: "groq", body: `{"messages":[{"role":"assistant","reasoning_content":"r","content":"a"},{"role":"user","reasoning_content":"x"}]}`,
		want: `{"messages":[{"role":"assistant","content":"a"},{"role":"user","reasoning_content":"x"}]}`},
	{provider: "mistral", body: `{"messages":[{"role":"assistant","content":"a","reasoning":"r","refusal":null},{"role":"user"}]}`,
		want: `{"messages":[{"role":"assistant","content":"a"},{"role":"user"}]}`},
	{provider: "deepseek", body: `{"messages":[{"role":"assistant","reasoning_content":"r"}]}`, want: `{"messages":[{"role":"assistant","reasoning_content":"r"}]}`},
	// One message of the system is first, and the others alternate.
	{provider: "perplexity", body: `{"messages":[{"role":"user","content":"a"},{"role":"developer","content":"s1"},{"content":[{"type":"text","text":"b"}],"role":"user"},
{"role":"assistant","content":"c"},{"role":"system","content":"s\u0032"}]}`,
		want: `{"messages":[{"role":"system","content":"s1\n\ns2"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant","content":"c"}]}`},
	{provider: "perplexity", body: `{"messages": [{"role":"system","content":"s"} , {"role":"user","content":"a"}]}`,
		want: `{"messages": [{"role":"system","content":"s"} , {"role":"user","content":"a"}]}`},
	{provider: "perplexity", body: `{"messages":[{"role":"user","content":"a"},{"role":"user","name":"n","content":"b"}]}`,
		want: `{"messages":[{"role":"user","content":"a"},{"role":"user","name":"n","content":"b"}]}`},
	{provider: "groq", body: `{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`, want: `{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]}`},
	// A schema is sent as far as it is taken.
	{provider: "ollama", body: `{"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"object"}}}}`,
		want: `{"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object"}}}}`},
	{provider: "deepseek", body: `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}],"response_format":{"type":"json_schema","json_schema":{"schema":{"type" : "object"}}}}`,
		want:    `{"messages":[{"role":"system","content":"s"},{"role":"system","content":"` + schemaInstruction + `{\"type\" : \"object\"}"},{"role":"user","content":"a"}],"response_format":{"type":"json_object"}}`,
		dropped: "response_format.json_schema"},
	{provider: "deepseek", body: `{"response_format":{"type":"json_object"}}`, want: `{"response_format":{"type":"json_object"}}`},
	{provider: "openai", body: `{"response_format":{"type":"json_schema","json_schema":{"strict":true}}}`, want: `{"response_format":{"type":"json_schema","json_schema":{"strict":true}}}`},
	// Reasoning is asked for in the form of the provider, unless the client has used that.
	{provider: "deepseek", body: `{"reasoning_effort":"none"}`, want: `{"thinking":{"type":"disabled"}}`},
	{provider: "deepseek", body: `{"reasoning_effort":"high","thinking":{"type":"disabled"}}`, want: `{"thinking":{"type":"disabled"}}`},
	{provider: "openrouter", body: `{"reasoning_effort":"high"}`, want: `{"reasoning":{"effort":"high"}}`},
	{provider: "openrouter", body: `{"reasoning_effort":null}`, want: `{}`},
	{provider: "dashscope", body: `{"reasoning_effort":"none"}`, want: `{"enable_thinking":false}`},
	{provider: "fireworks", body: `{"reasoning_effort":"xhigh"}`, want: `{"reasoning_effort":"high"}`},
	{provider: "groq", body: `{"reasoning_effort":"xhigh"}`, want: `{"reasoning_effort":"xhigh"}`},
	// What is no object stays as it is.
	{provider: "mistral", body: `{"user":"u"`, want: `{"user":"u"`},
	{provider: "mistral", body: `[]`, want: `[]`},
}

func TestRewrite(t *testing.T) {
	t.Parallel()
	for _, c := range rewriteCases {
		body, dropped := Of(c.provider, llm.Chat, c.always).Rewrite([]byte(c.body))
		if string(body) != c.want || strings.Join(dropped, " ") != c.dropped {
			t.Errorf("%s: %s\n got %s, dropped %q\nwant %s", c.provider, c.body, body, dropped, c.want)
		}
	}
}

// TestLevelsThatNoProviderHasYet applies words of the table that no entry uses.
func TestLevelsThatNoProviderHasYet(t *testing.T) {
	t.Parallel()
	all, err := parse([]byte("providers:\n  mistral: {schemas: none, system: first}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`{"response_format":{"type":"json_schema"},"messages":[{"role":"user"},{"role":"system"},{"role":"user"},{"role":"system","x":1}]}`: `{"messages":[{"role":"system"},{"role":"system","x":1},{"role":"user"},{"role":"user"}]} response_format`,
		`{"response_format":{"type":"text"}}`: `{"response_format":{"type":"text"}} `,
	} {
		got, dropped := all["mistral"].usual.Rewrite([]byte(body))
		if text := string(got) + " " + strings.Join(dropped, " "); text != want {
			t.Errorf("%s\n got %s\nwant %s", body, text, want)
		}
	}
}

// TestRecordedRequestsStayWhole compares the table with requests that real providers have answered. Null is no value, and the former
// name of the bound is known to old models of OpenAI alone.
func TestRecordedRequestsStayWhole(t *testing.T) {
	t.Parallel()
	all, err := recordings.All()
	if err != nil {
		t.Fatal(err)
	}
	compared := map[string]int{}
	for _, r := range all {
		rules := Of(r.Provider, llm.Chat, false)
		if r.Wire != recordings.Chat || rules == nil || len(r.Request) == 0 || r.Status != 200 {
			continue
		}
		body, dropped := rules.Rewrite(r.Request)
		if len(dropped) > 0 {
			t.Errorf("%s: %q would be dropped", r.File, dropped)
		}
		sent, got := decode(t, r.Request), decode(t, body)
		for name, value := range sent {
			isFormerBound := r.Provider == "openai" && name == formerBoundName
			isNothing := string(value) == "null" || string(value) == "[]" || name == "tool_choice" && got["tools"] == nil
			if got[name] == nil && !isNothing && !isFormerBound {
				t.Errorf("%s: %s would be missing", r.File, name)
			}
		}
		compared[r.Provider]++
	}
	if compared["mistral"] < 3 || compared["xai"] < 2 || compared["ollama"] < 2 {
		t.Errorf("too few recordings were compared: %v", compared)
	}
}

func TestWrongTablesAreRefused(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		`nowhere: {output_bound: max_tokens}`: `no reader of usage "nowhere"`,
		`mistral:`:                            "mistral has no members",
		`mistral: {}`:                         "changes no request",
		`mistral: {developer_role: true, stream_usage: option}`:                         "changes no request",
		`mistral: {outputbound: max_tokens}`:                                            "outputbound",
		`mistral: {output_bound: max_output_tokens}`:                                    "not the name of a bound",
		`mistral: {stream_usage: never}`:                                                "not a way",
		`mistral: {drop: [messages]}`:                                                   `"messages" is not a member`,
		`mistral: {drop: [stream_options]}`:                                             `"stream_options" is not a member`,
		`mistral: {drop_when_reasoning: [temprature]}`:                                  `"temprature" is not a member`,
		`mistral: {rename: {sed: random_seed}}`:                                         `"sed" is not a member`,
		`mistral: {rename: {seed: "random seed"}}`:                                      "cannot become",
		`mistral: {rename: {seed: user}}`:                                               "cannot become",
		`mistral: {rename: {seed: random_seed}, drop: [seed]}`:                          "cannot become",
		`mistral: {tool_choice: {required: must}}`:                                      "tool_choice has no",
		`mistral: {tool_choice: {forced: any}}`:                                         "tool_choice has no",
		"mistral: {output_bound: max_tokens}\n  mistral: {output_bound: max_tokens}":    "already defined",
		`mistral: {end_user: {chat: user}, drop: [user]}`:                               `have no end user in "user"`,
		`mistral: {end_user: {native: labels}}`:                                         `have no end user in "labels"`,
		`mistral: {drop_in_messages: [content]}`:                                        `"content" is not a member of messages`,
		`mistral: {prefill: prefixed}`:                                                  `prefill cannot be "prefixed"`,
		`mistral: {system: last}`:                                                       `system cannot be "last"`,
		`mistral: {schemas: strict}`:                                                    `schemas cannot be "strict"`,
		`mistral: {reasoning: effort}`:                                                  `reasoning cannot be "effort"`,
		`mistral: {images: {chat: url}}`:                                                `images of the style "chat" cannot be "url"`,
		`mistral: {images: {native: data}}`:                                             `images of the style "native" cannot be "data"`,
		`mistral: {efforts: {xhigh: most}}`:                                             `cannot be the effort "most"`,
		`mistral: {developer_role: system}`:                                             "cannot unmarshal",
		"mistral: {output_bound: max_tokens}\nproviders2: {}":                           "providers2",
		`mistral: {output_bound: max_tokens, developer_role: false, stream_usage: now}`: "not a way",
	} {
		if _, err := parse([]byte("providers:\n  " + entry + "\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", entry, err, want)
		}
	}
}
