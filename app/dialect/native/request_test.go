package native_test

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"umg/app"
	"umg/app/dialect/native"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func decodeRequest(t testing.TB, body string) *llm.Request {
	t.Helper()
	r, err := native.Codec{}.DecodeRequest([]byte(body))
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	llmtest.ForgetPlaces(r)
	return r
}

// encodeChecked writes a request for an upstream, unless that has no place for its conversation.
func encodeChecked(r *llm.Request) ([]byte, error) {
	if err := r.Check(native.Codec{}.Traits()); err != nil {
		return nil, err
	}
	return native.Codec{}.EncodeRequest(r)
}

// equal compares two values and says where they begin to differ.
func equal(t testing.TB, got, want any) {
	t.Helper()
	if reflect.DeepEqual(got, want) {
		return
	}
	g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want)
	n := 0
	for n < min(len(g), len(w)) && g[n] == w[n] {
		n++
	}
	from := max(0, n-100)
	t.Errorf("got  …%s…\nwant …%s…", g[from:min(len(g), n+200)], w[from:min(len(w), n+200)])
}

func text(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }

func thought(s, signature string) llm.Part {
	return llm.Part{Kind: llm.Reasoning, Text: s, Signature: signature}
}

func call(id, name, args string) llm.Part {
	return llm.Part{Kind: llm.Call, Call: llm.ToolCall{ID: id, Name: name, Arguments: args}}
}

func result(id, name string, isError bool, parts ...llm.Part) llm.Part {
	return llm.Part{Kind: llm.Result, Result: llm.ToolResult{CallID: id, Name: name, Parts: parts, Error: isError}}
}

func TestARequestIsReadInBothSpellings(t *testing.T) {
	t.Parallel()
	want := &llm.Request{
		Model: "meridian/atlas", Stream: true,
		Turns: []llm.Turn{
			{Role: llm.System, Parts: []llm.Part{text("Be brief."), text("Speak Italian.")}},
			{Role: llm.User, Parts: []llm.Part{
				text("What is in the picture?"),
				{Kind: llm.Image, Media: llm.Media{Type: "image/png", Data: "aGVsbG8="}},
			}},
			{Role: llm.Assistant, Parts: []llm.Part{
				thought("I should look at the weather.", "c2ln"),
				call("call_a", "weather", `{"city":"Rome","n":12345678901234567890}`), call("call_b", "clock", "{}"),
			}},
			{Role: llm.User, Parts: []llm.Part{
				result("call_a", "weather", false, text("sunny")), result("call_b", "clock", true, text("no clock")), text("Go on."),
			}},
		},
		Tools: []llm.Tool{
			{Name: "weather", Description: "Tells the weather.", Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)},
			{Name: "clock", Parameters: []byte(`{"type":"object","properties":{}}`)},
		},
		Choice:    llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{"weather"}},
		Sampling:  llm.Sampling{Temperature: "0.5", TopP: "0.9", TopK: "40", PresencePenalty: "0.1", FrequencyPenalty: "-0.1", Seed: "7"},
		MaxOutput: 100, Stop: []string{"END"},
		Format:    llm.Format{Kind: llm.FormatSchema, Schema: []byte(`{"type":["string","null"]}`)},
		Reasoning: llm.ReasoningOptions{Budget: "1024", Show: "auto"},
		Metadata:  []llm.Pair{{Key: "team", Value: "blue"}, {Key: "a", Value: "b"}},
	}
	for _, file := range []string{"request_camel.json", "request_snake.json", "request_upstream.json"} {
		equal(t, decodeRequest(t, string(readFile(t, file))), want)
	}
	body, err := native.Codec{}.EncodeRequest(want)
	if err != nil {
		t.Fatal(err)
	}
	loadSchemas(t).fits(t, "GenerateContentRequest", body)
	same(t, body, readFile(t, "request_upstream.json"))
	if !strings.Contains(string(body), `{"city":"Rome","n":12345678901234567890}`) {
		t.Errorf("the arguments changed: %s", body)
	}
}

