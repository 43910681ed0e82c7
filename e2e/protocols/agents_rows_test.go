package protocols

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"umg/e2e/harness"
)

const (
	agentWeather = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}`
	agentSearch  = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"q":{"type":"string"}},"additionalProperties":false}`
	agentPatch   = `{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}`
	dotPNG       = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)

var agents = []agent{
	{
		name: "a coding agent of the messages style", style: "messages",
		headers: []string{"anthropic-version", "2023-06-01", "anthropic-beta", "interleaved-thinking-2025-05-14,context-management-2025-06-27"},
		request: `{"model":"MODEL","max_tokens":32000,"stream":true,"system":[{"type":"text","text":"x-billing: 1"},` +
			`{"type":"text","text":"You write code. MARK","cache_control":{"type":"ephemeral","ttl":"1h"}}],` +
			`"tools":[{"name":"get_weather","description":"Weather.","input_schema":` + agentWeather + `,"eager_input_streaming":true},` +
			`{"name":"docs__search","input_schema":` + agentSearch + `,"defer_loading":true},` +
			`{"name":"patch","input_schema":` + agentPatch + `,"cache_control":{"type":"ephemeral"}}],` +
			`"tool_choice":{"type":"auto"},"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},` +
			`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},` +
			`"metadata":{"user_id":"{\"device_id\":\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\",\"session_id\":\"s\"}"},"messages":[HISTORY]}`,
		begin: `{"role":"user","content":[{"type":"text","text":"<system-reminder>Be kind.</system-reminder>\n"},` +
			`{"type":"text","text":"PROMPT","cache_control":{"type":"ephemeral"}}]}`,
		say:  `{"role":"user","content":[{"type":"text","text":"PROMPT"}]}`,
		keep: keepMessages,
		give: func(calls []called, said []string) string {
			return fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":[{"type":"text","text":%q},`+
				`{"type":"image","source":{"type":"base64","media_type":"image/png","data":%q}}]},`+
				`{"type":"tool_result","tool_use_id":%q,"is_error":true,"content":%q},{"type":"tool_result","tool_use_id":%q,"content":%q,`+
				`"cache_control":{"type":"ephemeral"}},{"type":"text","text":"<system-reminder>Go on.</system-reminder>"}]}`,
				calls[0].id, said[0], dotPNG, calls[1].id, said[1], calls[2].id, said[2])
		},
	},
	{
		name: "a coding agent of the responses style", style: "responses",
		request: `{"model":"MODEL","instructions":"You write code. MARK","stream":true,"store":false,"parallel_tool_calls":true,"tool_choice":"auto",` +
			`"reasoning":{"effort":"medium","summary":"auto"},"include":["reasoning.encrypted_content"],"prompt_cache_key":"0199","text":{"verbosity":"low"},` +
			`"client_metadata":{"id":"u"},"tools":[{"type":"function","name":"get_weather","description":"Weather.","strict":false,"parameters":` + agentWeather + `},` +
			`{"type":"namespace","name":"docs","description":"Documents.","tools":[{"type":"function","name":"search","strict":false,"parameters":` + agentSearch + `}]},` +
			`{"type":"custom","name":"patch","description":"Edits.","format":{"type":"grammar","syntax":"lark","definition":"start: /.+/"}},` +
			`{"type":"local_shell"},{"type":"web_search"}],"input":[HISTORY]}`,
		begin: `{"type":"message","role":"developer","content":[{"type":"input_text","text":"<permissions>"}]},` +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n"}]},` +
			`{"type":"message","role":"user","content":[{"type":"input_text","text":"PROMPT"}]}`,
		say:  `{"type":"message","role":"user","content":[{"type":"input_text","text":"PROMPT"}]}`,
		keep: keepResponses,
		give: func(calls []called, said []string) string {
			var all []string
			for i, c := range calls {
				output := fmt.Sprintf("%q", said[i])
				if i == 0 {
					output = `[{"type":"input_text","text":` + output + `},{"type":"input_image","image_url":"data:image/png;base64,` + dotPNG + `"}]`
				}
				all = append(all, fmt.Sprintf(`{"type":%q,"call_id":%q,"output":%s}`, c.kind+"_output", c.id, output))
			}
			// Instructions may come between results here.
			note := `{"type":"message","role":"developer","content":[{"type":"input_text","text":"<turn_aborted>"}]}`
			return strings.Join([]string{all[0], note, all[2], all[1]}, ",")
		},
	},
	{
		name: "a coding agent of the native style", style: "native",
		request: `{"model":"MODEL","stream":true,"systemInstruction":{"role":"user","parts":[{"text":"You write code. MARK"}]},"contents":[HISTORY],` +
			`"tools":[{"functionDeclarations":[{"name":"get_weather","description":"Weather.","parameters":{"type":"OBJECT","properties":{"city":{"type":"STRING","nullable":true}}}},` +
			`{"name":"docs__search","parametersJsonSchema":` + agentSearch + `},{"name":"patch","parametersJsonSchema":` + agentPatch + `}]}],` +
			`"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},"generationConfig":{"temperature":0,"topP":0.95,"topK":64,` +
			`"thinkingConfig":{"includeThoughts":true,"thinkingBudget":8192}},"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"OFF"}]}`,
		begin: `{"role":"user","parts":[{"text":"This is the project."}]},{"role":"model","parts":[{"text":"Got it."}]},{"role":"user","parts":[{"text":"PROMPT"}]}`,
		say:   `{"role":"user","parts":[{"text":"PROMPT"}]}`,
		keep:  keepNative,
		give: func(calls []called, said []string) string {
			var all []string
			for i, c := range calls {
				all = append(all, fmt.Sprintf(`{"functionResponse":{"name":%q,"response":{%q:%q}}}`, c.name, []string{"output", "error", "output"}[i], said[i]))
			}
			return `{"role":"user","parts":[` + strings.Join(all, ",") + `,{"inlineData":{"mimeType":"image/png","data":"` + dotPNG + `"}}]}`
		},
	},
	chatAgent("a library that gives the whole message back", keepChat),
	chatAgent("a library that gives back content and calls only", keepBareChat),
}

