package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"umg/e2e/harness"
)

const (
	nativeTools  = `"tools":[{"functionDeclarations":[{"name":"look_up","parameters":{"type":"OBJECT","properties":{}}}]}]`
	safetyValues = `[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_ONLY_HIGH"}]`
)

var nativeLines = []checkLine{
	{"E106 POST vendorc native exists", exists("native")},
	{"E107 the content type must be application json", onlyJSON("native")},
	{"E108 model in the body is a required string, and six are served on this route", func(t *testing.T, k *checklist) {
		namesModel("native")(t, k)
		identifiers("native", 6)(t, k)
	}},
	{"E109 contents is a required array of role and parts", nativeContents},
	{"E110 system_instruction is an optional object in snake case", func(t *testing.T, k *checklist) {
		for _, name := range []string{"system_instruction", "systemInstruction"} {
			member{
				style: "native", param: name, form: `"` + name + `":%s`,
				takes: []string{`{"parts":[{"text":"be brief"}]}`, `{"role":"user","parts":[{"text":"be brief"}]}`}, wrong: []string{`"x"`, `7`, `[]`},
				carried: map[string]string{"chat": `"content":"be brief"}`, "messages": `"system":[{"type":"text","text":"be brief"}]`, "responses": `"instructions":"be brief"`},
			}.holds(t, k)
		}
		nativeWrong(t, k, "system_instruction.parts[0].text", `"system_instruction":{"parts":[{"text":7}]}`)
	}},
	{"E111 generationConfig is an optional object", generationConfig},
	{"E112 safetySettings is an optional array", func(t *testing.T, k *checklist) {
		member{
			style: "native", param: "safetySettings", form: `"safetySettings":%s`, takes: []string{safetyValues, `[]`}, wrong: []string{`"x"`, `{}`, `7`},
		}.holds(t, k)
		nativeWrong(t, k, "safetySettings[0].threshold", `"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"NEVER"}]`)
		nativeWrong(t, k, "safety_settings[0].category", `"safety_settings":[{"category":"HARASSMENT","threshold":"OFF"}]`)
	}},
	{"E113 tools is an optional array", nativeToolsLine},
	{"E114 stream is an optional boolean in the body", streamFlag("native")},
	{"E115 the answer has candidates with content and finishReason", each("native", func(t *testing.T, o map[string]any) {
		candidates, _ := o["candidates"].([]any)
		if len(candidates) != 1 || harness.TextMember(candidates[0], "content", "role") != "model" || harness.TextMember(candidates[0], "content", "parts", 0, "text") != "one answer" ||
			harness.TextMember(candidates[0], "finishReason") != "STOP" {
			t.Errorf("the candidates are %v", o["candidates"])
		}
	})},
	{"E116 the answer's usageMetadata has three counts", each("native", func(t *testing.T, o map[string]any) {
		usage, _ := o["usageMetadata"].(map[string]any)
		input, output := harness.IntMember(t, usage, "promptTokenCount"), harness.IntMember(t, usage, "candidatesTokenCount")
		if total := harness.IntMember(t, usage, "totalTokenCount"); input < 3 || output != 2 || total != input+output {
			t.Errorf("usageMetadata is %v", usage)
		}
	})},
	{"E117 the answer has a modelVersion", func(t *testing.T, k *checklist) {
		for _, id := range k.speaks {
			if s, _ := harness.Styles["native"].Complete(t, k.Customer, harness.Styles["native"].Request(id, "echo: x")); s.Model != id || lastModel(t, k.Customer) != id {
				t.Errorf("the answer names %s, the ledger %s, not %s", s.Model, lastModel(t, k.Customer), id)
			}
		}
	}},
	{"E118 the stream follows the native format", func(t *testing.T, k *checklist) {
		p := harness.Styles["native"]
		for upstream, id := range k.speaks {
			_, all := p.Stream(t, k.Customer, p.Request(id, "count to 20", `"stream":true`))
			for _, f := range all {
				o := harness.DecodeObject(t, f.Data)
				harness.OnlyMembers(t, o, "candidates", "usageMetadata", "modelVersion", "responseId", "promptFeedback", "createTime")
				if harness.TextMember(o, "modelVersion") != id || harness.TextMember(o, "responseId") == "" || harness.TextMember(o, "responseId") != harness.TextMember(harness.DecodeObject(t, all[0].Data), "responseId") {
					t.Errorf("from %s a frame is %s", upstream, f.Data)
				}
			}
			if s := harness.NativeAnswer(t, harness.DecodeObject(t, all[len(all)-1].Data)); s.Output != 20 || s.Input < 3 || len(all) < 5 {
				t.Errorf("from %s the last frame is %v", upstream, all[len(all)-1])
			}
		}
	}},
}