func TestBothSpellingsOfOneMemberAreRefused(t *testing.T) {
	t.Parallel()
	for body, field := range map[string]string{
		`{"model":"m","contents":[],"generationConfig":{},"generation_config":{}}`:                                "generationConfig",
		`{"model":"m","contents":[],"generationConfig":{"topK":1,"top_k":2}}`:                                     "generationConfig.topK",
		`{"model":"m","contents":[{"parts":[{"inlineData":{},"inline_data":{}}]}]}`:                               "contents[0].parts[0].inlineData",
		`{"model":"m","contents":[],"contents":[]}`:                                                               "contents",
		`{"contents":[],"tools":[{"functionDeclarations":[{"name":"a","name":"b"}]}]}`:                            "tools[0].functionDeclarations[0].name",
		`{"contents":[],"tools":[{"functionDeclarations":[{"name":"a","parameters":{"any_of":[],"anyOf":[]}}]}]}`: "tools[0].functionDeclarations[0].parameters",
	} {
		refuses(t, body, "invalid_request_error", field)
	}
}

func refuses(t *testing.T, body, code, field string) {
	t.Helper()
	r, err := native.Codec{}.DecodeRequest([]byte(body))
	e, ok := errors.AsType[*app.Error](err)
	if !ok {
		t.Errorf("it was read as %+v, %v: %s", r, err, body)
		return
	}
	if e.Kind != app.Invalid || e.Code != code || e.Param != field || field != "" && !strings.Contains(e.Message, field) {
		t.Errorf("%s at %q: %s\n%s", e.Code, e.Param, e.Message, body)
	}
}

func TestNamesOfTheCallersOwnAreNotRespelled(t *testing.T) {
	t.Parallel()
	r := decodeRequest(t, `{"contents":[{"role":"user","parts":[{"text":"x"}]},
		{"role":"model","parts":[{"functionCall":{"id":"1","name":"f","args":{"mime_type":"a","top_k":{"file_uri":1}}}}]},
		{"role":"user","parts":[{"functionResponse":{"id":"1","name":"f","response":{"file_data":1,"fileData":2}}}]}],
		"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":{"properties":{"top_p":{},"topP":{}}}},
		{"name":"g","parameters":{"type":"OBJECT","properties":{"min_items":{"type":"ARRAY","min_items":"1"}}}}]}],
		"labels":{"top_k":"1"}}`)
	if got := r.Turns[1].Parts[0].Call.Arguments; got != `{"mime_type":"a","top_k":{"file_uri":1}}` {
		t.Errorf("arguments %s", got)
	}
	if got := r.Turns[2].Parts[0].Result.Parts[0].Text; got != `{"file_data":1,"fileData":2}` {
		t.Errorf("result %s", got)
	}
	if got := string(r.Tools[0].Parameters); got != `{"properties":{"top_p":{},"topP":{}}}` {
		t.Errorf("schema %s", got)
	}
	if got := string(r.Tools[1].Parameters); got != `{"type":"object","properties":{"min_items":{"type":"array","minItems":1}}}` {
		t.Errorf("schema %s", got)
	}
	if r.Metadata[0].Key != "top_k" {
		t.Errorf("labels %v", r.Metadata)
	}
}

func TestContentsMayBeATextOrOneObject(t *testing.T) {
	t.Parallel()
	want := []llm.Turn{{Role: llm.User, Parts: []llm.Part{text("Hi")}}}
	for _, contents := range []string{`"Hi"`, `{"parts":[{"text":"Hi"}]}`, `["Hi"]`, `[{"role":"user","parts":[{"text":"Hi"}]}]`} {
		if got := decodeRequest(t, `{"contents":`+contents+`}`).Turns; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", contents, got)
		}
	}
	if got := decodeRequest(t, `{"contents":"Hi","system_instruction":"Be brief."}`).Turns[0]; !reflect.DeepEqual(got, llm.Turn{Role: llm.System, Parts: []llm.Part{text("Be brief.")}}) {
		t.Errorf("%+v", got)
	}
}

