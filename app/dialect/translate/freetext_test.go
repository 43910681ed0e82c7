package translate

import (
	"strings"
	"testing"

	"umg/app/dialect"
	"umg/app/llm"
	"umg/app/sse"
)

const patchTool = `{"type":"custom","name":"apply_patch","description":"Edits files.",` +
	`"format":{"type":"grammar","syntax":"lark","definition":"start: \"***\" /.+/"}}`

// patching is a conversation of an editor whose tool takes free text, with one call made before.
const patching = `{"model":"m","stream":true,"tools":[` + patchTool + `,{"type":"namespace","name":"docs","tools":[{"type":"custom","name":"note"}]}],` +
	`"tool_choice":{"type":"custom","name":"apply_patch"},"input":[{"role":"user","content":"q"},` +
	`{"type":"custom_tool_call","call_id":"c0","name":"apply_patch","input":"*** \"a\"\n"},` +
	`{"type":"custom_tool_call_output","call_id":"c0","output":"done"}]}`

func TestToolsThatTakeFreeTextAreFunctionsWhereNothingElseIs(t *testing.T) {
	t.Parallel()
	client, _ := dialect.Of(llm.Responses)
	r, err := client.Read([]byte(patching))
	if err != nil {
		t.Fatal(err)
	}
	for style, want := range map[llm.Style][]string{
		llm.Messages: {
			`{"name":"apply_patch","description":"Edits files.\n\nThe input follows this grammar (lark):\nstart: \"***\" /.+/","input_schema":` + freeTextParameters,
			`{"name":"docs__note","input_schema":` + freeTextParameters,
			`"tool_choice":{"type":"tool","name":"apply_patch"}`, `"name":"apply_patch","input":{"input":"*** \"a\"\n"}`,
		},
		llm.Native: {
			`"parametersJsonSchema":` + freeTextParameters, `"allowedFunctionNames":["apply_patch"]`,
			`"name":"apply_patch","args":{"input":"*** \"a\"\n"}`, `"response":{"output":"done"}`,
		},
		llm.Chat: {`"type":"custom","custom":{"name":"apply_patch"`, `"custom":{"name":"apply_patch","input":"*** \"a\"\n"}`},
	} {
		upstream, _ := dialect.Of(style)
		way, err := New(client, upstream, r, "maker", 4096)
		if err == nil {
			err = way.Prepare()
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(string(way.body), part) {
				t.Errorf("%s: no %s in %s", style, part, way.body)
			}
		}
		lost := "tools (custom).format"
		if style == llm.Chat {
			lost = ""
		}
		if way.Dropped() != lost {
			t.Errorf("%s: dropped %q", style, way.Dropped())
		}
	}
	if !r.Tools[0].Custom || !r.Turns[1].Parts[0].Call.Custom {
		t.Error("the client's request was changed")
	}
}

func TestTheInputOfSuchAFunctionComesBackAsText(t *testing.T) {
	t.Parallel()
	client, _ := dialect.Of(llm.Responses)
	upstream, _ := dialect.Of(llm.Messages)
	r, err := client.Read([]byte(patching))
	if err != nil {
		t.Fatal(err)
	}
	way, err := New(client, upstream, r, "maker", 4096)
	if err != nil {
		t.Fatal(err)
	}
	options := llm.ResponseOptions{Model: "m", CallID: "req_1"}
	body, err := way.ReadBody([]byte(`{"type":"message","content":[{"type":"tool_use","id":"c1","name":"apply_patch","input":{"input":"*** é\n"}}],`+
		`"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`), options)
	if err != nil {
		t.Fatal(err)
	}
	const want = `"type":"custom_tool_call","call_id":"c1","name":"apply_patch","input":"*** é\n"}`
	if got := string(body.Append(nil, llm.Charge{})); !strings.Contains(got, want) {
		t.Errorf("whole: %s", got)
	}
	stream := way.NewStream(options)
	var out []byte
	for _, data := range []string{
		`{"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c1","name":"apply_patch","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"input\":\"*** \\u00"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"e9\\n\"}"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"c0","name":"docs__note","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"text\":\"x\"}"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`, `{"type":"message_stop"}`,
	} {
		out, _, err = stream.Frame(out, sse.Frame{Raw: []byte("x"), Data: []byte(data)})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := string(stream.Finish(out, llm.Charge{}))
	for _, part := range []string{
		want, `"type":"response.custom_tool_call_input.delta"`, `"delta":"*** é\n"`,
		`"call_id":"c0_1","namespace":"docs","name":"note","input":"x"}`, // Another call has the id c0.
	} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in %s", part, got)
		}
	}
	if strings.Contains(got, "function_call_arguments") {
		t.Error(got)
	}
}

func TestFreeTextIsReadInWhateverFormAModelGivesIt(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"input":"a\nb"}`: "a\nb", `{"patch":"a"}`: "a", `{"input":"a","x":1}`: "a", `{}`: "{}", `*** a`: "*** a", `{"input":1}`: `{"input":1}`,
		`{"input":"a`: `{"input":"a`, ``: ``, `"a"`: `"a"`,
	} {
		if got := unwrapFreeText(arguments); got != want {
			t.Errorf("%s: %q", arguments, got)
		}
	}
}
