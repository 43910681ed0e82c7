package responses_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"umg/app"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

// fullRequest has everything the style can say.
func fullRequest() *llm.Request {
	words := func(s string) llm.Part { return llm.Part{Kind: llm.Text, Text: s} }
	return &llm.Request{
		Model: "upstream-model", Stream: true,
		Turns: []llm.Turn{
			{Role: llm.System, Parts: []llm.Part{words("Be brief.")}},
			{Role: llm.System, Parts: []llm.Part{words("Be kind.")}},
			{Role: llm.User, Parts: []llm.Part{
				words("Look"),
				{Kind: llm.Image, Media: llm.Media{Type: "image/png", Data: "aGVsbG8="}},
				{Kind: llm.Image, Media: llm.Media{URL: "https://example.com/a.png", Detail: "high"}},
				{Kind: llm.Image, Media: llm.Media{FileID: "file_1", Detail: "original"}},
				{Kind: llm.File, Media: llm.Media{Type: "application/pdf", Data: "aGVsbG8=", Name: "a.pdf"}},
				{Kind: llm.File, Media: llm.Media{Type: "text/plain", Text: "words é", Name: "a.txt"}},
				{Kind: llm.File, Media: llm.Media{Data: "aGVsbG8="}},
				{Kind: llm.File, Media: llm.Media{URL: "https://example.com/a.pdf"}},
				{Kind: llm.File, Media: llm.Media{FileID: "file_2"}},
			}},
			{Role: llm.Assistant, Parts: []llm.Part{
				{Kind: llm.Reasoning, Text: "Hm", Signature: "sig"},
				{Kind: llm.Reasoning, Signature: "sig2", Redacted: true},
				{Kind: llm.Reasoning, Signature: "sig3"},
				words("I look."), {Kind: llm.Refusal, Text: "Not that."},
				{Kind: llm.Call, Call: llm.ToolCall{ID: "call_1", Name: "get", Arguments: `{"z":1.10}`}},
				{Kind: llm.Call, Call: llm.ToolCall{ID: "ü", Name: "sub", Group: "group", Arguments: "{}"}},
				{Kind: llm.Call, Call: llm.ToolCall{ID: "call_3", Name: "free", Arguments: "ls -l", Custom: true}},
			}},
			{Role: llm.User, Parts: []llm.Part{
				{Kind: llm.Result, Result: llm.ToolResult{CallID: "call_1", Name: "get", Parts: []llm.Part{words("42")}}},
				{Kind: llm.Result, Result: llm.ToolResult{CallID: "ü", Name: "sub", Parts: []llm.Part{
					words("see"), {Kind: llm.Image, Media: llm.Media{Type: "image/png", Data: "aGVsbG8="}},
				}}},
				{Kind: llm.Result, Result: llm.ToolResult{CallID: "call_3", Name: "free", Custom: true, Parts: []llm.Part{words("")}}},
				words("Go on"),
			}},
			{Role: llm.System, Parts: []llm.Part{words("Late.")}},
			{Role: llm.User, Parts: []llm.Part{words("Well?")}},
		},
		Tools: []llm.Tool{
			{Name: "get", Description: "Gets.", Parameters: []byte(`{"type":"object","properties":{}}`), Strict: yes()},
			{Name: "sub", Group: "group", Parameters: []byte(`{"type":"object"}`), Strict: no()},
			{Name: "sub2", Group: "group", Parameters: []byte(`{"type":"object"}`)},
			{Name: "free", Custom: true, Description: "Free.", Parameters: []byte(`{"type":"grammar","syntax":"lark","definition":"start: A"}`)},
			{Name: "freer", Custom: true},
		},
		Choice: llm.ToolChoice{Mode: llm.ChooseAuto, Names: []string{"get", "free"}}, Parallel: no(),
		Sampling: llm.Sampling{Temperature: "1.50", TopP: "0.9"}, MaxOutput: 4000,
		Format:    llm.Format{Kind: llm.FormatSchema, Name: "n", Description: "d", Schema: []byte(`{"type":"object"}`), Strict: yes()},
		Reasoning: llm.ReasoningOptions{Effort: "high", Show: "auto"}, Verbosity: "low", EndUser: "user-1",
		Metadata: []llm.Pair{{Key: "z", Value: "1"}, {Key: "a", Value: "é"}},
	}
}