func TestMembersWithoutAPlaceAreListedOnce(t *testing.T) {
	t.Parallel()
	r := decodeRequest(t, `{"contents":[{"parts":[{"text":"a","videoMetadata":{}},{"text":"b","videoMetadata":{},"media_resolution":{"level":"LOW"}}]}],
		"safety_settings":[],"serviceTier":"flex","nothing":null,
		"tools":[{"googleSearch":{}},{"functionDeclarations":[{"name":"f","behavior":"BLOCKING"}],"url_context":{}}],
		"toolConfig":{"retrievalConfig":{}},"generationConfig":{"mediaResolution":"LOW","speech_config":{},"thinkingConfig":{"depth":1}}}`)
	want := []string{
		"safety_settings", "serviceTier", "videoMetadata", "media_resolution", "tools[0] (googleSearch)", "tools[1] (url_context)", "behavior",
		"toolConfig.retrievalConfig", "generationConfig.mediaResolution", "generationConfig.speech_config", "generationConfig.thinkingConfig.depth",
	}
	if !reflect.DeepEqual(r.Dropped, want) {
		t.Errorf("got  %q\nwant %q", r.Dropped, want)
	}
	if r.Reasoning != (llm.ReasoningOptions{}) || len(r.Turns) != 1 || len(r.Turns[0].Parts) != 2 {
		t.Errorf("%+v", r)
	}
}

func TestWhatChangesTheMeaningIsRefused(t *testing.T) {
	t.Parallel()
	say := func(rest string) string { return `{"contents":"Hi",` + rest + `}` }
	config := func(rest string) string { return say(`"generationConfig":{` + rest + `}`) }
	for body, field := range map[string]string{
		say(`"cachedContent":"cachedContents/1"`):                                                     "cachedContent",
		say(`"continuation_token":"x"`):                                                               "continuationToken",
		say(`"tools":[{"fileSearch":{}}]`):                                                            "tools[0].fileSearch",
		say(`"tools":[{"googleSearch":{}},{"retrieval":{}}]`):                                         "tools[1].retrieval",
		say(`"tools":[{"googleSearch":{}}],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`):    "toolConfig.functionCallingConfig.mode",
		config(`"candidateCount":2`):                                                                  "generationConfig.candidateCount",
		config(`"responseLogprobs":true`):                                                             "generationConfig.responseLogprobs",
		config(`"responseModalities":["TEXT","IMAGE"]`):                                               "generationConfig.responseModalities[1]",
		config(`"responseMimeType":"text/x.enum"`):                                                    "generationConfig.responseMimeType",
		config(`"responseMimeType":"audio/wav"`):                                                      "generationConfig.responseMimeType",
		config(`"responseFormat":[{"text":{}}]`):                                                      "generationConfig.responseFormat",
		`{"contents":[{"parts":[{"fileData":{"fileUri":"gs://a/b"}}]}]}`:                              "contents[0].parts[0].fileData",
		`{"contents":[{"role":"model","parts":[{"inlineData":{"mimeType":"image/png","data":""}}]}]}`: "contents[0].parts[0].inlineData",
	} {
		refuses(t, body, "unsupported_parameter", field)
	}
	for body, field := range map[string]string{
		`{"contents":[{"role":"system","parts":[]}]}`:                                      "contents[0].role",
		`{"contents":[{"role":"model","parts":[{"functionResponse":{"name":"f"}}]}]}`:      "contents[0].parts[0].functionResponse",
		`{"contents":[{"parts":[{"functionCall":{"name":"f"}}]}]}`:                         "contents[0].parts[0].functionCall",
		`{"contents":[{"role":"model","parts":[{"functionCall":{"args":{}}}]}]}`:           "contents[0].parts[0].functionCall.name",
		`{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f","args":1}}]}]}`: "contents[0].parts[0].functionCall.args",
		`{"contents":[{"parts":[{"text":1}]}]}`:                                            "contents[0].parts[0].text",
		say(`"systemInstruction":{"parts":[{"inlineData":{}}]}`):                           "systemInstruction.parts[0].inlineData",
		say(`"toolConfig":{"functionCallingConfig":{"mode":"any"}}`):                       "toolConfig.functionCallingConfig.mode",
		say(`"tools":[{"functionDeclarations":[{}]}]`):                                     "tools[0].functionDeclarations[0].name",
		say(`"labels":{"a":1}`):                                "labels.a",
		say(`"labels":[]`):                                     "labels",
		config(`"temperature":"warm"`):                         "generationConfig.temperature",
		config(`"maxOutputTokens":1.5`):                        "generationConfig.maxOutputTokens",
		config(`"thinkingConfig":{"thinkingLevel":"EXTREME"}`): "generationConfig.thinkingConfig.thinkingLevel",
		config(`"responseSchema":` + strings.Repeat(`{"items":`, 70) + "{}" + strings.Repeat("}", 70)): "generationConfig.responseSchema",
	} {
		refuses(t, body, "invalid_request_error", field)
	}
	for _, body := range []string{"", "{", `{"contents":"Hi"} x`, "\xff"} {
		refuses(t, body, "invalid_json", "")
	}
}

