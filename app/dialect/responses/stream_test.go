package responses_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"umg/app/llm"
	"umg/app/llm/llmtest"
)

func TestRecordedStreamsAreReadAsMeant(t *testing.T) {
	t.Parallel()
	const counted = " 5 4 0 12 "
	for _, c := range []struct {
		file, want string
		err        error
	}{
		{"responses_text", "start resp_fx1\ntext\n  \"Hel\"\n  \"lo\"\nend\nfinish stop" + counted + "0\n", nil},
		{"responses_tool", "start resp_fx1\ncall call_a1 get_weather\n  \"{\\\"city\\\":\"\n  \"\\\"Rome\\\"}\"\nend\n" +
			"call call_b2 get_time\n  \"{}\"\nend\nfinish tool_calls" + counted + "0\n", nil},
		{"responses_reasoning", "start resp_fx1\nreasoning\n  \"think \"\n  \"more\"\nend\ntext\n  \"42\"\nend\nfinish stop" + counted + "0\n", nil},
		{"responses_reasoning_text", "start resp_fx1\nreasoning\n  \"think\"\nend\ntext\n  \"42\"\nend\nfinish stop" + counted + "0\n", nil},
		{"responses_incomplete", "start resp_fx1\ntext\n  \"Hel\"\nend\nfinish length" + counted + "0\n", nil},
		{"responses_failed", "start resp_fx1\ntext\n  \"Hel\"\n", &llm.UpstreamError{}},
		{"bad_errorflat", "start resp_fx1\ntext\n  \"Hel\"\n", &llm.UpstreamError{}},
		{"bad_errornested", "start resp_fx1\ntext\n  \"Hel\"\n", &llm.UpstreamError{}},
		{"bad_nocreated", "start \ntext\n  \"Hel\"\n  \"lo\"\nend\nfinish stop" + counted + "0\n", nil},
		{"bad_noid", "start resp_fx1\ntext\n  \"Hel\"\n  \"lo\"\nend\nfinish stop" + counted + "0\n", nil},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile("testdata/" + c.file + ".sse")
			if err != nil {
				t.Fatal(err)
			}
			got, err := decodeAll(t, string(data))
			if got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
			if upstream, ok := errors.AsType[*llm.UpstreamError](err); (c.err == nil) != (err == nil) ||
				c.err != nil && (!ok || !strings.Contains(string(upstream.Body), "upstream failed")) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestSimulatedAnswersAreReadAlikeAsStreamAndAsBody runs through all that the simulated upstream can say.
func TestSimulatedAnswersAreReadAlikeAsStreamAndAsBody(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../simulator/testdata/golden/responses_*.sse")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded answers", err)
	}
	for _, file := range files {
		frames, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		body, err := os.ReadFile(strings.TrimSuffix(file, ".sse") + ".json")
		if err != nil {
			t.Fatal(err)
		}
		events, err := llmtest.DecodeStream(codec.Decoder(llmtest.NewOptions()), frames)
		if fault := llmtest.Legal(events); err != nil || fault != "" {
			t.Errorf("%s: %v %s", file, err, fault)
		}
		whole, err := codec.DecodeResponse(body, llmtest.NewOptions())
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		fromStream, fromBody := llm.Unfold(nil, llm.Fold(events)), llm.Unfold(nil, whole)
		if got, want := describe(fromStream), describe(fromBody); got != want {
			t.Errorf("%s: the stream says\n%sand the body\n%s", file, got, want)
		}
		if !whole.Reported || len(whole.Parts) == 0 && whole.Stop == llm.StopEnd {
			t.Errorf("%s: %+v", file, whole)
		}
	}
}

const completed = `{"type":"response.completed","response":{"id":"r","usage":{"input_tokens":1,"output_tokens":2}}}`