// nativeWrong refuses a member by the name that the client wrote.
func nativeWrong(t *testing.T, k *checklist, param string, members ...string) {
	t.Helper()
	p := harness.Styles["native"]
	p.CheckError(t, p.Send(t, k.Customer, p.Request(p.Model, "x", members...)), "invalid", "", param)
}

func nativeContents(t *testing.T, k *checklist) {
	p := harness.Styles["native"]
	for _, contents := range []string{
		`[{"role":"user","parts":[{"text":"echo: x"}]}]`,
		`[{"parts":[{"text":"echo: x"}]}]`,
		`[{"role":"user","parts":[{"text":"echo: "},{"text":"x"}]}]`,
		`[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":"hello"}]},{"role":"user","parts":[{"text":"echo: x"}]}]`,
	} {
		for _, id := range []string{p.Model, k.speaks["chat"], k.speaks["messages"], k.speaks["responses"]} {
			if s, a := p.Complete(t, k.Customer, p.RequestWith(id, `"contents":`+contents)); strings.TrimSpace(s.Text) != "x" {
				t.Errorf("%s: %s is answered with %s", id, contents, a.Body)
			}
		}
	}
	nativeBody := func(param, contents string) {
		t.Helper()
		p.CheckError(t, p.Send(t, k.Customer, p.RequestWith(p.Model, contents)), "invalid", "", param)
	}
	nativeBody("contents", `"generationConfig":{}`)
	for contents, param := range map[string]string{
		`"x"`: "contents", `{}`: "contents", `null`: "contents", `[]`: "contents", `7`: "contents", `["x"]`: "contents[0]",
		`[{"role":"robot","parts":[{"text":"x"}]}]`: "contents[0].role", `[{"role":7,"parts":[{"text":"x"}]}]`: "contents[0].role",
		`[{"role":"user"}]`: "contents[0].parts", `[{"role":"user","parts":"x"}]`: "contents[0].parts", `[{"role":"user","parts":[]}]`: "contents[0].parts",
		`[{"parts":[{"text":"x"}]},{"parts":[{"text":7}]}]`: "contents[1].parts[0].text",
		`[{"parts":["x"]}]`: "contents[0].parts[0]",
	} {
		nativeBody(param, `"contents":`+contents)
	}
}