func TestCallsAndResultsWithoutIDsMatchByNameAndOrder(t *testing.T) {
	t.Parallel()
	r := decodeRequest(t, `{"contents":[{"parts":[{"text":"x"}]},
		{"role":"model","parts":[{"functionCall":{"name":"f"}},{"functionCall":{"name":"g"}},{"functionCall":{"name":"f"}},{"functionCall":{"id":"call_2","name":"g"}}]},
		{"parts":[{"functionResponse":{"name":"g","response":{}}},{"functionResponse":{"name":"f","response":{}}},{"functionResponse":{"name":"f","response":{}}},
			{"functionResponse":{"id":"call_2","name":"g","response":{}}}]},
		{"role":"model","parts":[{"functionCall":{"name":"f"}}]},
		{"parts":[{"functionResponse":{"id":"lost","name":"f","response":{}}},{"functionResponse":{"name":"h","response":{}}}]}]}`)
	var ids []string
	for _, turn := range r.Turns {
		for _, p := range turn.Parts {
			ids = append(ids, p.Call.ID+p.Result.CallID)
		}
	}
	if got, want := strings.Join(ids, " "), " call_1 call_3 call_4 call_2 call_3 call_1 call_4 call_2 call_5 call_5 call_6"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAResultIsItsOnlyMemberOrTheWholeObject(t *testing.T) {
	t.Parallel()
	for response, want := range map[string]llm.Part{
		`{"output":"sunny"}`:          result("1", "f", false, text("sunny")),
		`{"output":{"a": [1, 2.50]}}`: result("1", "f", false, text(`{"a":[1,2.50]}`)),
		`{"output":""}`:               result("1", "f", false),
		`{"error":"a \"b\""}`:         result("1", "f", true, text(`a "b"`)),
		`{"error":"x","code":5}`:      result("1", "f", true, text(`{"error":"x","code":5}`)),
		`{"error":null,"output":"x"}`: result("1", "f", false, text(`{"error":null,"output":"x"}`)),
		`{"temperature": 20}`:         result("1", "f", false, text(`{"temperature":20}`)),
		`{}`:                          result("1", "f", false, text(`{}`)),
		`null`:                        result("1", "f", false),
		`{"output":"x"},"parts":[{"inlineData":{"mimeType":"image/png","data":"aGVsbG8="}}]`: result("1", "f", false, text("x"),
			llm.Part{Kind: llm.Image, Media: llm.Media{Type: "image/png", Data: "aGVsbG8="}}),
	} {
		r := decodeRequest(t, `{"contents":[{"parts":[{"text":"x"}]},{"role":"model","parts":[{"functionCall":{"id":"1","name":"f"}}]},
			{"parts":[{"functionResponse":{"id":"1","response":`+response+`}}]}]}`)
		if got := r.Turns[2].Parts[0]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s\ngot  %+v\nwant %+v", response, got, want)
		}
	}
}

