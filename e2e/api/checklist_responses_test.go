package api

import (
	"strings"
	"testing"

	"umg/e2e/harness"
)

const responsesTools = `"tools":[{"type":"function","name":"look_up","parameters":{"type":"object","properties":{}},"strict":false}]`

var responsesLines = []checkLine{
	{"D87 POST v1 responses exists", exists("responses")},
	{"D88 the content type must be application json", onlyJSON("responses")},
	{"D89 model is a required string, and eleven are served on this route", func(t *testing.T, k *checklist) {
		namesModel("responses")(t, k)
		identifiers("responses", 11)(t, k)
	}},
	{"D90 input is a required string or array", responsesInput},
	{"D91 instructions is an optional string", member{
		style: "responses", param: "instructions", form: `"instructions":%s`, takes: []string{`"be brief"`, `""`}, wrong: []string{`7`, `{}`, `["x"]`},
		carried: map[string]string{
			"chat": `"content":"be brief"}`, "messages": `"system":[{"type":"text","text":"be brief"}]`, "native": `"systemInstruction":{"parts":[{"text":"be brief"}]}`,
		},
	}.holds},
	{"D92 stream is an optional boolean that gives events up to a terminal one", responsesStream},
	{"D93 temperature is an optional number", member{
		style: "responses", param: "temperature", form: `"temperature":%s`, takes: []string{`0.25`, `0`, `2`}, wrong: []string{`"hot"`, `[1]`, `2.5`, `-1`},
		carried: map[string]string{"chat": `"temperature":0.25`, "messages": `"temperature":0.25`, "native": `"temperature":0.25`},
	}.holds},
	{"D94 top_p is an optional number", member{
		style: "responses", param: "top_p", form: `"top_p":%s`, takes: []string{`0.5`, `1`}, wrong: []string{`"x"`, `true`, `1.5`, `-0.1`},
		carried: map[string]string{"chat": `"top_p":0.5`, "messages": `"top_p":0.5`, "native": `"topP":0.5`},
	}.holds},
	{"D95 max_output_tokens is an optional integer", member{
		style: "responses", param: "max_output_tokens", form: `"max_output_tokens":%s`, takes: []string{`64`, `32000`},
		wrong:   []string{`"x"`, `1.5`, `15`, `0`, `-1`, `32001`},
		carried: map[string]string{"chat": `_tokens":64`, "messages": `"max_tokens":64`, "native": `"maxOutputTokens":64`},
	}.holds},
	{"D96 tools is an optional array", func(t *testing.T, k *checklist) {
		member{
			style: "responses", param: "tools", form: `"tools":%s`,
			takes: []string{`[{"type":"function","name":"look_up","parameters":{"type":"object","properties":{}},"strict":null}]`, `[]`},
			wrong: []string{`"x"`, `{}`, `7`},
			carried: map[string]string{
				"chat": `"function":{"name":"look_up"`, "messages": `{"name":"look_up"`, "native": `"functionDeclarations":[{"name":"look_up"`,
			},
		}.holds(t, k)
		p := harness.Styles["responses"]
		p.CheckError(t, p.Send(t, k.Customer, p.Request(p.Model, "x", `"tools":["x"]`)), "invalid", p.InvalidCode(), "tools[0]")
		p.CheckError(t, p.Send(t, k.Customer, p.Request("meridian/atlas-nano", "x", responsesTools)), "invalid", p.InvalidCode(), "tools")
	}},
	{"D97 tool_choice is an optional string or object", responsesToolChoice},
	{"D98 metadata is an optional object for the caller's own tracking", member{
		style: "responses", param: "metadata", form: `"metadata":%s`, takes: []string{`{"ticket":"customer-42"}`, `{}`}, wrong: []string{`"x"`, `7`, `[]`},
		carried: map[string]string{"chat": `"metadata":{"ticket":"customer-42"}`},
	}.holds},
	{"D99 the answer has an id that is unique", func(t *testing.T, k *checklist) {
		each("responses", func(t *testing.T, o map[string]any) { isText(t, o, "id") })(t, k)
		seen := map[string]bool{}
		for _, id := range k.speaks {
			for range 2 {
				_, a := harness.Styles["responses"].Complete(t, k.Customer, harness.Styles["responses"].Request(id, "echo: x"))
				seen[harness.TextMember(harness.DecodeObject(t, a.Body), "id")] = true
			}
		}
		if len(seen) != 2*len(k.speaks) {
			t.Errorf("the ids are %v", seen)
		}
	}},
	{"D100 the answer's object is response", each("responses", func(t *testing.T, o map[string]any) { is(t, o, "object", "response") })},
	{"D101 the answer's created_at is in Unix seconds", each("responses", func(t *testing.T, o map[string]any) { isRecent(t, o, "created_at") })},
	{"D102 the answer has a status", each("responses", func(t *testing.T, o map[string]any) { is(t, o, "status", "completed") })},
	{"D103 the answer has the model that was used", func(t *testing.T, k *checklist) {
		for _, id := range k.speaks {
			if s, _ := harness.Styles["responses"].Complete(t, k.Customer, harness.Styles["responses"].Request(id, "echo: x")); s.Model != id || lastModel(t, k.Customer) != id {
				t.Errorf("the answer names %s, the ledger %s, not %s", s.Model, lastModel(t, k.Customer), id)
			}
		}
	}},
	{"D104 the answer has output items with type, role and content of output_text", each("responses", func(t *testing.T, o map[string]any) {
		items, _ := o["output"].([]any)
		if len(items) != 1 || harness.TextMember(items[0], "type") != "message" || harness.TextMember(items[0], "role") != "assistant" || harness.TextMember(items[0], "id") == "" ||
			harness.TextMember(items[0], "content", 0, "type") != "output_text" || harness.TextMember(items[0], "content", 0, "text") != "one answer" {
			t.Errorf("the output is %v", o["output"])
		}
	})},
	{"D105 the answer's usage has three counts", each("responses", func(t *testing.T, o map[string]any) {
		usage, _ := o["usage"].(map[string]any)
		input, output := harness.IntMember(t, usage, "input_tokens"), harness.IntMember(t, usage, "output_tokens")
		if total := harness.IntMember(t, usage, "total_tokens"); input < 3 || output != 2 || total != input+output {
			t.Errorf("usage is %v", usage)
		}
	})},
}

