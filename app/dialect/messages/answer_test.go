package messages_test

import (
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/dialect/messages"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

const shell = `{"id":"msg_01test","type":"message","role":"assistant","model":"meridian/atlas",`

func TestABodyIsReadAndWritten(t *testing.T) {
	t.Parallel()
	cost := 43_000 * app.Nano
	r, err := messages.Codec{}.DecodeResponse([]byte(`{"id":"msg_up","type":"message","role":"assistant","model":"up","content":[
		{"type":"thinking","thinking":"Hm.","signature":"sig"},{"type":"redacted_thinking","data":"xx"},
		{"type":"server_tool_use","id":"s","name":"web_search","input":{}},
		{"type":"text","text":"Hello","citations":null},
		{"type":"tool_use","id":"t1","name":"f","input":{ "z": 1.10, "n": 12345678901234567890 }},
		{"type":"tool_use","name":"g","input":{}}],
		"stop_reason":"end_turn","stop_sequence":null,
		"usage":{"input_tokens":9,"cache_read_input_tokens":4,"cache_creation_input_tokens":2,"output_tokens":12,"output_tokens_details":{"thinking_tokens":5}}}`),
		llmtest.NewOptions())
	if err != nil {
		t.Fatal(err)
	}
	want := &llm.Response{ID: "msg_up", Stop: llm.StopToolCalls, Reported: true, Parts: []llm.Part{
		{Kind: llm.Reasoning, Text: "Hm.", Signature: "sig"}, {Kind: llm.Reasoning, Signature: "xx", Redacted: true}, text("Hello"),
		{Kind: llm.Call, Call: llm.ToolCall{ID: "t1", Name: "f", Arguments: `{"z":1.10,"n":12345678901234567890}`}},
		{Kind: llm.Call, Call: llm.ToolCall{ID: "call_01test_1", Name: "g", Arguments: `{}`}},
	}, Usage: llm.Usage{Input: 9, CacheRead: 4, CacheWrite: 2, Output: 12, Reasoning: 5}}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("got  %+v\nwant %+v", r, want)
	}
	r.Cost = &cost
	got := messages.Codec{}.EncodeResponse(nil, r, llmtest.NewOptions())
	loadSchemas(t).fits(t, "Message", got)
	const wire = shell + `"content":[{"type":"thinking","thinking":"Hm.","signature":"sig"},{"type":"redacted_thinking","data":"xx"},` +
		`{"type":"text","text":"Hello","citations":null},` +
		`{"type":"tool_use","id":"t1","name":"f","caller":{"type":"direct"},"input":{"z":1.10,"n":12345678901234567890}},` +
		`{"type":"tool_use","id":"call_01test_1","name":"g","caller":{"type":"direct"},"input":{}}],` +
		`"stop_reason":"tool_use","stop_sequence":null,"stop_details":null,"container":null,"diagnostics":null,"usage":{"input_tokens":9,` +
		`"cache_creation_input_tokens":2,"cache_read_input_tokens":4,"output_tokens":12,"output_tokens_details":{"thinking_tokens":5},` +
		`"server_tool_use":null,"cache_creation":null,"service_tier":null,"inference_geo":null,"speed":null,"cost":0.000043}}`
	if string(got) != wire {
		t.Errorf("got  %s\nwant %s", got, wire)
	}
}

func TestBodiesThatAreNoAnswerAreToldApart(t *testing.T) {
	t.Parallel()
	for body, upstream := range map[string]bool{
		``: false, `{`: false, `[]`: false, `null`: false, `{}`: false, `"text"`: false,
		`{"type":"message","content":"text","stop_reason":"end_turn"}`:                      false,
		`{"type":"message","content":[{"type":"text","text":"cut"}],"stop_reason":null}`:    false,
		`{"type":"message","content":[7],"stop_reason":"end_turn"}`:                         false,
		`{"type":"message","stop_reason":"end_turn"}`:                                       false,
		`{"type":"error","error":{"type":"api_error","message":"no"},"request_id":"req_1"}`: true,
		`{"error":{"message":"no"}}`:                                                        true,
		`{"code":429,"error":"no"}`:                                                         true,
	} {
		r, err := messages.Codec{}.DecodeResponse([]byte(body), llmtest.NewOptions())
		bad, ok := errors.AsType[*llm.UpstreamError](err)
		if r != nil || ok != upstream || !ok && !errors.Is(err, llm.ErrBroken) || ok && string(bad.Body) != body {
			t.Errorf("%s: %+v, %v", body, r, err)
		}
	}
}