func TestPartsBecomeWhatTheyAre(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]llm.Part{
		`{"inlineData":{"mimeType":"audio/wav","data":"_-8"}}`:                          {Kind: llm.Audio, Media: llm.Media{Type: "audio/wav", Data: "/+8="}},
		`{"inlineData":{"mimeType":"video/mp4","data":"aGk="}}`:                         {Kind: llm.Video, Media: llm.Media{Type: "video/mp4", Data: "aGk="}},
		`{"inlineData":{"mimeType":"application/pdf","data":"aGk=","displayName":"a"}}`: {Kind: llm.File, Media: llm.Media{Type: "application/pdf", Data: "aGk=", Name: "a"}},
		`{"fileData":{"mimeType":"image/png","fileUri":"https://example.com/a"}}`:       {Kind: llm.Image, Media: llm.Media{Type: "image/png", URL: "https://example.com/a"}},
		`{"executableCode":{"language":"PYTHON","code":"print(1)\n"}}`:                  text("\n```python\nprint(1)\n```\n"),
		`{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}}`:                 text("\n```\n1\n```\n"),
		`{"text":"seen","thought":true}`:                                                text("seen"),
	} {
		if got := decodeRequest(t, `{"contents":[{"parts":[`+in+`]}]}`).Turns[0].Parts; !reflect.DeepEqual(got, []llm.Part{want}) {
			t.Errorf("%s\ngot  %+v\nwant %+v", in, got, want)
		}
	}
	if turns := decodeRequest(t, `{"contents":[{"parts":[{"text":""}]},{"role":"model","parts":[{"text":"","thought":true}]}]}`).Turns; len(turns) != 0 {
		t.Errorf("what is empty says nothing: %+v", turns)
	}
}

func TestAStreamedHistoryIsOneTurn(t *testing.T) {
	t.Parallel()
	r := decodeRequest(t, `{"contents":[{"parts":[{"text":"x"}]},
		{"role":"model","parts":[{"text":"a","thought":true}]},{"role":"model","parts":[{"text":"b","thought":true}]},
		{"role":"model","parts":[{"text":"He","thoughtSignature":"c2ln"}]},{"role":"model","parts":[{"text":"llo"}]},
		{"role":"model","parts":[{"functionCall":{"id":"1","name":"f"},"thoughtSignature":"skip_thought_signature_validator"}]},
		{"role":"model","parts":[{"functionCall":{"id":"2","name":"f"},"thoughtSignature":"Z3cxLmEuYg"}]}]}`)
	want := []llm.Part{thought("ab", "c2ln"), text("Hello"), call("1", "f", "{}"), thought("", "gw1.a.b"), call("2", "f", "{}")}
	if len(r.Turns) != 2 || !reflect.DeepEqual(r.Turns[1].Parts, want) {
		t.Errorf("%+v", r.Turns)
	}
}

