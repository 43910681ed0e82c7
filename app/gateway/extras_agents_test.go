package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"umg/app"
	"umg/app/gateway"
	"umg/app/llm"
)

// agentRequests are what coding agents send with every call, among it extras that they cannot be told to leave out.
var agentRequests = []struct {
	name    string
	style   llm.Style
	headers http.Header
	body    string
	sent    string // Sent is the body at a provider of the same style, without the model and the stream.
	dropped string
}{
	{
		name: "of the messages style", style: llm.Messages,
		headers: http.Header{"Vendorb-Version": {"2023-06-01"}, "Vendorb-Beta": {"claude-code-20250219,context-1m-2025-08-07,interleaved-thinking-2025-05-14"}},
		body: `{"model":"MODEL","max_tokens":3000,"stream":STREAM,"system":[{"type":"text","text":"You write code.","cache_control":{"type":"ephemeral","ttl":"1h"}}],` +
			`"tools":[{"name":"Bash","input_schema":{"type":"object","properties":{"command":{"type":"string"}}},"eager_input_streaming":true},` +
			`{"type":"web_search_20250305","name":"web_search","max_uses":8},{"name":"Read","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral","ttl":"1h"}}],` +
			`"tool_choice":{"type":"auto"},"thinking":{"type":"adaptive"},"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},` +
			`"messages":[{"role":"user","content":[{"type":"text","text":"count to 3","cache_control":{"type":"ephemeral"}}]}],"service_tier":"auto"}`,
		sent: `"max_tokens":3000,"stream":STREAM,"system":[{"type":"text","text":"You write code.","cache_control":{"type":"ephemeral"}}],` +
			`"tools":[{"name":"Bash","input_schema":{"type":"object","properties":{"command":{"type":"string"}}},"eager_input_streaming":true},` +
			`{"name":"Read","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],` +
			`"tool_choice":{"type":"auto"},"thinking":{"type":"adaptive"},"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},` +
			`"messages":[{"role":"user","content":[{"type":"text","text":"count to 3","cache_control":{"type":"ephemeral"}}]}]}`,
		dropped: "cache_control.ttl,service_tier,tools[1] (web_search_20250305),vendorb-beta (context-1m-2025-08-07)",
	},
	{
		name: "of the responses style", style: llm.Responses,
		body: `{"model":"MODEL","instructions":"You write code.","stream":STREAM,"store":false,"parallel_tool_calls":true,"tool_choice":"auto",` +
			`"reasoning":{"effort":"medium","summary":"auto"},"include":["reasoning.encrypted_content"],"prompt_cache_key":"0199","service_tier":"priority",` +
			`"tools":[{"type":"function","name":"shell","strict":false,"parameters":{"type":"object"}},{"type":"local_shell"},` +
			`{"type":"web_search","external_web_access":false},{"type":"image_generation","output_format":"png"}],` +
			`"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"count to 3"}]}]}`,
		sent: `"instructions":"You write code.","stream":STREAM,"store":false,"parallel_tool_calls":true,"tool_choice":"auto",` +
			`"reasoning":{"effort":"medium","summary":"auto"},"include":["reasoning.encrypted_content"],"prompt_cache_key":"0199",` +
			`"tools":[{"type":"function","name":"shell","strict":false,"parameters":{"type":"object"}},{"type":"local_shell"}],` +
			`"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"count to 3"}]}]}`,
		dropped: "service_tier,tools[2] (web_search),tools[3] (image_generation)",
	},
	{
		name: "of the chat style", style: llm.Chat,
		body: `{"model":"MODEL","stream":STREAM,"stream_options":OPTIONS,"temperature":0,"store":true,"provider":{"sort":"throughput"},"tools":[{"type":"function",` +
			`"function":{"name":"read_file","parameters":{"type":"object"}}},{"type":"openrouter:web_search"}],"tool_choice":"auto",` +
			`"messages":[{"role":"system","content":[{"type":"text","text":"You write code.","cache_control":{"type":"ephemeral"}}]},{"role":"user","content":"count to 3"}]}`,
		sent: `"stream":STREAM,"stream_options":OPTIONS,"temperature":0,"store":false,"tools":[{"type":"function",` +
			`"function":{"name":"read_file","parameters":{"type":"object"}}}],"tool_choice":"auto",` +
			`"messages":[{"role":"system","content":[{"type":"text","text":"You write code.","cache_control":{"type":"ephemeral"}}]},{"role":"user","content":"count to 3"}]}`,
		dropped: "provider,store,tools[1] (openrouter:web_search)",
	},
	{
		name: "of the native style", style: llm.Native,
		body: `{"model":"MODEL","stream":STREAM,"systemInstruction":{"role":"user","parts":[{"text":"You write code."}]},"contents":[{"role":"user","parts":[{"text":"count to 3"}]}],` +
			`"tools":[{"functionDeclarations":[{"name":"read_file","parametersJsonSchema":{"type":"object"}}]},{"googleSearch":{}},{"urlContext":{}}],` +
			`"generationConfig":{"temperature":0}}`,
		sent: `"systemInstruction":{"role":"user","parts":[{"text":"You write code."}]},"contents":[{"role":"user","parts":[{"text":"count to 3"}]}],` +
			`"tools":[{"functionDeclarations":[{"name":"read_file","parametersJsonSchema":{"type":"object"}}]}],` +
			`"generationConfig":{"temperature":0}}`,
		dropped: "tools[1].googleSearch,tools[2].urlContext",
	},
}