func TestStreamsOfSloppyServersAreRead(t *testing.T) {
	t.Parallel()
	const finish = "finish stop 1 0 0 2 0\n"
	for _, c := range []struct{ name, stream, want string }{
		{"nothing but the end", stream(completed), "start r\n" + finish},
		{"items only at the end", stream(`{"type":"response.completed","response":{"output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"e"},
			{"type":"web_search_call"},{"type":"message","content":[{"type":"output_text","text":"c"},{"type":"refusal","refusal":"d"}]}]}}`),
			"start \nreasoning\n  \"a\\n\\nb\"\nend signed e\ntext\n  \"c\"\nend\nrefusal\n  \"d\"\nend\nfinish refusal\n"},
		{"items without deltas", stream(`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"a"}]}}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}`, completed),
			"start \ntext\n  \"a\"\nend\ncall c f\n  \"{}\"\nend\nfinish tool_calls 1 0 0 2 0\n"},
		{"texts without deltas", stream(`{"type":"response.output_text.done","text":"a"}`, `{"type":"response.content_part.done","part":{"type":"output_text","text":"a"}}`, completed),
			"start \ntext\n  \"a\"\nend\n" + finish},
		{"content as a text", stream(`{"type":"response.output_item.done","item":{"type":"message","content":"a"}}`, completed), "start \ntext\n  \"a\"\nend\n" + finish},
		{"arguments when the call is announced", stream(`{"type":"response.output_item.added","item":{"type":"function_call","call_id":"c","name":"f","arguments":"{\"a\":1}"}}`, completed),
			"start \ncall c f\n  \"{\\\"a\\\":1}\"\nend\nfinish tool_calls 1 0 0 2 0\n"},
		{"arguments twice", stream(`{"type":"response.output_item.added","item":{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}}`,
			`{"type":"response.function_call_arguments.delta","delta":"{}"}`, `{"type":"response.function_call_arguments.done","arguments":"{}"}`, completed),
			"start \ncall c f\n  \"{}\"\nend\nfinish tool_calls 1 0 0 2 0\n"},
		{"a call without an id", stream(`{"type":"response.output_item.added","item":{"type":"function_call","name":"f"}}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","name":"g"}}`, completed),
			"start \ncall call_01test f\nend\ncall call_01test_1 g\nend\nfinish tool_calls 1 0 0 2 0\n"},
		{"every item has the same place", stream(`{"type":"response.output_item.added","item":{"type":"message"}}`, `{"type":"response.output_text.delta","delta":"a"}`,
			`{"type":"response.output_item.added","item":{"type":"custom_tool_call","call_id":"c","name":"f","namespace":"n"}}`,
			`{"type":"response.custom_tool_call_input.delta","delta":"ls"}`, completed),
			"start \ntext\n  \"a\"\nend\ncall c f in n custom\n  \"ls\"\nend\nfinish tool_calls 1 0 0 2 0\n"},
		{"items at the same time", stream(`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f"}}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"b","name":"g"}}`,
			`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"1"}`, `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"2"}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call"}}`, `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"3"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call"}}`, completed),
			"start \ncall a f\n  \"2\"\n  \"3\"\nend\ncall b g\n  \"1\"\nend\nfinish tool_calls 1 0 0 2 0\n"},
		{"paragraphs of a thought", stream(`{"type":"response.output_item.added","item":{"type":"reasoning"}}`, `{"type":"response.reasoning_summary_text.delta","summary_index":0,"delta":"a"}`,
			`{"type":"response.reasoning_summary_text.done","summary_index":0,"text":"a"}`, `{"type":"response.reasoning_summary_part.added","summary_index":1,"part":{"type":"summary_text","text":""}}`,
			`{"type":"response.reasoning_summary_text.delta","summary_index":1,"delta":"b"}`, `{"type":"response.output_item.done","item":{"type":"reasoning","encrypted_content":"e"}}`, completed),
			"start \nreasoning\n  \"a\"\n  \"\\n\\n\"\n  \"b\"\nend signed e\n" + finish},
		{"a thought that is withheld", stream(`{"type":"response.output_item.added","item":{"type":"reasoning","summary":[]}}`,
			`{"type":"response.output_item.done","item":{"type":"reasoning","summary":[],"encrypted_content":"e"}}`, completed), "start \nreasoning\nend signed e redacted\n" + finish},
		{"a thought of nothing", stream(`{"type":"response.output_item.done","item":{"type":"reasoning","summary":[]}}`, completed), "start \n" + finish},
		{"unknown frames", stream(`{"type":"response.created","response":{"id":"r"}}`, `{"type":"response.new.delta","delta":{"x":1}}`, `{"type":"keepalive"}`, `[DONE]`,
			`{"type":"response.output_text.annotation.added","annotation":{}}`, `{"type":"response.web_search_call.searching","output_index":0}`, completed), "start r\n" + finish},
		{"frames that cannot be read", stream(`{"type":"response.created"`, `7`, `{"type":"response.output_text.delta","delta":7}`, `{"type":"response.output_text.delta","delta":"a"}`, completed),
			"start \ntext\n  \"a\"\nend\n" + finish},
		{"deltas of a call that was not announced", stream(`{"type":"response.function_call_arguments.delta","delta":"{}"}`, completed), "start r\n" + finish},
		{"deltas of an item that is over", stream(`{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"a"}]}}`,
			`{"type":"response.output_text.delta","delta":"b"}`, completed), "start \ntext\n  \"a\"\nend\n" + finish},
		{"no usage", stream(`{"type":"response.completed"}`), "start \nfinish stop\n"},
		{"usage that cannot be", stream(`{"type":"response.completed","response":{"usage":{"input_tokens":1,"input_tokens_details":{"cached_tokens":2},"output_tokens":2}}}`), "start \nfinish stop 0 1 0 2 0\n"},
		{"usage that is none", stream(`{"type":"response.completed","response":{"usage":{"input_tokens":"1","output_tokens":2.5}}}`), "start \nfinish stop\n"},
		{"an unknown reason", stream(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"tired"}}}`), "start \nfinish other\n"},
		{"a filter", stream(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}`), "start \nfinish content_filter\n"},
		{"the type in the event line only", "event: response.completed\ndata: {\"response\":{\"id\":\"r\"}}\n\n", "start r\nfinish stop\n"},
		{"bytes that are no text", stream("{\"type\":\"response.output_text.delta\",\"delta\":\"a\xff\\ud83d\"}", completed), "start \ntext\n  \"a\ufffd\ufffd\"\nend\n" + finish},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := decodeAll(t, strings.ReplaceAll(c.stream, "\n\t\t\t", ""))
			if got != c.want || err != nil {
				t.Errorf("got\n%swant\n%s%v", got, c.want, err)
			}
		})
	}
}