func TestModesOfCallingTools(t *testing.T) {
	t.Parallel()
	tools := `"tools":[{"functionDeclarations":[{"name":"f"},{"name":"g"}]}]`
	yes := true
	for mode, want := range map[string]llm.ToolChoice{
		"AUTO": {Mode: llm.ChooseAuto}, "ANY": {Mode: llm.ChooseRequired}, "NONE": {Mode: llm.ChooseNone}, "VALIDATED": {Mode: llm.ChooseAuto}, "MODE_UNSPECIFIED": {},
	} {
		r := decodeRequest(t, `{"contents":"Hi",`+tools+`,"toolConfig":{"functionCallingConfig":{"mode":"`+mode+`"}}}`)
		if !reflect.DeepEqual(r.Choice, want) {
			t.Errorf("%s: %+v", mode, r.Choice)
		}
		if strict := r.Tools[1].Strict; mode == "VALIDATED" && (strict == nil || !*strict) || mode != "VALIDATED" && strict != nil {
			t.Errorf("%s: strict %v", mode, strict)
		}
	}
	for want, r := range map[string]llm.Request{
		`"AUTO"}}`:                             {Choice: llm.ToolChoice{Mode: llm.ChooseAuto}, Tools: []llm.Tool{{Name: "f", Strict: &yes}, {Name: "g"}}},
		`"VALIDATED"}}`:                        {Tools: []llm.Tool{{Name: "f", Strict: &yes}, {Name: "g", Strict: &yes}}},
		`"NONE"}}`:                             {Choice: llm.ToolChoice{Mode: llm.ChooseNone}, Tools: []llm.Tool{{Name: "f", Strict: &yes}}},
		`"ANY","allowedFunctionNames":["g"]}}`: {Choice: llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{"g"}}, Tools: []llm.Tool{{Name: "f"}, {Name: "g"}}},
	} {
		r.Turns = []llm.Turn{{Parts: []llm.Part{text("Hi")}}}
		body, err := native.Codec{}.EncodeRequest(&r)
		if err != nil || !strings.Contains(string(body), `"toolConfig":{"functionCallingConfig":{"mode":`+want) {
			t.Errorf("want %s: %s, %v", want, body, err)
		}
	}
	narrowed := llm.Request{
		Turns: []llm.Turn{{Parts: []llm.Part{text("Hi")}}}, Tools: []llm.Tool{{Name: "f"}, {Name: "g"}},
		Choice: llm.ToolChoice{Mode: llm.ChooseAuto, Names: []string{"g"}},
	}
	body, err := native.Codec{}.EncodeRequest(&narrowed)
	if err != nil || !strings.Contains(string(body), `"tools":[{"functionDeclarations":[{"name":"g"}]}],"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}`) {
		t.Errorf("only the tools that may be called are named: %s, %v", body, err)
	}
}