func TestAgentsThatAlwaysSendExtrasKeepWorking(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	u := &tape{next: b.sim}
	b.answerWith(u)
	for _, a := range agentRequests {
		for _, upstream := range llm.Styles() {
			for _, stream := range []string{"false", "true"} {
				options := "null"
				if stream == "true" {
					options = `{"include_usage":true}`
				}
				model := "test/generous-" + string(upstream)
				fill := strings.NewReplacer("MODEL", model, "STREAM", stream, "OPTIONS", options).Replace
				r, s, err := b.generate(gateway.Call{
					ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account, KeyID: "key_1"}, Style: a.style, Headers: a.headers, Body: []byte(fill(a.body)),
				})
				sent := u.played()
				if err != nil || r.Cost == 0 || len(sent) != 1 {
					t.Errorf("%s to %s, stream %s: %v, report %+v", a.name, upstream, stream, err, r)
					continue
				}
				bare(t, upstream, sent[0])
				dropped := s.header.Get("X-Gateway-Dropped")
				if upstream != a.style {
					for name := range strings.SplitSeq(a.dropped, ",") {
						if !strings.HasPrefix(name, "vendorb-beta") && !strings.Contains(","+dropped+",", ","+name+",") {
							t.Errorf("%s to %s, stream %s: listed as dropped: %q, want also %q", a.name, upstream, stream, dropped, name)
						}
					}
					continue
				}
				if dropped != a.dropped || !strings.HasSuffix(sent[0], fill(a.sent)) {
					t.Errorf("%s, stream %s: listed as dropped: %q\nthe upstream got %s\nwant %s", a.name, stream, dropped, sent[0], fill(a.sent))
				}
			}
		}
	}
}

// TestNoAnswerIsStoredAtAProvider looks at what providers of the two styles get that can ask for it.
func TestNoAnswerIsStoredAtAProvider(t *testing.T) {
	t.Parallel()
	b := setup(t, startMoney)
	u := &tape{next: b.sim}
	b.answerWith(u)
	for _, c := range []struct {
		style         llm.Style
		members, want string
		dropped       string
	}{
		{llm.Responses, `"temperature":0`, `"store":false`, ""},
		{llm.Responses, `"store":false`, `"store":false`, ""},
		{llm.Responses, `"store":null`, `"store":false`, ""},
		{llm.Responses, `"store":true`, `"store":false`, "store"},
		{llm.Responses, `"store":true,"reasoning":{"effort":"low"}`, `"store":false,"include":["reasoning.encrypted_content"]`, "store"},
		{llm.Chat, `"store":true`, `"store":false`, "store"},
	} {
		for _, stream := range []bool{false, true} {
			_, s, err := b.generate(gateway.Call{
				ID: b.ids.New("req"), Principal: app.Principal{AccountID: b.account, KeyID: "key_1"}, Style: c.style,
				Body: extraCase{members: c.members}.body(c.style, "test/generous-"+string(c.style), stream),
			})
			must(t, err)
			sent := u.played()
			if len(sent) != 1 || !strings.Contains(sent[0], c.want) || strings.Contains(sent[0], `"store":true`) || s.header.Get("X-Gateway-Dropped") != c.dropped {
				t.Errorf("%s %s: the upstream got %s, listed as dropped: %q", c.style, c.members, sent, s.header.Get("X-Gateway-Dropped"))
			}
		}
	}
}