func TestAStreamWithoutItsEndIsCut(t *testing.T) {
	t.Parallel()
	for _, wire := range []string{
		"", stream("[DONE]"), stream(`{"type":"response.output_text.delta","delta":"a"}`, "[DONE]"), stream(`{"type":"response.in_progress"}`),
	} {
		if got, err := decodeAll(t, wire); !errors.Is(err, llm.ErrCut) || strings.Contains(got, "finish") {
			t.Errorf("%q: %s %v", wire, got, err)
		}
	}
}

func TestErrorsInAStreamAreTheUpstreams(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ data, want string }{
		{`{"type":"error","code":"c","message":"m","param":null,"sequence_number":5}`, `{"error":{"type":"error","code":"c","message":"m","param":null,"sequence_number":5}}`},
		{`{"type":"error","error":{"code":"c"}}`, `{"error":{"code":"c"}}`},
		{`{"error":{"code":"c"}}`, `{"error":{"code":"c"}}`},
		{`{"type":"response.failed","response":{"output":[1],"error":{"code":"server_error"}}}`, `{"error":{"code":"server_error"}}`},
		{`{"type":"response.failed"}`, `{"error":null}`},
	} {
		d := codec.Decoder(llmtest.NewOptions())
		_, err := d.Decode(nil, nil, []byte(c.data))
		upstream, ok := errors.AsType[*llm.UpstreamError](err)
		if !ok || string(upstream.Body) != c.want {
			t.Errorf("%s: %v", c.data, err)
		}
		if events, err := d.Decode(nil, nil, []byte(completed)); len(events) > 0 || err != nil {
			t.Errorf("after the error: %v, %v", events, err)
		}
		if _, err := d.End(nil); !errors.Is(err, llm.ErrCut) {
			t.Errorf("after the error the end is %v", err)
		}
	}
}

func TestAnErrorThatIsNullIsNone(t *testing.T) {
	t.Parallel()
	got, err := decodeAll(t, stream(`{"type":"response.output_text.delta","delta":"a","error":null}`, completed))
	if err != nil || !strings.Contains(got, "finish") {
		t.Errorf("got %s %v", got, err)
	}
}