func chatAgent(name string, keep func(*testing.T, string) (string, []called, string)) agent {
	return agent{
		name: name, style: "chat",
		request: `{"model":"MODEL","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":4000,"temperature":0,"reasoning_effort":"low",` +
			`"parallel_tool_calls":true,"tool_choice":"auto","user":"u","stop":null,"n":1,"tools":[{"type":"function","function":{"name":"get_weather","description":"Weather.","parameters":` +
			agentWeather + `}},{"type":"function","function":{"name":"docs__search","parameters":` + agentSearch + `,"strict":false}},` +
			`{"type":"function","function":{"name":"patch","parameters":` + agentPatch + `}}],` +
			`"messages":[{"role":"developer","content":"You write code. MARK"},{"role":"system","content":[{"type":"text","text":"Be kind."}]},HISTORY]}`,
		begin: `{"role":"user","name":"ann","content":"PROMPT"}`,
		say:   `{"role":"user","content":[{"type":"text","text":"PROMPT"}]}`,
		keep:  keep,
		give: func(calls []called, said []string) string {
			var all []string
			// Agents send results in the order in which the tools ended, so the test mixes the order.
			for _, i := range []int{2, 0, 1} {
				all = append(all, fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"name":%q,"content":%q}`, calls[i].id, calls[i].name, said[i]))
			}
			return strings.Join(all, ",")
		},
	}
}

// oddHistories are conversations of the chat style as clients really send them. Every upstream must answer them.
func oddHistories(t *testing.T, m *matrix) {
	const call = `{"id":"call_0","type":"function","function":{"name":"get_weather","arguments":"{}"}}`
	const odd = `{"id":"functions.get_time:0","type":"function","function":{"name":"get_time","arguments":""}}`
	picture := `{"type":"image_url","image_url":{"url":"` + m.SimulatorURL + `/files/dot.png"}}`
	for name, history := range map[string]string{
		"one picture again and again":        `{"role":"user","content":[` + picture + strings.Repeat(","+picture, 24) + `]}`,
		"blank content beside calls":         `{"role":"assistant","content":"\n\n","tool_calls":[` + call + `]},{"role":"tool","tool_call_id":"call_0","content":""}`,
		"a message of nothing but blanks":    `{"role":"assistant","content":" \n"}`,
		"no content at all":                  `{"role":"assistant","tool_calls":[` + call + `]},{"role":"tool","tool_call_id":"call_0","content":[{"type":"text","text":"x"}]}`,
		"ids that repeat":                    `{"role":"assistant","content":null,"tool_calls":[` + call + `]},{"role":"tool","tool_call_id":"call_0","content":"a"},{"role":"assistant","content":null,"tool_calls":[` + call + `]},{"role":"tool","tool_call_id":"call_0","content":"b"}`,
		"ids of one answer that are alike":   `{"role":"assistant","content":null,"tool_calls":[` + call + `,` + call + `]},{"role":"tool","tool_call_id":"call_0","content":"a"},{"role":"tool","tool_call_id":"call_0","content":"b"}`,
		"ids that others refuse":             `{"role":"assistant","content":"","tool_calls":[` + call + `,` + odd + `]},{"role":"tool","tool_call_id":"functions.get_time:0","content":"a"},{"role":"tool","tool_call_id":"call_0","content":"b"}`,
		"instructions in the middle":         `{"role":"assistant","content":"Hi."},{"role":"system","content":"Be brief."}`,
		"the model twice":                    `{"role":"assistant","content":"One."},{"role":"assistant","content":"Two.","tool_calls":[` + call + `]},{"role":"tool","tool_call_id":"call_0","content":"a"},{"role":"assistant","content":"Three."}`,
		"calls of the former kind":           `{"role":"assistant","content":null,"function_call":{"name":"get_weather","arguments":"{}"}},{"role":"function","name":"get_weather","content":"a"}`,
		"unsigned thoughts":                  `{"role":"assistant","content":"Hi.","reasoning_content":"Hm."}`,
		"a refusal, and members of answers":  `{"role":"assistant","content":null,"refusal":"No.","annotations":[],"audio":null,"function_call":null,"tool_calls":null}`,
		"names that some do not have":        `{"role":"assistant","name":"bot","content":"Hi."},{"role":"user","name":"bob","content":"x"}`,
		"an image among texts":               `{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"` + dataImage + `","detail":"high"}},{"type":"text","text":"b"}]}`,
		"a call of a tool that is not there": `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"gone","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c","content":"a"}`,
	} {
		for _, up := range styleNames {
			if up == "chat" && (strings.HasPrefix(name, "ids of one") || name == "no content at all") {
				// The gateway passes a body of the same style through unread, so only the provider can refuse it.
				continue
			}
			mark := m.marked()
			body := `{"model":"agents/` + up + `","messages":[{"role":"system","content":"` + mark + `"},{"role":"user","content":"Hello"},` + history +
				`,{"role":"assistant","content":"Fine."},{"role":"user","content":"echo: so be it"}]}`
			got := m.Call(t, "POST", "/v1/chat/completions", body, "X-Error-Status", "standard")
			a := harness.DecodeJSON[struct {
				Choices []struct {
					Message struct {
						Content string `json:"content"`
					} `json:"message"`
				} `json:"choices"`
			}](t, got.Body)
			if got.Status != 200 || len(a.Choices) != 1 || a.Choices[0].Message.Content != "so be it" {
				t.Errorf("%s, to %s: %d %s", name, up, got.Status, got.Body)
			}
		}
	}
}

// compactOf is a value as JSON whose raw parts stay as they are.
func compactOf(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