func responsesInput(t *testing.T, k *checklist) {
	p := harness.Styles["responses"]
	models := []string{p.Model, k.speaks["chat"], k.speaks["messages"], k.speaks["native"]}
	for _, input := range []string{
		`"echo: x"`,
		`[{"role":"user","content":"echo: x"}]`,
		`[{"type":"message","role":"user","content":[{"type":"input_text","text":"echo: x"}]}]`,
		`[{"role":"developer","content":"be brief"},{"role":"user","content":"echo: x"}]`,
		`[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"output_text","text":"hello","annotations":[]}]},{"role":"user","content":"echo: x"}]`,
	} {
		for _, id := range models {
			if s, a := p.Complete(t, k.Customer, p.RequestWith(id, `"input":`+input)); s.Text != "x" {
				t.Errorf("%s: %s is answered with %s", id, input, a.Body)
			}
		}
	}
	p.CheckError(t, p.Send(t, k.Customer, p.RequestWith(p.Model, `"temperature":1`)), "invalid", p.MissingCode(), "input")
	for input, param := range map[string]string{
		`7`: "input", `{}`: "input", `null`: "input", `[]`: "input", `true`: "input", `["x"]`: "input[0]",
		`[{"role":"robot","content":"x"}]`: "input[0].role", `[{"content":"x"}]`: "input[0].role",
		`[{"role":"user"}]`: "input[0].content", `[{"role":"user","content":7}]`: "input[0].content",
		`[{"role":"user","content":"x"},{"role":"user","content":[{"type":"input_text"}]}]`: "input[1].content[0].text",
		`[{"type":"function_call_output","output":"x"}]`:                                    "input[0].call_id",
	} {
		p.CheckError(t, p.Send(t, k.Customer, p.RequestWith(p.Model, `"input":`+input)), "invalid", "", param)
	}
}

func responsesStream(t *testing.T, k *checklist) {
	streamFlag("responses")(t, k)
	p := harness.Styles["responses"]
	for upstream, id := range k.speaks {
		_, all := p.Stream(t, k.Customer, p.Request(id, "count to 20", `"stream":true`))
		last := all[len(all)-1]
		if s := p.ReadAnswer(t, harness.Member(harness.DecodeObject(t, last.Data), "response").(map[string]any)); last.Name != "response.completed" || s.Output != 20 || s.Model != id {
			t.Errorf("from %s the stream ends with %v", upstream, last)
		}
		_, all = p.Stream(t, k.Customer, p.Request(id, "count to 100", `"stream":true`, p.OutputLimit(20)))
		last = all[len(all)-1]
		if why := harness.TextMember(harness.DecodeObject(t, last.Data), "response", "incomplete_details", "reason"); last.Name != "response.incomplete" || why != "max_output_tokens" {
			t.Errorf("from %s a stream that is too long ends with %v", upstream, last)
		}
	}
}

func responsesToolChoice(t *testing.T, k *checklist) {
	p := harness.Styles["responses"]
	callsTool(t, k, "responses", responsesTools, `"tool_choice":%s`, []string{`"required"`, `{"type":"function","name":"look_up"}`},
		`"type":"function_call"`, `"name":"look_up"`, `"status":"completed"`)
	for _, choice := range []string{`"auto"`, `"none"`, `null`} {
		for _, id := range []string{p.Model, k.speaks["chat"], k.speaks["messages"], k.speaks["native"]} {
			if s, a := p.Complete(t, k.Customer, p.Request(id, "echo: x", responsesTools, `"tool_choice":`+choice)); s.Text != "x" {
				t.Errorf("%s: %s is answered with %s", id, choice, a.Body)
			}
		}
	}
	for _, choice := range []string{`7`, `"sometimes"`, `[]`, `true`} {
		p.CheckError(t, p.Send(t, k.Customer, p.Request(p.Model, "x", responsesTools, `"tool_choice":`+choice)), "invalid", p.InvalidCode(), "tool_choice")
	}
	p.CheckError(t, p.Send(t, k.Customer, p.Request(p.Model, "x", responsesTools, `"tool_choice":{"type":"function"}`)), "invalid", p.MissingCode(), "tool_choice.name")
	r := p.CheckError(t, p.Send(t, k.Customer, p.Request("meridian/atlas-nano", "x", `"tool_choice":"required"`)), "invalid", p.InvalidCode(), "tool_choice")
	if !strings.Contains(r.Message, "meridian/atlas-nano") {
		t.Errorf("the message is %s", r.Message)
	}
}
