package messages_test

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"umg/app"
	"umg/app/dialect/messages"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

// read is what a stream says, one event a line.
func read(t *testing.T, wire []byte) string {
	t.Helper()
	events, err := llmtest.DecodeStream(messages.Codec{}.Decoder(llmtest.NewOptions()), wire)
	if fault := llmtest.Legal(events); fault != "" {
		t.Errorf("not a legal stream: %s", fault)
	}
	var b strings.Builder
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case llm.EventStart:
			fmt.Fprintf(&b, "start %s %v\n", e.ID, e.Reported)
		case llm.EventPart:
			fmt.Fprintf(&b, "part %d %s%s\n", e.Part, e.Call.ID, e.Call.Name)
		case llm.EventDelta:
			fmt.Fprintf(&b, "+ %s\n", e.Delta)
		case llm.EventPartEnd:
			fmt.Fprintf(&b, "end %s%v\n", e.Signature, e.Redacted)
		case llm.EventFinish:
			u := e.Usage
			fmt.Fprintf(&b, "finish %s%s %v {%d %d %d %d %d}", e.Stop, e.StopText, e.Reported, u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning)
			if u.Doubts != 0 {
				fmt.Fprintf(&b, " doubts %d", u.Doubts)
			}
			b.WriteByte('\n')
		}
	}
	if err != nil {
		b.WriteString(err.Error() + "\n")
	}
	return b.String()
}

func lines(list ...string) string { return strings.Join(list, "\n") + "\n" }

// counted is how the usage of the sample streams reads.
const counted = " true {9 4 0 12 0}"

func TestSampleStreamsAreReadAsMeant(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	hello := lines("start msg_fx1 true", "part 1 ", "+ Hel", "+ lo", "end false", "finish stop"+counted)
	for name, want := range map[string]string{
		"text":     hello,
		"noevent":  hello,
		"thinking": lines("start msg_fx1 true", "part 8 ", "+ think ", "+ more", "end c2lnfalse", "part 1 ", "+ 42", "end false", "finish stop"+counted),
		"tool": lines("start msg_fx1 true", "part 1 ", "+ Let me check.", "end false",
			"part 6 toolu_a1get_weather", `+ {"city":`, `+ "Rome"}`, "end false", "part 6 toolu_b2get_time", "+ {}", "end false", "finish tool_calls"+counted),
		"err_mid":       lines("start msg_fx1 true", "part 1 ", "llm: the upstream sent an error"),
		"delta_nousage": lines("start msg_fx1 true", "part 1 ", "+ Hi", "end false", "finish stop false {0 0 0 0 0}"),
		"index_gap":     lines("start msg_fx1 true", "part 1 ", "+ Hi", "end false", "finish stop"+counted),
		"nostop":        lines("start msg_fx1 true", "part 1 ", "+ Hi", "end false", "finish stop true {9 4 0 3 0}"),
		"nousage":       lines("start msg_fx1 false", "part 1 ", "+ Hi", "end false", "finish stop"+counted),
	} {
		wire, err := os.ReadFile("testdata/messages_" + name + ".sse")
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, wire); got != want {
			t.Errorf("%s\ngot  %q\nwant %q", name, got, want)
		}
		if name == "err_mid" {
			continue
		}
		events, _ := llmtest.DecodeStream(messages.Codec{}.Decoder(llmtest.NewOptions()), wire)
		again := encodeStream(events)
		order(t, again)
		s.stream(t, again) // The output is valid even if the input is not.
		back, err := llmtest.DecodeStream(messages.Codec{}.Decoder(llmtest.NewOptions()), again)
		a, b := llm.Fold(events), llm.Fold(back)
		a.ID, b.ID, a.Reported, b.Reported = "", "", true, true
		if err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s changed: %v\n%s", name, err, again)
		}
	}
}

// streamOf is a stream of these data lines.
func streamOf(data ...string) []byte {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return []byte(b.String())
}

const (
	begin  = `{"type":"message_start","message":{"id":"a"}}`
	finish = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":1,"output_tokens":2}}`
	stop   = `{"type":"message_stop"}`
	ended  = "finish stop true {1 0 0 2 0}"
	called = "finish tool_calls true {1 0 0 2 0}"
)

func block(index int, content string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, content)
}

func delta(index int, content string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, content)
}

func blockEnd(index int) string {
	return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index)
}