func TestBodiesAreReadAsMeant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body, want string
		err        error
	}{
		{`{"id":"r","status":"completed","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"a"}]}]}`, "start r\ntext\n  \"a\"\nend\nfinish stop\n", nil},
		{`{"output":[]}`, "start \nfinish stop\n", nil},
		{`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}`, "start \nfinish length\n", nil},
		{`{"status":"incomplete","incomplete_details":null,"output":[]}`, "start \nfinish other\n", nil},
		{`{"status":"completed","output":[{"type":"message","content":7},{"type":9},7,{"type":"function_call","name":"f"}]}`, "start \ncall call_01test f\nend\nfinish tool_calls\n", nil},
		{`{"status":"failed","error":{"code":"server_error"},"output":[]}`, "", &llm.UpstreamError{}},
		{`{"status":"failed","output":[]}`, "", &llm.UpstreamError{}},
		{`{"error":{"message":"m"}}`, "", &llm.UpstreamError{}},
		{`{"status":"queued","output":[]}`, "", llm.ErrBroken},
		{`{"status":"cancelled","output":[]}`, "", llm.ErrBroken},
		{`{"status":"completed"}`, "", llm.ErrBroken},
		{`{"choices":[]}`, "", llm.ErrBroken},
		{`[]`, "", llm.ErrBroken},
		{``, "", llm.ErrBroken},
	} {
		r, err := codec.DecodeResponse([]byte(c.body), llmtest.NewOptions())
		if c.err != nil {
			if _, ok := errors.AsType[*llm.UpstreamError](err); ok != (c.err != llm.ErrBroken) || !ok && !errors.Is(err, llm.ErrBroken) {
				t.Errorf("%s: %v", c.body, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		events := llm.Unfold(nil, r)
		if got := describe(events); got != c.want {
			t.Errorf("got\n%swant\n%s", got, c.want)
		}
	}
}

func TestAStreamIsTheSameWhereverItIsSplit(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/responses_tool.sse")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := decodeAll(t, string(data))
	for _, ends := range []string{"\r\n", "\r"} {
		if got, err := decodeAll(t, string(bytes.ReplaceAll(data, []byte("\n"), []byte(ends)))); got != want || err != nil {
			t.Errorf("with lines that end in %q: %s %v", ends, got, err)
		}
	}
}

func TestStopWordsAreReadAndWritten(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]llm.Stop{
		"completed": llm.StopEnd, "max_output_tokens": llm.StopLength, "content_filter": llm.StopFilter, "failed": llm.StopMalformed,
		"incomplete": llm.StopOther, "": "",
	} {
		if got := llm.StopOf(word); got != want {
			t.Errorf("%q is %q, want %q", word, got, want)
		}
	}
	for stop, want := range map[llm.Stop]string{
		llm.StopEnd: `"completed"null`, llm.StopSequence: `"completed"null`, llm.StopToolCalls: `"completed"null`, llm.StopPause: `"completed"null`,
		llm.StopLength: `"incomplete"{"reason":"max_output_tokens"}`, llm.StopContextFull: `"incomplete"{"reason":"max_output_tokens"}`,
		llm.StopFilter: `"incomplete"{"reason":"content_filter"}`, llm.StopRefusal: `"incomplete"{"reason":"content_filter"}`,
		llm.StopMalformed: `"failed"null`, llm.StopOther: `"failed"null`, "": `"failed"null`,
	} {
		m := members(t, codec.EncodeResponse(nil, &llm.Response{Stop: stop}, llmtest.NewOptions()))
		if got := text(m["status"]) + text(m["incomplete_details"]); got != want {
			t.Errorf("%q is %s, want %s", stop, got, want)
		}
		if (m["error"] != nil) != (m["status"] == "failed") {
			t.Errorf("%q has the error %v", stop, m["error"])
		}
	}
	refused := &llm.Response{Stop: llm.StopRefusal, Parts: []llm.Part{{Kind: llm.Refusal, Text: "No"}}}
	if m := members(t, codec.EncodeResponse(nil, refused, llmtest.NewOptions())); m["status"] != "completed" {
		t.Errorf("a refusal in words is %v", m["status"])
	}
}