func generationConfig(t *testing.T, k *checklist) {
	for _, one := range []struct {
		camel, snake string
		takes, wrong []string
		carried      map[string]string
	}{
		{
			"temperature", "temperature", []string{`0.25`, `2`}, []string{`"hot"`, `2.5`, `-1`},
			map[string]string{"chat": `"temperature":0.25`, "messages": `"temperature":0.25`, "responses": `"temperature":0.25`},
		},
		{"topP", "top_p", []string{`0.5`}, []string{`"x"`, `1.5`}, map[string]string{"chat": `"top_p":0.5`, "messages": `"top_p":0.5`, "responses": `"top_p":0.5`}},
		{
			"maxOutputTokens", "max_output_tokens", []string{`64`}, []string{`"x"`, `0`, `1.5`, `65537`},
			map[string]string{"chat": `_tokens":64`, "messages": `"max_tokens":64`, "responses": `"max_output_tokens":64`},
		},
		{"stopSequences", "stop_sequences", []string{`["END"]`}, []string{`"x"`, `7`}, map[string]string{"chat": `"stop":["END"]`, "messages": `"stop_sequences":["END"]`}},
		{"seed", "seed", []string{`7`}, []string{`"x"`, `1.5`, `2147483648`}, map[string]string{"chat": `"seed":7`}},
	} {
		member{
			style: "native", param: "generationConfig." + one.camel, form: `"generationConfig":{"` + one.camel + `":%s}`,
			takes: one.takes, wrong: one.wrong, carried: one.carried,
		}.holds(t, k)
		member{
			style: "native", param: "generation_config." + one.snake, form: `"generation_config":{"` + one.snake + `":%s}`,
			takes: one.takes[:1], wrong: one.wrong,
		}.holds(t, k)
	}
	member{style: "native", param: "generationConfig", form: `"generationConfig":%s`, takes: []string{`{}`}, wrong: []string{`"x"`, `7`, `[]`}}.holds(t, k)
	nativeWrong(t, k, "generation_config", `"generationConfig":{}`, `"generation_config":{}`)
	nativeWrong(t, k, "generationConfig.top_p", `"generationConfig":{"topP":0.5,"top_p":0.5}`)
}

func nativeToolsLine(t *testing.T, k *checklist) {
	p := harness.Styles["native"]
	member{
		style: "native", param: "tools", form: `"tools":%s`,
		takes: []string{
			`[{"functionDeclarations":[{"name":"look_up","parameters":{"type":"OBJECT","properties":{}}}]}]`,
			`[{"function_declarations":[{"name":"look_up","parametersJsonSchema":{"type":"object","properties":{}}}]}]`, `[]`,
		},
		wrong: []string{`"x"`, `{}`, `7`},
		carried: map[string]string{
			"chat": `"function":{"name":"look_up"`, "messages": `{"name":"look_up"`, "responses": `{"type":"function","name":"look_up"`,
		},
	}.holds(t, k)
	nativeWrong(t, k, "tools[0].function_declarations[0].name", `"tools":[{"function_declarations":[{"name":"no spaces here"}]}]`)
	callsTool(t, k, "native", nativeTools, `"toolConfig":{"functionCallingConfig":%s}`,
		[]string{`{"mode":"ANY"}`, `{"mode":"ANY","allowedFunctionNames":["look_up"]}`}, `"functionCall":`, `"name":"look_up"`, `"finishReason":"STOP"`)
	callsTool(t, k, "native", nativeTools, `"tool_config":{"function_calling_config":%s}`, []string{`{"mode":"ANY","allowed_function_names":["look_up"]}`},
		`"functionCall":`)
	for _, mode := range []string{"AUTO", "NONE"} {
		for _, id := range k.speaks {
			body := p.Request(id, "echo: x", nativeTools, fmt.Sprintf(`"toolConfig":{"functionCallingConfig":{"mode":%q}}`, mode))
			if s, a := p.Complete(t, k.Customer, body); s.Text != "x" {
				t.Errorf("%s: %s is answered with %s", id, mode, a.Body)
			}
		}
	}
	nativeWrong(t, k, "toolConfig.functionCallingConfig.mode", nativeTools, `"toolConfig":{"functionCallingConfig":{"mode":"SOMETIMES"}}`)
	a := p.Send(t, k.Customer, p.Request(p.Model, "what is the weather?", nativeTools, `"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`, `"stream":true`))
	if all := p.Frames(t, a.Body); a.Status != http.StatusOK || strings.Count(a.Body, `"functionCall"`) != 1 || len(all) < 2 {
		t.Errorf("a call does not come whole: %d %s", a.Status, a.Body)
	}
}