func TestAFullRequestFitsTheSchemaAndSurvives(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	want := fullRequest()
	body, err := codec.EncodeRequest(want)
	if err != nil {
		t.Fatal(err)
	}
	fits(t, s.request, body)
	got, err := codec.DecodeRequest(body)
	if err != nil {
		t.Fatal(err)
	}
	llmtest.ForgetPlaces(got)
	if !slices.Equal(got.Dropped, []string(nil)) {
		t.Errorf("dropped %q", got.Dropped)
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("the request changed\nwant %+v\ngot  %+v\nwire %s", want, got, body)
	}
	for i := range want.Turns {
		if !reflect.DeepEqual(want.Turns[i], got.Turns[i]) {
			t.Errorf("turn %d changed\nwant %+v\ngot  %+v", i, want.Turns[i], got.Turns[i])
		}
	}
}

func TestAnEncodedRequestNeverAsksTheProviderToKeepAnything(t *testing.T) {
	t.Parallel()
	for want, asked := range map[string]llm.ReasoningOptions{
		`{"model":"m","store":false,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Hi"}]}]}`: {},
		`{"model":"m","store":false,"include":["reasoning.encrypted_content"],"input":[{"type":"message","role":"user",` +
			`"content":[{"type":"input_text","text":"Hi"}]}],"reasoning":{"effort":"low"}}`: {Effort: "low", Show: "omitted"},
	} {
		r := &llm.Request{Model: "m", Reasoning: asked, Turns: []llm.Turn{{Parts: []llm.Part{{Kind: llm.Text, Text: "Hi"}}}}}
		body, err := codec.EncodeRequest(r)
		if err != nil {
			t.Fatal(err)
		}
		if string(body) != want {
			t.Errorf("got  %s\nwant %s", body, want)
		}
	}
}