func TestSchemasOfThisStyleBecomePlainOnes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"type":"OBJECT","properties":{"b":{"type":"INTEGER","nullable":true},"a":{"type":"ARRAY","items":{"type":"NUMBER"},"maxItems":"3"}},"propertyOrdering":["b"]}`: `{"type":"object","properties":{"b":{"type":["integer","null"]},"a":{"type":"array","items":{"type":"number"},"maxItems":3}}}`,
		`{"nullable":true,"type":"STRING","format":"enum","enum":["x","y"]}`:                                                                                             `{"type":["string","null"],"enum":["x","y",null]}`,
		`{"any_of":[{"type":"STRING"},{"type":"BOOLEAN"}],"nullable":true}`:                                                                                              `{"anyOf":[{"type":"string"},{"type":"boolean"},{"type":"null"}]}`,
		`{"type":"OBJECT","properties":{"type":{"type":"STRING"},"nullable":{"type":"BOOLEAN"}}}`:                                                                        `{"type":"object","properties":{"type":{"type":"string"},"nullable":{"type":"boolean"}}}`,
		`{"type":"STRING","nullable":true,"anyOf":[{"type":"STRING"},{"type":"NULL"}]}`:                                                                                  `{"type":["string","null"],"anyOf":[{"type":"string"},{"type":"null"}]}`,
		`{"ref":"#/defs/Pet","defs":{"Pet":{"type":"OBJECT"}}}`:                                                                                                          `{"$ref":"#/$defs/Pet","$defs":{"Pet":{"type":"object"}}}`,
		`{"type":"STRING","enum":[{"type":"STRING"}],"default":null,"title":null,"example":1,"minLength":"one"}`:                                                         `{"type":"string","enum":[{"type":"STRING"}],"default":null,"minLength":"one"}`,
		`{"type":"TYPE_UNSPECIFIED","description":"any","additionalProperties":{"type":"STRING"}}`:                                                                       `{"description":"any","additionalProperties":{"type":"string"}}`,
		`{"type":["string","null"],"oneOf":[true,{"type":"NULL","nullable":true}]}`:                                                                                      `{"type":["string","null"],"oneOf":[true,{"type":"null"}]}`,
	} {
		r := decodeRequest(t, `{"contents":"Hi","tools":[{"functionDeclarations":[{"name":"f","parameters":`+in+`}]}],"generationConfig":{"responseSchema":`+in+`}}`)
		if got := string(r.Tools[0].Parameters); got != want {
			t.Errorf("\ngot  %s\nwant %s", got, want)
		}
		if got := string(r.Format.Schema); got != want || r.Format.Kind != llm.FormatSchema {
			t.Errorf("\ngot  %s\nwant %s", got, want)
		}
	}
}

func TestThinkingIsReadAndWritten(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]llm.ReasoningOptions{
		`{}`: {}, `null`: {},
		`{"thinkingBudget":0}`:                               {Budget: "0"},
		`{"thinkingBudget":-1,"includeThoughts":true}`:       {Budget: "-1", Show: "auto"},
		`{"thinkingLevel":"HIGH"}`:                           {Effort: "high", Show: "omitted"},
		`{"thinkingLevel":"MINIMAL","includeThoughts":true}`: {Effort: "minimal", Show: "auto"},
		`{"includeThoughts":false}`:                          {Show: "omitted"},
	} {
		if got := decodeRequest(t, `{"contents":"Hi","generationConfig":{"thinkingConfig":`+in+`}}`).Reasoning; got != want {
			t.Errorf("%s: %+v", in, got)
		}
	}
	for o, want := range map[llm.ReasoningOptions]string{
		{Effort: "none"}:                     `{"thinkingBudget":0}`,
		{Effort: "low"}:                      `{"includeThoughts":true,"thinkingBudget":1024}`,
		{Effort: "medium", Show: "detailed"}: `{"includeThoughts":true,"thinkingBudget":8192}`,
		{Effort: "high", Show: "omitted"}:    `{"includeThoughts":false,"thinkingBudget":24576}`,
		{Effort: "high", Budget: "5000"}:     `{"includeThoughts":true,"thinkingBudget":5000}`,
		{Effort: "low", Budget: "-1"}:        `{"includeThoughts":true,"thinkingBudget":1024}`, // An effort replaces the dynamic budget.
		{Budget: "-1"}:                       `{"includeThoughts":true,"thinkingBudget":-1}`,
		{Effort: "max"}:                      `{"includeThoughts":true,"thinkingBudget":24576}`, // Small models refuse a larger budget.
		{Budget: "31999"}:                    `{"includeThoughts":true,"thinkingBudget":24576}`,
		{Show: "auto"}:                       `{"includeThoughts":true}`,
	} {
		body, err := native.Codec{}.EncodeRequest(&llm.Request{Turns: []llm.Turn{{Parts: []llm.Part{text("Hi")}}}, Reasoning: o})
		if err != nil || !strings.HasSuffix(string(body), `"generationConfig":{"thinkingConfig":`+want+`}}`) {
			t.Errorf("%+v: %s, %v", o, body, err)
		}
	}
}

func TestAChoiceAmongNoToolsIsNotWritten(t *testing.T) {
	t.Parallel()
	for _, mode := range []llm.Choosing{llm.ChooseAuto, llm.ChooseNone} {
		r := &llm.Request{Turns: []llm.Turn{{Parts: []llm.Part{text("Hi")}}}, Choice: llm.ToolChoice{Mode: mode}}
		body, err := native.Codec{}.EncodeRequest(r)
		if err != nil || strings.Contains(string(body), "toolConfig") {
			t.Errorf("%s, %v", body, err)
		}
	}
}

func TestRefusedTurnsNameTheConversation(t *testing.T) {
	t.Parallel()
	call := llm.Part{Kind: llm.Call, Call: llm.ToolCall{ID: "c1", Name: "f", Arguments: "{"}}
	result := llm.Part{Kind: llm.Result, Result: llm.ToolResult{CallID: "c9"}}
	for name, turns := range map[string][]llm.Turn{
		"no user":        {{Role: llm.Assistant, Parts: []llm.Part{text("Hi")}}},
		"no JSON":        {{Parts: []llm.Part{text("Hi")}}, {Role: llm.Assistant, Parts: []llm.Part{call}}, {Parts: []llm.Part{text("x")}}},
		"no such call":   {{Parts: []llm.Part{text("Hi"), result}}},
		"nothing at all": {},
	} {
		_, err := encodeChecked(&llm.Request{Turns: turns})
		if e, ok := errors.AsType[*app.Error](err); !ok || e.Param != "contents" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
