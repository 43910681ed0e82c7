package responses_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"umg/app"
	"umg/app/llm"
)

// sketch is the conversation of a request in a few words, for fixtures.
func sketch(r *llm.Request) string {
	var b strings.Builder
	for _, t := range r.Turns {
		b.WriteString([]string{"user:", "assistant:", "system:"}[t.Role])
		sketchParts(&b, t.Parts)
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func sketchParts(b *strings.Builder, parts []llm.Part) {
	for _, p := range parts {
		switch p.Kind {
		case llm.Text:
			fmt.Fprintf(b, " %q", p.Text)
		case llm.Refusal:
			fmt.Fprintf(b, " refusal %q", p.Text)
		case llm.Reasoning:
			fmt.Fprintf(b, " thought %q %q %v", p.Text, p.Signature, p.Redacted)
		case llm.Call:
			fmt.Fprintf(b, " call %s %s.%s %s %v", p.Call.ID, p.Call.Group, p.Call.Name, p.Call.Arguments, p.Call.Custom)
		case llm.Result:
			fmt.Fprintf(b, " result %s %s %v {", p.Result.CallID, p.Result.Name, p.Result.Custom)
			sketchParts(b, p.Result.Parts)
			b.WriteString(" }")
		default:
			fmt.Fprintf(b, " media %+v", p.Media)
		}
	}
}

func TestTheInputIsReadIntoTurns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, body, want string }{
		{"a text", `{"input":"Hi"}`, `user: "Hi"`},
		{"an empty text", `{"input":""}`, `user: ""`},
		{"nothing", `{}`, ``},
		{"instructions", `{"input":"Hi","instructions":"Be kind."}`, "system: \"Be kind.\"\nuser: \"Hi\""},
		{"no instructions", `{"input":"Hi","instructions":null}`, `user: "Hi"`},
		{"messages with and without a type", `{"input":[{"role":"user","content":"a"},{"type":"message","role":"user","content":[{"type":"input_text","text":"b"}]}]}`,
			`user: "a" "b"`},
		{"roles of the system", `{"input":[{"role":"system","content":"a"},{"role":"developer","content":"b"},{"role":"user","content":"c"},{"role":"developer","content":"d"}]}`,
			"system: \"a\"\nsystem: \"b\"\nuser: \"c\"\nsystem: \"d\""},
		{"an assistant's history", `{"input":[{"role":"user","content":"a"},{"id":"msg_1","type":"message","role":"assistant","status":"completed",
			"content":[{"type":"output_text","text":"b","annotations":[],"logprobs":[]},{"type":"refusal","refusal":"c"}]},{"role":"assistant","content":"d"}]}`,
			"user: \"a\"\nassistant: \"b\" refusal \"c\" \"d\""},
		{"messages without content say nothing", `{"input":[{"role":"assistant","content":null},{"role":"user","content":[]},{"role":"user","content":"a"}]}`, `user: "a"`},
		{"images", `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA","detail":"auto"},
			{"type":"input_image","image_url":"https://x/a.png","detail":"low"},{"type":"input_image","file_id":"f1","detail":"original"}]}]}`,
			`user: media {Type:image/png Data:AAAA URL: FileID: Text: Name: Detail:} media {Type: Data: URL:https://x/a.png FileID: Text: Name: Detail:low}` +
				` media {Type: Data: URL: FileID:f1 Text: Name: Detail:original}`},
		{"files", `{"input":[{"role":"user","content":[{"type":"input_file","file_data":"data:application/pdf;base64,AAAA","filename":"a.pdf"},
			{"type":"input_file","file_data":"AAAA"},{"type":"input_file","file_url":"https://x/a.pdf"},{"type":"input_file","file_id":"f1"},
			{"type":"input_file","file_data":"data:text/plain;charset=utf-8;base64,aMOp"},{"type":"input_file","file_data":"data:text/plain;base64,aMOp"}]}]}`,
			`user: media {Type:application/pdf Data:AAAA URL: FileID: Text: Name:a.pdf Detail:} media {Type: Data:AAAA URL: FileID: Text: Name: Detail:}` +
				` media {Type: Data: URL:https://x/a.pdf FileID: Text: Name: Detail:} media {Type: Data: URL: FileID:f1 Text: Name: Detail:}` +
				` media {Type:text/plain Data: URL: FileID: Text:hé Name: Detail:} media {Type:text/plain Data:aMOp URL: FileID: Text: Name: Detail:}`},
		{"calls and results", `{"input":[{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{\"a\":1}","status":"completed"},
			{"type":"function_call","call_id":"gwx_w7w","namespace":"g","name":"h","arguments":""},{"type":"function_call_output","call_id":"c1","output":"42"},
			{"type":"function_call_output","call_id":"gwx_w7w","output":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"https://x/a.png"}]},
			{"role":"user","content":"go"},{"type":"function_call_output","call_id":"lost","output":""}]}`,
			"assistant: call c1 .f {\"a\":1} false call ü g.h  false\nuser: result c1 f false { \"42\" } result ü h false { \"x\" media {Type: Data: URL:https://x/a.png" +
				" FileID: Text: Name: Detail:} } \"go\" result lost  false { \"\" }"},
		{"custom calls", `{"input":[{"type":"custom_tool_call","call_id":"c1","name":"f","input":"ls"},{"type":"custom_tool_call_output","call_id":"c1","output":"a"}]}`,
			"assistant: call c1 .f ls true\nuser: result c1 f true { \"a\" }"},
		{"reasoning", `{"input":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],
			"content":[{"type":"reasoning_text","text":"c"}],"encrypted_content":"e","status":null},{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"e2"},
			{"type":"reasoning","summary":[]},{"role":"assistant","content":"x"}]}`,
			`assistant: thought "a\n\nb\n\nc" "e" false thought "" "e2" true thought "" "" false "x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := codec.DecodeRequest([]byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if got := sketch(r); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if len(r.Dropped) > 0 {
				t.Errorf("dropped %q", r.Dropped)
			}
		})
	}
}

// TestOptionsAreRead compares the members of the form that a case is about.
func TestOptionsAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		get        func(*llm.Request) any
		want       any
	}{
		{"model and stream", `{"model":"m","stream":true}`, func(r *llm.Request) any { return []any{r.Model, r.Stream} }, []any{"m", true}},
		{"sampling", `{"temperature":1.50,"top_p":null,"max_output_tokens":20}`, func(r *llm.Request) any {
			return []any{r.Sampling.Temperature, r.Sampling.TopP, r.MaxOutput}
		}, []any{"1.50", "", 20}},
		{"a bound in other digits", `{"max_output_tokens":2e1}`, func(r *llm.Request) any { return r.MaxOutput }, 20},
		{"one call at most", `{"parallel_tool_calls":false}`, func(r *llm.Request) any { return *r.Parallel }, false},
		{"function tools", `{"tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":true},{"type":"function","name":"g","parameters":null,"strict":null}]}`,
			func(r *llm.Request) any {
				return []any{r.Tools[0].Name, r.Tools[0].Description, string(r.Tools[0].Parameters), *r.Tools[0].Strict, r.Tools[1].Parameters == nil, r.Tools[1].Strict == nil}
			}, []any{"f", "d", `{"type":"object"}`, true, true, true}},
		{"a namespace is opened", `{"tools":[{"type":"namespace","name":"g","tools":[{"type":"function","name":"f"},{"type":"custom","name":"c","format":{"type":"text"}}]},{"type":"function","name":"h"}]}`,
			func(r *llm.Request) any {
				var names []string
				for _, tool := range r.Tools {
					names = append(names, fmt.Sprint(tool.Group, ".", tool.Name, " ", tool.Custom, " ", string(tool.Parameters)))
				}
				return names
			}, []string{"g.f false ", `g.c true {"type":"text"}`, ".h false "}},
		{"tools that come late", `{"input":[{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"f"}]}]}`,
			func(r *llm.Request) any { return r.Tools[0].Name }, "f"},
		{"choices", `{"tool_choice":"required"}`, func(r *llm.Request) any { return r.Choice.Mode }, llm.ChooseRequired},
		{"no choice", `{"tool_choice":null}`, func(r *llm.Request) any { return r.Choice.Mode }, llm.ChooseUnset},
		{"auto", `{"tool_choice":"auto"}`, func(r *llm.Request) any { return r.Choice.Mode }, llm.ChooseAuto},
		{"none", `{"tool_choice":"none"}`, func(r *llm.Request) any { return r.Choice.Mode }, llm.ChooseNone},
		{"one tool", `{"tool_choice":{"type":"function","name":"f"}}`, func(r *llm.Request) any { return r.Choice }, llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{"f"}}},
		{"one custom tool", `{"tool_choice":{"type":"custom","name":"f"}}`, func(r *llm.Request) any { return r.Choice }, llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{"f"}}},
		{"some tools", `{"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"},{"type":"custom","name":"g"}]}}`,
			func(r *llm.Request) any { return r.Choice }, llm.ToolChoice{Mode: llm.ChooseAuto, Names: []string{"f", "g"}}},
		{"a schema", `{"text":{"format":{"type":"json_schema","name":"n","description":"d","schema":{"a":1},"strict":true},"verbosity":"low"}}`,
			func(r *llm.Request) any {
				return []any{r.Format.Kind, r.Format.Name, r.Format.Description, string(r.Format.Schema), *r.Format.Strict, r.Verbosity}
			}, []any{llm.FormatSchema, "n", "d", `{"a":1}`, true, "low"}},
		{"any JSON", `{"text":{"format":{"type":"json_object"}}}`, func(r *llm.Request) any { return r.Format.Kind }, llm.FormatJSON},
		{"text", `{"text":{"format":{"type":"text"}}}`, func(r *llm.Request) any { return r.Format.Kind }, llm.FormatText},
		{"reasoning", `{"reasoning":{"effort":"xhigh","summary":"detailed"}}`, func(r *llm.Request) any { return r.Reasoning }, llm.ReasoningOptions{Effort: "xhigh", Show: "detailed"}},
		{"reasoning in old words", `{"reasoning":{"generate_summary":"concise"}}`, func(r *llm.Request) any { return r.Reasoning }, llm.ReasoningOptions{Show: "concise"}},
		{"metadata in order", `{"metadata":{"z":"1","a":"2"}}`, func(r *llm.Request) any { return r.Metadata }, []llm.Pair{{Key: "z", Value: "1"}, {Key: "a", Value: "2"}}},
		{"end user", `{"user":"u","safety_identifier":"s"}`, func(r *llm.Request) any { return r.EndUser }, "s"},
		{"end user in old words", `{"user":"u"}`, func(r *llm.Request) any { return r.EndUser }, "u"},
		{"no probabilities", `{"top_logprobs":0}`, func(r *llm.Request) any { return r.LogProbs }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := codec.DecodeRequest([]byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := text(c.get(r)), text(c.want); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if len(r.Dropped) > 0 {
				t.Errorf("dropped %q", r.Dropped)
			}
		})
	}
}

func TestWhatHasNoPlaceIsNamedOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body string
		want []string
	}{
		{`{"store":true,"service_tier":"flex","prompt_cache_key":"k","truncation":"auto","max_tool_calls":3,"stream_options":{"include_obfuscation":false},"x":1}`,
			[]string{"store", "truncation", "service_tier", "prompt_cache_key", "max_tool_calls", "stream_options", "x"}},
		{`{"store":false,"service_tier":null,"truncation":"disabled","include":["reasoning.encrypted_content"],"background":false,"previous_response_id":null,"conversation":null,"prompt":null}`, nil},
		{`{"include":["web_search_call.results","reasoning.encrypted_content"]}`, []string{"include (web_search_call.results)"}},
		{`{"tools":[{"type":"function","name":"f","defer_loading":true},{"type":"web_search"},{"type":"mcp","server_label":"x"},{"type":"function","name":"g","defer_loading":true}]}`,
			[]string{"tools.defer_loading", "tools[1] (web_search)", "tools[2] (mcp)"}},
		{`{"tools":[{"type":"namespace","name":"g","description":"d","tools":[{"type":"shell"}]}]}`, []string{"tools[0].description", "tools[0].tools[0] (shell)"}},
		{`{"reasoning":{"effort":"low","context":"all_turns"},"text":{"x":1,"format":{"type":"text","y":2}}}`, []string{"text.x", "text.format.y", "reasoning.context"}},
		{`{"input":[{"role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{}},{"type":"input_text","text":"b","prompt_cache_breakpoint":{}}]},
			{"role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"c","annotations":[{}]}]},{"type":"web_search_call","id":"ws_1"},
			{"role":"user","content":[{"type":"input_file","file_id":"f","detail":"high"}]}]}`,
			[]string{"prompt_cache_breakpoint", "phase", "annotations", "input[2] (web_search_call)", "detail"}},
	} {
		r, err := codec.DecodeRequest([]byte(c.body))
		if err != nil {
			t.Errorf("%v: %s", err, c.body)
			continue
		}
		if !slices.Equal(r.Dropped, c.want) {
			t.Errorf("dropped %q, want %q", r.Dropped, c.want)
		}
	}
}

func TestTheNamesOfDroppedMembersAreBounded(t *testing.T) {
	t.Parallel()
	many := map[string]any{}
	for i := range 1000 {
		many[fmt.Sprint("member_", i)] = i
	}
	body, _ := json.Marshal(many)
	r, err := codec.DecodeRequest(body)
	if err != nil || len(r.Dropped) != 64 {
		t.Errorf("%d names, %v", len(r.Dropped), err)
	}
}

func TestWhatChangesTheMeaningIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, param, code string }{
		{`{"previous_response_id":"resp_1"}`, "previous_response_id", "unsupported_parameter"},
		{`{"conversation":"conv_1"}`, "conversation", "unsupported_parameter"},
		{`{"conversation":{"id":"conv_1"}}`, "conversation", "unsupported_parameter"},
		{`{"background":true}`, "background", "unsupported_parameter"},
		{`{"top_logprobs":2}`, "top_logprobs", "unsupported_parameter"},
		{`{"include":["message.output_text.logprobs"]}`, "include", "unsupported_parameter"},
		{`{"prompt":{"id":"p"}}`, "prompt", "unsupported_parameter"},
		{`{"input":[{"type":"item_reference","id":"x"}]}`, "input[0]", "unsupported_parameter"},
		{`{"input":[{"role":"user","content":"a"},{"id":"x"}]}`, "input[1]", "unsupported_parameter"},
		{`{"input":[{"type":"compaction","encrypted_content":"x"}]}`, "input[0]", "unsupported_parameter"},
		{`{"input":[{"role":"critic","content":"a"}]}`, "input[0].role", "invalid_value"},
		{`{"input":[{"role":"user","content":[{"type":"input_audio"}]}]}`, "input[0].content[0].type", "unsupported_parameter"},
		{`{"input":[{"role":"user","content":[{"type":"input_image"}]}]}`, "input[0].content[0]", "missing_required_parameter"},
		{`{"input":[{"type":"function_call","name":"f"}]}`, "input[0].call_id", "missing_required_parameter"},
		{`{"input":[{"type":"custom_tool_call","call_id":"c"}]}`, "input[0].name", "missing_required_parameter"},
		{`{"input":[{"type":"function_call_output","output":"x"}]}`, "input[0].call_id", "missing_required_parameter"},
		{`{"input":"x","tools":[{"type":"namespace","tools":[]}]}`, "tools[0].name", "missing_required_parameter"},
		{`{"input":"x","tool_choice":{"type":"function"}}`, "tool_choice.name", "missing_required_parameter"},
		{`{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/svg+xml,x"}]}]}`, "input[0].content[0].image_url", "invalid_value"},
		{`{"input":[{"role":"user","content":[{"type":"input_file"}]}]}`, "input[0].content[0]", "missing_required_parameter"},
		{`{"tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search_preview"}}`, "tool_choice", "unsupported_parameter"},
		{`{"tools":[{"type":"web_search"}],"tool_choice":"required"}`, "tool_choice", "unsupported_parameter"},
		{`{"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"mcp","server_label":"x"}]}}`, "tool_choice", "unsupported_parameter"},
		{`{"tool_choice":"any"}`, "tool_choice", "invalid_value"},
		{`{"tool_choice":3}`, "tool_choice", "invalid_value"},
		{`{"tools":[{"type":"namespace","name":"a","tools":[{"type":"namespace","name":"b"}]}]}`, "tools[0].tools[0]", "invalid_value"},
		{`{"text":{"format":{"type":"xml"}}}`, "text.format.type", "invalid_value"},
		{`{"metadata":[]}`, "metadata", "invalid_value"},
		{`{"metadata":{"a":1}}`, "metadata.a", "invalid_value"},
		{`{"input":[{"role":"user","content":[{"type":"input_text","text":3}]}]}`, "input[0].content[0].text", "invalid_value"},
		{`{"input":7}`, "input", "invalid_value"},
		{`[]`, "", "invalid_value"},
		{`{"input":`, "", "invalid_json"},
		{"{\"input\":\"\xff\"}", "", "invalid_json"},
		{``, "", "invalid_json"},
	} {
		_, err := codec.DecodeRequest([]byte(c.body))
		e, ok := errors.AsType[*app.Error](err)
		if !ok || e.Kind != app.Invalid || e.Param != c.param || e.Code != c.code {
			t.Errorf("%s\ngot  %#v\nwant %s at %q", c.body, e, c.code, c.param)
		}
	}
}

func TestAToolThatIsDroppedMayStandBesideARequiredOne(t *testing.T) {
	t.Parallel()
	r, err := codec.DecodeRequest([]byte(`{"tools":[{"type":"web_search"},{"type":"function","name":"f"}],"tool_choice":"required"}`))
	if err != nil || r.Choice.Mode != llm.ChooseRequired || len(r.Tools) != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
}