// TestRequestsAreWrittenInTheWordsOfTheStyle encodes a request and compares the one member that a case is about.
func TestRequestsAreWrittenInTheWordsOfTheStyle(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	user := []llm.Turn{{Parts: []llm.Part{{Kind: llm.Text, Text: "Hi"}}}}
	tools := []llm.Tool{{Name: "f"}, {Name: "g", Custom: true}}
	for _, c := range []struct {
		name, member, want string
		request            llm.Request
	}{
		{"a small bound is raised", "max_output_tokens", `16`, llm.Request{MaxOutput: 1}},
		{"a bound stays", "max_output_tokens", `17`, llm.Request{MaxOutput: 17}},
		{"no bound is no member", "max_output_tokens", `null`, llm.Request{}},
		{"numbers keep their digits", "temperature", `1.50`, llm.Request{Sampling: llm.Sampling{Temperature: "1.50"}}},
		{"what is no number is left out", "top_p", `null`, llm.Request{Sampling: llm.Sampling{TopP: `"x"`}}},
		{"a tool has parameters and strict", "tools", `[{"name":"f","parameters":{"properties":{},"type":"object"},"strict":null,"type":"function"},` +
			`{"name":"g","type":"custom"}]`, llm.Request{Tools: tools}},
		{"broken parameters take nothing", "tools", `[{"name":"f","parameters":{"properties":{},"type":"object"},"strict":null,"type":"function"}]`,
			llm.Request{Tools: []llm.Tool{{Name: "f", Parameters: []byte("{")}}}},
		{"auto", "tool_choice", `"auto"`, llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseAuto}}},
		{"none", "tool_choice", `"none"`, llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseNone}}},
		{"some", "tool_choice", `"required"`, llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseRequired}}},
		{"one", "tool_choice", `{"name":"f","type":"function"}`, llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{"f"}}}},
		{"a custom one", "tool_choice", `{"name":"g","type":"custom"}`, llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{"g"}}}},
		{"some of a few", "tool_choice", `{"mode":"required","tools":[{"name":"f","type":"function"},{"name":"g","type":"custom"}],"type":"allowed_tools"}`,
			llm.Request{Tools: tools, Choice: llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{"f", "g"}}}},
		{"any JSON", "text", `{"format":{"type":"json_object"}}`, llm.Request{Format: llm.Format{Kind: llm.FormatJSON}}},
		{"text", "text", `{"format":{"type":"text"}}`, llm.Request{Format: llm.Format{Kind: llm.FormatText}}},
		{"a schema gets a name", "text", `{"format":{"name":"response","schema":{"type":"object"},"type":"json_schema"}}`,
			llm.Request{Format: llm.Format{Kind: llm.FormatSchema, Schema: []byte("{\n\"type\": \"object\"}")}}},
		{"verbosity alone", "text", `{"verbosity":"high"}`, llm.Request{Verbosity: "high"}},
		{"a budget becomes an effort", "reasoning", `{"effort":"medium"}`, llm.Request{Reasoning: llm.ReasoningOptions{Budget: "5000"}}},
		{"an effort wins over a budget", "reasoning", `{"effort":"low","summary":"concise"}`,
			llm.Request{Reasoning: llm.ReasoningOptions{Budget: "5000", Effort: "low", Show: "concise"}}},
		{"a budget left to the model says nothing", "reasoning", `null`, llm.Request{Reasoning: llm.ReasoningOptions{Budget: "-1", Show: "omitted"}}},
		{"thinking is switched off", "reasoning", `{"effort":"none"}`, llm.Request{Reasoning: llm.ReasoningOptions{Budget: "0"}}},
		{"a long user is shortened", "safety_identifier", `"gwh_uoeatpkInB4eCbYLxhAG2MsrLRqRVDp_"`, llm.Request{EndUser: strings.Repeat("u@", 33)}},
		{"a user stays", "safety_identifier", `"u@example.com"`, llm.Request{EndUser: "u@example.com"}},
		{"parts of instructions are joined", "instructions", `"a\n\nb"`, llm.Request{Turns: append([]llm.Turn{{Role: llm.System, Parts: []llm.Part{
			{Kind: llm.Text, Text: "a"}, {Kind: llm.Text, Text: "b"},
		}}}, user...)}},
		{"no instructions, no member", "instructions", `null`, llm.Request{}},
		{"late words of the system keep their place", "input", `[{"content":[{"text":"Hi","type":"input_text"}],"role":"user","type":"message"},` +
			`{"content":[{"text":"s","type":"input_text"}],"role":"developer","type":"message"}]`,
			llm.Request{Turns: append(slices.Clone(user), llm.Turn{Role: llm.System, Parts: []llm.Part{{Kind: llm.Text, Text: "s"}}})}},
		{"long ids of calls become short ones", "input", `[{"arguments":"{}","call_id":"gwh_swhV5RBEasNHBsWsr-7e_VEi_pRGs_gS","name":"f","type":"function_call"},` +
			`{"call_id":"gwh_swhV5RBEasNHBsWsr-7e_VEi_pRGs_gS","output":"","type":"function_call_output"}]`,
			llm.Request{Turns: []llm.Turn{
				{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Call, Call: llm.ToolCall{ID: strings.Repeat("c", 65), Name: "f"}}}},
				{Parts: []llm.Part{{Kind: llm.Result, Result: llm.ToolResult{CallID: strings.Repeat("c", 65)}}}},
			}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.request.Model = "m"
			if c.request.Turns == nil {
				c.request.Turns = user
			}
			body, err := codec.EncodeRequest(&c.request)
			if err != nil {
				t.Fatal(err)
			}
			fits(t, s.request, body)
			if got := text(members(t, body)[c.member]); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestRequestsWithoutWordsInTheStyleAreRefused(t *testing.T) {
	t.Parallel()
	for name, turns := range map[string][]llm.Turn{
		"the assistant speaks last": {{Parts: []llm.Part{{Kind: llm.Text, Text: "a"}}}, {Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.Text, Text: "b"}}}},
		"audio":                     {{Parts: []llm.Part{{Kind: llm.Audio, Media: llm.Media{Data: "aGVsbG8="}}}}},
		"video":                     {{Parts: []llm.Part{{Kind: llm.Video, Media: llm.Media{URL: "https://example.com/v"}}}}},
		"audio in a result": {{Parts: []llm.Part{{Kind: llm.Result, Result: llm.ToolResult{CallID: "c", Parts: []llm.Part{
			{Kind: llm.Audio, Media: llm.Media{Data: "aGVsbG8="}},
		}}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &llm.Request{Model: "m", Turns: turns}
			_, err := codec.EncodeRequest(r)
			if err == nil {
				err = r.Check(codec.Traits())
			}
			e, ok := errors.AsType[*app.Error](err)
			if !ok || e.Kind != app.Invalid || e.Param != "input" || e.Code != "unsupported_parameter" {
				t.Errorf("got %v", err)
			}
		})
	}
}