func TestOddStreamsAreReadAsWellAsTheyCanBe(t *testing.T) {
	t.Parallel()
	const tool = `{"type":"tool_use","id":"t","name":"f","input":{}}`
	for name, c := range map[string]struct {
		wire []byte
		want string
	}{
		"nothing":            {nil, lines("llm: the stream ended before the answer did")},
		"only a ping":        {streamOf(`{"type":"ping"}`), lines("llm: the stream ended before the answer did")},
		"no start":           {streamOf(block(0, `{"type":"text","text":"a"}`), finish), lines("start  false", "part 1 ", "+ a", "end false", ended)},
		"two starts":         {streamOf(begin, begin, finish, stop), lines("start a false", ended)},
		"no content":         {streamOf(begin, finish, stop, stop), lines("start a false", ended)},
		"words of no block":  {streamOf(begin, delta(0, `{"type":"text_delta","text":"a"}`), finish, stop), lines("start a false", "part 1 ", "+ a", "end false", ended)},
		"no end of a block":  {streamOf(begin, block(0, `{"type":"text"}`), delta(0, `{"type":"text_delta","text":"a"}`), block(1, tool), finish, stop), lines("start a false", "part 1 ", "+ a", "end false", "part 6 tf", "+ {}", "end false", called)},
		"thoughts in a text": {streamOf(begin, block(0, `{"type":"text","text":""}`), delta(0, `{"type":"thinking_delta","thinking":"h"}`), delta(0, `{"type":"text_delta","text":"a"}`), finish, stop), lines("start a false", "part 1 ", "end false", "part 8 ", "+ h", "end false", "part 1 ", "+ a", "end false", ended)},
		"input at once":      {streamOf(begin, block(0, `{"type":"tool_use","id":"t","name":"f","input":{"a": 1.0}}`), blockEnd(0), finish, stop), lines("start a false", "part 6 tf", `+ {"a":1.0}`, "end false", called)},
		"input twice":        {streamOf(begin, block(0, `{"type":"tool_use","id":"t","name":"f","input":{"a":1}}`), delta(0, `{"type":"input_json_delta","partial_json":"{}"}`), finish, stop), lines("start a false", "part 6 tf", "+ {}", "end false", called)},
		"no id":              {streamOf(begin, block(0, `{"type":"tool_use","name":"f"}`), block(1, `{"type":"tool_use","name":"g"}`), finish, stop), lines("start a false", "part 6 call_01testf", "+ {}", "end false", "part 6 call_01test_1g", "+ {}", "end false", called)},
		"input of no call":   {streamOf(begin, delta(0, `{"type":"input_json_delta","partial_json":"{}"}`), finish, stop), lines("start a false", ended)},
		"a foreign index":    {streamOf(begin, block(0, tool), delta(1, `{"type":"input_json_delta","partial_json":"{"}`), finish, stop), lines("start a false", "part 6 tf", "+ {}", "end false", called)},
		"interleaved texts":  {streamOf(begin, block(0, `{"type":"text"}`), block(1, `{"type":"text"}`), delta(0, `{"type":"text_delta","text":"a"}`), blockEnd(0), blockEnd(1), finish, stop), lines("start a false", "part 1 ", "end false", "part 1 ", "end false", "part 1 ", "+ a", "end false", ended)},
		"unknown blocks":     {streamOf(begin, block(0, `{"type":"server_tool_use","id":"s"}`), delta(0, `{"type":"input_json_delta","partial_json":"{}"}`), blockEnd(0), block(1, `{"type":"text","text":"a"}`), delta(1, `{"type":"citations_delta","citation":{}}`), blockEnd(1), finish, stop), lines("start a false", "part 1 ", "+ a", "end false", ended)},
		"redacted":           {streamOf(begin, block(0, `{"type":"redacted_thinking","data":"xx"}`), blockEnd(0), finish, stop), lines("start a false", "part 8 ", "end xxtrue", ended)},
		"omitted thoughts":   {streamOf(begin, block(0, `{"type":"thinking","thinking":"","signature":""}`), delta(0, `{"type":"signature_delta","signature":"xx"}`), blockEnd(0), finish, stop), lines("start a false", "part 8 ", "end xxfalse", ended)},
		"broken frames":      {streamOf(begin, `{"type":`, `7`, `{"type":"content_block_delta","delta":7}`, `{"type":"content_block_start","content_block":7}`, finish, stop), lines("start a false", ended)},
		"odd values":         {streamOf(`{"type":"message_start","message":{"id":7,"usage":7}}`, `{"type":"content_block_start"}`, block(0, `{"type":"text","text":7}`), delta(0, `{"type":"text_delta","text":{}}`), finish, stop), lines("start  false", "part 1 ", "end false", ended)},
		"a foreign mark":     {streamOf(begin, `[DONE]`, finish, `[DONE]`), lines("start a false", ended)},
		"no reason":          {streamOf(begin, stop), lines("start a false", "llm: the stream ended before the answer did")},
		"a cut call":         {streamOf(begin, block(0, tool)), lines("start a false", "part 6 tf", "end false", "llm: the stream ended before the answer did")},
		"a reason in two":    {streamOf(begin, `{"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"END"}}`, `{"type":"message_delta","delta":{"stop_reason":null},"usage":{"input_tokens":1,"output_tokens":2}}`, stop), lines("start a false", "finish stop_sequenceEND true {1 0 0 2 0}")},
		"an error alone":     {streamOf(`{"error":{"message":"no"}}`), lines("llm: the upstream sent an error")},
		"an error of null":   {streamOf(`{"error":null}`, begin, finish, stop), lines("start a false", ended)},
		"half a character":   {streamOf(begin, block(0, `{"type":"text","text":"\ud83d"}`), finish, stop), lines("start a false", "part 1 ", "+ \ufffd", "end false", ended)},
	} {
		if got := read(t, c.wire); got != c.want {
			t.Errorf("%s\ngot  %q\nwant %q", name, got, c.want)
		}
	}
}