func TestOddMembersDoNotBreakAnAnswer(t *testing.T) {
	t.Parallel()
	r, err := messages.Codec{}.DecodeResponse([]byte(`{"id":7,"id":"a","type":"message","content":[{"type":"text","text":7},{"type":"text","text":"\ud83d!"},`+
		`{"type":9}],"stop_reason":"brand_new","stop_sequence":{},"usage":[],"error":null}`), llmtest.NewOptions())
	if err != nil || r.ID != "a" || r.Stop != llm.StopOther || r.Reported || r.Usage != (llm.Usage{}) || r.Parts[1].Text != "\ufffd!" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAUsageIsReportedCountByCount(t *testing.T) {
	t.Parallel()
	noInput, noOutput := llm.Usage{Output: 1, Doubts: llm.InputUnknown}, llm.Usage{Input: 1, Doubts: llm.OutputUnknown}
	for usage, want := range map[string]llm.Usage{
		`{"input_tokens":1,"output_tokens":1}`:                                                             {Input: 1, Output: 1},
		`{"input_tokens":1.0,"output_tokens":1e2}`:                                                         {Input: 1, Output: 100},
		`{"input_tokens":1,"output_tokens":1,"cache_read_input_tokens":null,"output_tokens_details":null}`: {Input: 1, Output: 1},
		`null`: {}, `7`: {}, `{}`: {}, `{"input_tokens":1}`: noOutput, `{"output_tokens":1}`: noInput,
		`{"input_tokens":-1,"output_tokens":1}`:                                              noInput,
		`{"input_tokens":-1,"output_tokens":-1}`:                                             {},
		`{"input_tokens":1,"output_tokens":"1"}`:                                             noOutput,
		`{"input_tokens":1,"output_tokens":1.5}`:                                             noOutput,
		`{"input_tokens":99999999999999999999,"output_tokens":1}`:                            noInput,
		`{"input_tokens":1,"output_tokens":1,"output_tokens_details":{"thinking_tokens":2}}`: {Input: 1, Output: 1, Doubts: llm.PartUnknown},
		`{"input_tokens":1,"output_tokens":1,"cache_creation_input_tokens":-5}`:              {Input: 1, Output: 1, Doubts: llm.PartUnknown},
	} {
		r, err := messages.Codec{}.DecodeResponse([]byte(`{"content":[],"stop_reason":"end_turn","usage":`+usage+`}`), llmtest.NewOptions())
		if err != nil || r.Usage != want || r.Reported != (want != llm.Usage{}) {
			t.Errorf("%s: %+v, %v", usage, r, err)
		}
	}
}

func TestEachReasonHasItsWord(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	say := llm.Part{Kind: llm.Text, Text: "x"}
	for _, c := range []struct {
		stop llm.Stop
		part llm.Part
		word string
		back llm.Stop
	}{
		{llm.StopEnd, say, "end_turn", llm.StopEnd},
		{llm.StopSequence, say, "stop_sequence", llm.StopSequence},
		{llm.StopLength, say, "max_tokens", llm.StopLength},
		{llm.StopContextFull, say, "model_context_window_exceeded", llm.StopContextFull},
		{llm.StopToolCalls, say, "end_turn", llm.StopEnd},
		{llm.StopFilter, say, "refusal", llm.StopRefusal},
		{llm.StopRefusal, say, "refusal", llm.StopRefusal},
		{llm.StopPause, say, "pause_turn", llm.StopPause},
		{llm.StopMalformed, say, "end_turn", llm.StopEnd},
		{llm.StopOther, say, "end_turn", llm.StopEnd},
		{"", say, "end_turn", llm.StopEnd},
		{llm.StopEnd, llm.Part{Kind: llm.Refusal, Text: "No."}, "refusal", llm.StopRefusal},
		{llm.StopEnd, llm.Part{Kind: llm.Call, Call: llm.ToolCall{Name: "f"}}, "tool_use", llm.StopToolCalls},
		{llm.StopToolCalls, llm.Part{Kind: llm.Call, Call: llm.ToolCall{Name: "f", Arguments: `{"a":`}}, "max_tokens", llm.StopLength},
	} {
		r := &llm.Response{Stop: c.stop, Parts: []llm.Part{c.part}}
		body := messages.Codec{}.EncodeResponse(nil, r, llmtest.NewOptions())
		s.fits(t, "Message", body)
		stream := encodeStream(llm.Unfold(nil, r))
		s.stream(t, stream)
		again, err := messages.Codec{}.DecodeResponse(body, llmtest.NewOptions())
		events, err2 := llmtest.DecodeStream(messages.Codec{}.Decoder(llmtest.NewOptions()), stream)
		if err != nil || err2 != nil || again.Stop != c.back || llm.Fold(events).Stop != c.back {
			t.Errorf("%s: %v %v\n%s\n%s", c.stop, err, err2, body, stream)
		}
		if llm.StopOf(c.word) != c.back {
			t.Errorf("StopOf(%s) = %s", c.word, llm.StopOf(c.word))
		}
	}
	if llm.StopOf("") != "" || llm.StopOf("brand_new") != llm.StopOther {
		t.Error("no word is no reason, and a new one is another")
	}
}

func TestTextsOfAnyBytesBecomeValidAnswers(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	rapid.Check(t, func(rt *rapid.T) {
		odd := string(rapid.SliceOf(rapid.Byte()).Draw(rt, "bytes"))
		arguments := odd
		if rapid.Bool().Draw(rt, "in a string") {
			arguments = `{"a":"` + odd + `"}`
		}
		r := &llm.Response{Stop: llm.StopSequence, StopText: odd, Parts: []llm.Part{
			text(odd), {Kind: llm.Reasoning, Text: odd, Signature: odd}, {Kind: llm.Refusal, Text: odd},
			{Kind: llm.Call, Call: llm.ToolCall{ID: odd, Name: odd, Arguments: arguments}},
		}, Usage: llm.Usage{Input: -1}}
		s.fits(t, "Message", messages.Codec{}.EncodeResponse(nil, r, llmtest.NewOptions()))
		s.stream(t, encodeStream(llm.Unfold(nil, r)))
	})
}

func encodeStream(events []llm.Event) []byte {
	e := messages.Codec{}.Encoder(llmtest.NewOptions())
	var wire []byte
	for i := range events {
		wire = e.Append(wire, &events[i])
	}
	return wire
}
