package converse_test

import (
	"strings"
	"testing"

	"umg/app"
	"umg/app/dialect/converse"
	"umg/app/llm"
)

func encode(t *testing.T, r *llm.Request) string {
	t.Helper()
	body, err := converse.Codec{}.EncodeRequest(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func user(parts ...llm.Part) llm.Turn { return llm.Turn{Role: llm.User, Parts: parts} }

func text(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }

// conversation has each kind of part that the style has.
func conversation() *llm.Request {
	yes := true
	return &llm.Request{
		Model: "m", Stream: true, MaxOutput: 500, Stop: []string{"END"}, Sampling: llm.Sampling{Temperature: "1.5", TopP: "0.9"},
		Turns: []llm.Turn{
			{Role: llm.System, Parts: []llm.Part{text("Be"), text("brief.")}},
			user(
				text("What is this?"), llm.Part{Kind: llm.Image, Media: llm.Media{Data: "/9j/AAAA"}},
				llm.Part{Kind: llm.File, Media: llm.Media{Type: "application/pdf", Data: "JVBERi0x", Name: "a_b  (1).pdf"}},
				llm.Part{Kind: llm.File, Media: llm.Media{Text: "words", Name: "a_b  (1).pdf"}},
			),
			{Role: llm.Assistant, Parts: []llm.Part{
				{Kind: llm.Reasoning, Text: "Hm.", Signature: "sig"}, {Kind: llm.Reasoning, Redacted: true, Signature: "c2VjcmV0"},
				{Kind: llm.Reasoning, Text: "unsigned"}, text(" "),
				{Kind: llm.Call, Call: llm.ToolCall{ID: "call:1", Name: "look", Arguments: `{"n": 1.10}`}},
			}},
			user(text("Go on."), llm.Part{Kind: llm.Result, Result: llm.ToolResult{CallID: "call:1", Error: true, Parts: []llm.Part{
				text("no"), {Kind: llm.Image, Media: llm.Media{Type: "image/png", Data: "aGk="}},
			}}}),
		},
		Tools:  []llm.Tool{{Name: "look", Description: "Looks.", Parameters: []byte(`{"properties":{}}`), Strict: &yes}, {Name: "other"}},
		Choice: llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{"look"}},
		Format: llm.Format{Kind: llm.FormatSchema, Name: "answer", Schema: []byte(`{"type":"object"}`)},
	}
}

// TestRequestHasTheFormOfTheAPI compares a request that has everything with the form that the documentation of the API shows.
func TestRequestHasTheFormOfTheAPI(t *testing.T) {
	t.Parallel()
	want := `{"model":"m","stream":true,"messages":[` +
		`{"role":"user","content":[{"text":"What is this?"},{"image":{"format":"jpeg","source":{"bytes":"/9j/AAAA"}}},` +
		`{"document":{"format":"pdf","name":"a-b (1)-pdf","source":{"bytes":"JVBERi0x"}}},` +
		`{"document":{"format":"txt","name":"a-b (1)-pdf (2)","source":{"bytes":"d29yZHM="}}}]},` +
		`{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"Hm.","signature":"sig"}}},` +
		`{"reasoningContent":{"redactedContent":"c2VjcmV0"}},` +
		`{"toolUse":{"toolUseId":"gwx_Y2FsbDox","name":"look","input":{"n":1.10}}}]},` +
		`{"role":"user","content":[{"toolResult":{"toolUseId":"gwx_Y2FsbDox","content":[{"text":"no"},` +
		`{"image":{"format":"png","source":{"bytes":"aGk="}}}],"status":"error"}},{"text":"Go on."}]}],` +
		`"system":[{"text":"Be\n\nbrief."}],` +
		`"inferenceConfig":{"maxTokens":500,"temperature":1,"topP":0.9,"stopSequences":["END"]},` +
		`"toolConfig":{"tools":[{"toolSpec":{"name":"look","description":"Looks.","inputSchema":{"json":{"type":"object","properties":{}}},` +
		`"strict":true}},{"toolSpec":{"name":"other","inputSchema":{"json":{"type":"object","properties":{}}}}}],` +
		`"toolChoice":{"tool":{"name":"look"}}},` +
		`"outputConfig":{"textFormat":{"type":"json_schema","structure":{"jsonSchema":{"schema":"{\"type\":\"object\"}","name":"answer"}}}}}`
	if got := encode(t, conversation()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestCallsWithoutToolsBecomeText has requests that offer no tools. The provider refuses calls in them.
func TestCallsWithoutToolsBecomeText(t *testing.T) {
	t.Parallel()
	r := conversation()
	r.Choice = llm.ToolChoice{Mode: llm.ChooseNone}
	r.Turns[3].Parts[1].Result.Name = "look"
	got := encode(t, r)
	for _, want := range []string{
		`{"text":"Called the tool look with {\"n\": 1.10}"}`, `{"text":"Result of the tool look:"},{"text":"no"},{"image":`,
	} {
		if !strings.Contains(got, want) || strings.Contains(got, "tool") && strings.Contains(got, "toolConfig") {
			t.Errorf("%s lacks %s", got, want)
		}
	}
}

// TestToolChoices has the choices of tools.
func TestToolChoices(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		choice llm.ToolChoice
		want   string
	}{
		{llm.ToolChoice{}, `}}]}`},
		{llm.ToolChoice{Mode: llm.ChooseAuto}, `,"toolChoice":{"auto":{}}}`},
		{llm.ToolChoice{Mode: llm.ChooseRequired}, `,"toolChoice":{"any":{}}}`},
		{llm.ToolChoice{Mode: llm.ChooseAuto, Names: []string{"b"}}, `{"tools":[{"toolSpec":{"name":"b",`},
	} {
		got := encode(t, &llm.Request{Tools: []llm.Tool{{Name: "a"}, {Name: "b"}}, Choice: tc.choice})
		if !strings.Contains(got, tc.want) {
			t.Errorf("%s lacks %s", got, tc.want)
		}
	}
}

// TestThinking has the options for thinking of each family of models.
func TestThinking(t *testing.T) {
	t.Parallel()
	const sonnet, lite, oss = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.amazon.nova-2-lite-v1:0", "openai.gpt-oss-120b-1:0"
	for _, tc := range []struct {
		model  string
		o      llm.ReasoningOptions
		forms  llm.ThinkingForms
		choice llm.Choosing
		want   string
	}{
		{model: sonnet, o: llm.ReasoningOptions{Budget: "2048", Show: "auto"}, want: `"maxTokens":9000},"additionalModelRequestFields":` +
			`{"thinking":{"type":"enabled","budget_tokens":2048,"display":"summarized"}}}`},
		{model: sonnet, o: llm.ReasoningOptions{Effort: "high"}, forms: llm.ThinkingForms{NoBudget: true}, want: `"additionalModelRequestFields":` +
			`{"thinking":{"type":"adaptive"},"output_config":{"effort":"high"}}}`},
		{model: sonnet, o: llm.ReasoningOptions{Effort: "none"}, want: `"temperature":0.3},"additionalModelRequestFields":{"thinking":{"type":"disabled"}}}`},
		{model: sonnet, o: llm.ReasoningOptions{Budget: "2048"}, choice: llm.ChooseRequired, want: `"toolChoice":{"any":{}}}}`},
		{model: sonnet, want: `"temperature":0.3}}`},
		{model: lite, o: llm.ReasoningOptions{Effort: "low"}, want: `"temperature":0.3},"additionalModelRequestFields":` +
			`{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"low"}}}`},
		{model: lite, o: llm.ReasoningOptions{Effort: "max"}, want: `{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"medium"}}}`},
		{model: lite, o: llm.ReasoningOptions{Effort: "none"}, want: `{"reasoningConfig":{"type":"disabled"}}}`},
		{model: lite, o: llm.ReasoningOptions{Budget: "-1"}, want: `{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"medium"}}}`},
		{model: oss, o: llm.ReasoningOptions{Budget: "30000"}, want: `{"reasoning_effort":"high"}}`},
		{model: "meta.llama3-1-8b-instruct-v1:0", o: llm.ReasoningOptions{Effort: "high"}, want: `"temperature":0.3}}`},
	} {
		r := &llm.Request{
			ProviderModel: tc.model, Reasoning: tc.o, Thinking: tc.forms, MaxOutput: 9000, Sampling: llm.Sampling{Temperature: "0.3"},
			Turns: []llm.Turn{user(text("Hi"))}, Choice: llm.ToolChoice{Mode: tc.choice},
		}
		if tc.choice != llm.ChooseUnset {
			r.Tools = []llm.Tool{{Name: "a"}}
		}
		got := encode(t, r)
		if !strings.HasSuffix(got, tc.want) {
			t.Errorf("%s, %+v: %s lacks %s", tc.model, tc.o, got, tc.want)
		}
		// A member that is left out must be missing from what the gateway reads back, too, so that it can be listed.
		again, err := converse.Codec{}.DecodeRequest([]byte(got))
		asks := strings.Contains(got, "additionalModelRequestFields")
		if err != nil || asks != (again.Reasoning != llm.ReasoningOptions{}) {
			t.Errorf("%s, %+v: %v, %+v", tc.model, tc.o, err, again.Reasoning)
		}
	}
}

// TestClaudeTellsItsStopSequence asks Claude for the stop sequence, which the API does not tell by itself.
func TestClaudeTellsItsStopSequence(t *testing.T) {
	t.Parallel()
	for stream, want := range map[bool]string{true: `["/delta/stop_sequence"]}`, false: `["/stop_sequence"]}`} {
		got := encode(t, &llm.Request{ProviderModel: "anthropic.claude", Stop: []string{"a"}, Stream: stream, Turns: []llm.Turn{user(text("Hi"))}})
		if !strings.HasSuffix(got, `"additionalModelResponseFieldPaths":`+want) {
			t.Errorf("%s lacks %s", got, want)
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
		{"messages[1].content", llm.Request{Turns: []llm.Turn{user(llm.Part{Kind: llm.Audio, Place: at})}}},
		{"messages[1].content", llm.Request{Turns: []llm.Turn{user(llm.Part{Kind: llm.Image, Media: llm.Media{Type: "image/tiff", Data: "AA"}, Place: at})}}},
		{"messages[1].content", llm.Request{Turns: []llm.Turn{user(llm.Part{Kind: llm.File, Media: llm.Media{Type: "application/zip", Data: "AA"}, Place: at})}}},
		{"messages[1].content", llm.Request{Tools: []llm.Tool{{Name: "a"}}, Turns: []llm.Turn{{Role: llm.Assistant, Parts: []llm.Part{
			{Kind: llm.Call, Call: llm.ToolCall{Name: "a", Arguments: "[1]"}, Place: at}}}}}},
		{"tools", llm.Request{Tools: []llm.Tool{{Name: "a", Parameters: []byte("true")}}}},
		{"temperature", llm.Request{Sampling: llm.Sampling{Temperature: "hot"}}},
		{"outputConfig.textFormat", llm.Request{Format: llm.Format{Kind: llm.FormatSchema, Schema: []byte("1")}}},
	} {
		_, err := converse.Codec{}.EncodeRequest(&tc.r)
		if e := app.AsError(err); err == nil || e.Kind != app.Invalid || e.Param != tc.param {
			t.Errorf("%s: %v", tc.param, err)
		}
	}
}