func TestAnErrorInAStreamKeepsItsBody(t *testing.T) {
	t.Parallel()
	data := []byte(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
	_, err := messages.Codec{}.Decoder(llmtest.NewOptions()).Decode(nil, []byte("error"), data)
	if e, ok := errors.AsType[*llm.UpstreamError](err); !ok || !reflect.DeepEqual(e.Body, data) || &e.Body[0] == &data[0] {
		t.Errorf("%v", err)
	}
}

func TestNothingFollowsTheEnd(t *testing.T) {
	t.Parallel()
	d := messages.Codec{}.Decoder(llmtest.NewOptions())
	var events []llm.Event
	var err error
	for _, data := range []string{begin, finish, stop} {
		events, err = d.Decode(events, nil, []byte(data))
	}
	if n := len(events); n != 2 || !errors.Is(err, llm.ErrEnd) {
		t.Fatalf("%d events, %v", n, err)
	}
	events, err = d.Decode(events, nil, []byte(begin))
	if len(events) != 2 || !errors.Is(err, llm.ErrEnd) {
		t.Errorf("%+v, %v", events, err)
	}
	if events, err = d.End(events); len(events) != 2 || err != nil {
		t.Errorf("%+v, %v", events, err)
	}
}

func TestAStreamIsWrittenToTheByte(t *testing.T) {
	t.Parallel()
	cost := 43_000 * app.Nano
	usage := llm.Usage{Input: 9, CacheRead: 4, CacheWrite: 1, Output: 12, Reasoning: 3}
	got := encodeStream([]llm.Event{
		{Kind: llm.EventStart, ID: "up", Usage: llm.Usage{Input: 9, CacheRead: 4}, Reported: true},
		{Kind: llm.EventPart, Part: llm.Reasoning}, {Kind: llm.EventDelta, Part: llm.Reasoning, Delta: "h\nm"},
		{Kind: llm.EventPartEnd, Part: llm.Reasoning}, // The thought has no signature.
		{Kind: llm.EventPart, Part: llm.Reasoning}, {Kind: llm.EventPartEnd, Part: llm.Reasoning, Signature: "xx", Redacted: true},
		{Kind: llm.EventPart, Part: llm.Text}, {Kind: llm.EventPartEnd, Part: llm.Text}, // The text is empty.
		{Kind: llm.EventPart, Part: llm.Text}, {Kind: llm.EventDelta, Part: llm.Text, Delta: "日本"}, {Kind: llm.EventPartEnd, Part: llm.Text},
		{Kind: llm.EventPart, Part: llm.Call, Call: llm.ToolCall{ID: "t", Name: "f"}}, {Kind: llm.EventDelta, Part: llm.Call, Delta: `{"a":1}`},
		{Kind: llm.EventPartEnd, Part: llm.Call},
		{Kind: llm.EventFinish, Stop: llm.StopToolCalls, Usage: usage, Reported: true, Cost: &cost},
	})
	order(t, got)
	loadSchemas(t).stream(t, got)
	want := strings.Join([]string{
		`message_start {"type":"message_start","message":` + shell + `"content":[],"stop_reason":null,"stop_sequence":null,"stop_details":null,"container":null,"diagnostics":null,` +
			`"usage":{"input_tokens":9,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":0,"output_tokens_details":null,"server_tool_use":null,` +
			`"cache_creation":null,"service_tier":null,"inference_geo":null,"speed":null}}}`,
		`content_block_start ` + block(0, `{"type":"thinking","thinking":"","signature":""}`),
		`content_block_delta ` + delta(0, `{"type":"thinking_delta","thinking":"h\nm"}`),
		`content_block_delta ` + delta(0, `{"type":"signature_delta","signature":""}`),
		`content_block_stop ` + blockEnd(0),
		`content_block_start ` + block(1, `{"type":"redacted_thinking","data":"xx"}`),
		`content_block_stop ` + blockEnd(1),
		`content_block_start ` + block(2, `{"type":"text","text":"","citations":null}`),
		`content_block_delta ` + delta(2, `{"type":"text_delta","text":"日本"}`),
		`content_block_stop ` + blockEnd(2),
		`content_block_start ` + block(3, `{"type":"tool_use","id":"t","name":"f","caller":{"type":"direct"},"input":{}}`),
		`content_block_delta ` + delta(3, `{"type":"input_json_delta","partial_json":"{\"a\":1}"}`),
		`content_block_stop ` + blockEnd(3),
		`message_delta {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null,"stop_details":null,"container":null},` +
			`"usage":{"input_tokens":9,"cache_creation_input_tokens":1,"cache_read_input_tokens":4,"output_tokens":12,"output_tokens_details":{"thinking_tokens":3},` +
			`"server_tool_use":null,"cost":0.000043}}`,
		`message_stop {"type":"message_stop"}`,
	}, "\n")
	var list []string
	for _, f := range frames(t, got) {
		list = append(list, f.event+" "+f.data)
	}
	if have := strings.Join(list, "\n"); have != want {
		t.Errorf("got\n%s\nwant\n%s", have, want)
	}
}

func TestAFailureIsAnErrorEventWhereverItStands(t *testing.T) {
	t.Parallel()
	e := messages.Codec{}.Encoder(llmtest.NewOptions())
	fault := app.Errorf(app.Upstream, "upstream_error", "It\nfailed.")
	const want = "event: error\n" + `data: {"type":"error","error":{"type":"api_error","message":"It\nfailed.","details":{"error_code":"upstream_error"}},"request_id":"req_1"}` + "\n\n"
	if got := string(e.Fail(nil, fault, "req_1", nil)); got != want {
		t.Errorf("%q", got)
	}
	dst := e.Append(nil, &llm.Event{Kind: llm.EventStart})
	dst = e.Append(dst, &llm.Event{Kind: llm.EventPart, Part: llm.Text})
	dst = e.Append(dst, &llm.Event{Kind: llm.EventDelta, Part: llm.Text, Delta: "a"})
	if got := string(e.Fail(dst, fault, "req_1", nil)[len(dst):]); got != want {
		t.Errorf("%q", got)
	}
}

func TestTheKeepAliveIsAPing(t *testing.T) {
	t.Parallel()
	if f := frames(t, []byte(messages.KeepAlive)); len(f) != 1 || f[0].event != "ping" || f[0].data != `{"type": "ping"}` {
		t.Errorf("%+v", f)
	}
}

func BenchmarkDecodeDelta(b *testing.B) {
	d := messages.Codec{}.Decoder(llmtest.NewOptions())
	event, data := []byte("content_block_delta"), []byte(delta(0, `{"type":"text_delta","text":"Hello, wörld\n"}`))
	var events []llm.Event
	b.ReportAllocs()
	for b.Loop() {
		events, _ = d.Decode(events[:0], event, data)
	}
}

func BenchmarkEncodeDelta(b *testing.B) {
	s := messages.Codec{}.Encoder(llmtest.NewOptions())
	dst := s.Append(nil, &llm.Event{Kind: llm.EventPart, Part: llm.Text})
	e := llm.Event{Kind: llm.EventDelta, Part: llm.Text, Delta: "Hello, wörld\n"}
	b.ReportAllocs()
	for b.Loop() {
		dst = s.Append(dst[:0], &e)
	}
}
