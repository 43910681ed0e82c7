package cohere_test

import (
	"strings"
	"testing"

	"umg/app"
	"umg/app/dialect/cohere"
	"umg/app/llm"
)

func encode(t *testing.T, r *llm.Request) string {
	t.Helper()
	body, err := cohere.Codec{}.EncodeRequest(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func text(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }

// TestRequestHasTheFormOfTheAPI compares a request that has everything with the form that the documentation of the API shows.
func TestRequestHasTheFormOfTheAPI(t *testing.T) {
	t.Parallel()
	r := &llm.Request{
		Model: "m", Stream: true, MaxOutput: 500, Stop: []string{"END"},
		Sampling: llm.Sampling{Temperature: "0.5", TopP: "1", TopK: "900", Seed: "-3", PresencePenalty: "-1", FrequencyPenalty: "2"},
		Turns: []llm.Turn{
			{Role: llm.System, Parts: []llm.Part{text("Be"), text("brief.")}},
			{Role: llm.User, Parts: []llm.Part{
				text("What is this?"), {Kind: llm.Image, Media: llm.Media{Data: "/9j/AAAA", Detail: "original"}},
				{Kind: llm.Image, Media: llm.Media{URL: "https://example.com/a.png"}},
			}},
			{Role: llm.Assistant, Parts: []llm.Part{
				{Kind: llm.Reasoning, Text: "Hm."}, text("I look."),
				{Kind: llm.Call, Call: llm.ToolCall{ID: "call_1", Name: "look", Arguments: `{"n": 1.10}`}},
				{Kind: llm.Call, Call: llm.ToolCall{ID: "call_2", Name: "wait"}},
			}},
			{Role: llm.User, Parts: []llm.Part{
				{Kind: llm.Result, Result: llm.ToolResult{CallID: "call_1", Error: true, Parts: []llm.Part{text("no"), text("way")}}},
				{Kind: llm.Result, Result: llm.ToolResult{CallID: "call_2"}}, text("Go on."),
			}},
		},
		Tools:     []llm.Tool{{Name: "look", Description: "Looks.", Parameters: []byte(`{"properties":{}}`)}, {Name: "wait"}},
		Choice:    llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{"look"}},
		Format:    llm.Format{Kind: llm.FormatSchema, Name: "answer", Schema: []byte(`{"type":"object"}`)},
		Reasoning: llm.ReasoningOptions{Effort: "low"},
	}
	want := `{"model":"m","stream":true,"messages":[{"role":"system","content":"Be\n\nbrief."},` +
		`{"role":"user","content":[{"type":"text","text":"What is this?"},` +
		`{"type":"image_url","image_url":{"url":"data:image/jpeg;base64,/9j/AAAA","detail":"high"}},` +
		`{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"Hm."}],"tool_plan":"I look.","tool_calls":[` +
		`{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"n\": 1.10}"}},` +
		`{"id":"call_2","type":"function","function":{"name":"wait","arguments":"{}"}}]},` +
		`{"role":"tool","content":"Error: no\nway","tool_call_id":"call_1"},{"role":"tool","content":"","tool_call_id":"call_2"},` +
		`{"role":"user","content":"Go on."}],` +
		`"tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"properties":{}}}}],` +
		`"tool_choice":"REQUIRED","response_format":{"type":"json_object","json_schema":{"type":"object"}},` +
		`"max_tokens":500,"stop_sequences":["END"],"temperature":0.5,"p":0.99,"k":500,"seed":3,"frequency_penalty":1,"presence_penalty":0,` +
		`"thinking":{"type":"enabled","token_budget":1024}}`
	if got := encode(t, r); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestToolChoicesAndThinking has the other words of the style.
func TestToolChoicesAndThinking(t *testing.T) {
	t.Parallel()
	tools := []llm.Tool{{Name: "a"}}
	for _, tc := range []struct {
		r    llm.Request
		want string
	}{
		{llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseNone}}, `,"tool_choice":"NONE"}`},
		{llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseAuto}}, `"parameters":{"type":"object","properties":{}}}}]}`},
		{llm.Request{Choice: llm.ToolChoice{Mode: llm.ChooseRequired}}, `"messages":[]}`},
		{llm.Request{Format: llm.Format{Kind: llm.FormatJSON}}, `"response_format":{"type":"json_object"}}`},
		{llm.Request{Reasoning: llm.ReasoningOptions{Effort: "none"}}, `"thinking":{"type":"disabled"}}`},
		{llm.Request{Reasoning: llm.ReasoningOptions{Budget: "0"}}, `"thinking":{"type":"disabled"}}`},
		{llm.Request{Reasoning: llm.ReasoningOptions{Budget: "-1"}}, `"thinking":{"type":"enabled"}}`},
		{llm.Request{Reasoning: llm.ReasoningOptions{Show: "auto"}}, `"messages":[]}`},
	} {
		if got := encode(t, &tc.r); !strings.HasSuffix(got, tc.want) {
			t.Errorf("%s lacks %s", got, tc.want)
		}
	}
}

// TestRequestsThatCannotBeExpressed names the field of what is refused.
func TestRequestsThatCannotBeExpressed(t *testing.T) {
	t.Parallel()
	at := llm.Place{Path: "messages[1].content"}
	for _, tc := range []struct {
		param string
		r     llm.Request
	}{
		{at.Path, llm.Request{Turns: []llm.Turn{{Parts: []llm.Part{{Kind: llm.File, Place: at}}}}}},
		{at.Path, llm.Request{Turns: []llm.Turn{{Parts: []llm.Part{{Kind: llm.Result, Result: llm.ToolResult{
			Parts: []llm.Part{{Kind: llm.Image, Place: at}}}}}}}}},
		{"tools", llm.Request{Tools: []llm.Tool{{Name: "a", Parameters: []byte("true")}}}},
		{"top_k", llm.Request{Sampling: llm.Sampling{TopK: "many"}}},
		{"response_format", llm.Request{Format: llm.Format{Kind: llm.FormatSchema, Schema: []byte("1")}}},
	} {
		_, err := cohere.Codec{}.EncodeRequest(&tc.r)
		if e := app.AsError(err); err == nil || e.Kind != app.Invalid || e.Param != tc.param {
			t.Errorf("%s: %v", tc.param, err)
		}
	}
}
