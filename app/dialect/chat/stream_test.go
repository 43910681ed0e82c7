package chat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/dialect/chat"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

func streamOf(r *llm.Response) []byte {
	var wire []byte
	enc := chat.Codec{}.Encoder(llmtest.NewOptions())
	for _, e := range llm.Unfold(nil, r) {
		wire = enc.Append(wire, &e)
	}
	return wire
}

// chunksOf are the chunks of a stream as clients parse them.
func chunksOf(t *testing.T, wire []byte) []map[string]any {
	t.Helper()
	var all []map[string]any
	for frame := range strings.SplitSeq(strings.TrimSuffix(string(wire), "\n\n"), "\n\n") {
		data := strings.TrimPrefix(frame, "data: ")
		if data == chat.Done {
			continue
		}
		var chunk map[string]any
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		all = append(all, chunk)
	}
	return all
}

func sample() *llm.Response {
	cost := app.Amount(43_000)
	return &llm.Response{
		ID: "up-1", Stop: llm.StopEnd, Reported: true, Cost: &cost,
		Usage: llm.Usage{Input: 10, CacheRead: 4, CacheWrite: 6, Output: 9, Reasoning: 5},
		Parts: []llm.Part{
			{Kind: llm.Reasoning, Text: "Hm."}, {Kind: llm.Reasoning, Text: "Oh.", Signature: "s1"}, text("Look"), text("ing <b>\u2028"),
			{Kind: llm.Call, Call: llm.ToolCall{ID: "a", Name: "f", Arguments: `{"x":1}`}},
			{Kind: llm.Call, Call: llm.ToolCall{ID: "b", Name: "g"}},
		},
	}
}

func TestAStreamIsWhatClientsAddUpTo(t *testing.T) {
	t.Parallel()
	const head = `data: {"id":"chatcmpl-01test","object":"chat.completion.chunk","created":1760000000,"model":"meridian/atlas","choices":[`
	delta := func(d string) string {
		return head + `{"index":0,"delta":` + d + `,"finish_reason":null}],"usage":null}` + "\n\n"
	}
	want := delta(`{"role":"assistant","content":""}`) +
		delta(`{"reasoning_content":"Hm."}`) + delta(`{"reasoning_content":"\n\n"}`) + delta(`{"reasoning_content":"Oh."}`) +
		delta(`{"content":"Look"}`) + delta(`{"content":"ing <b>`+"\u2028"+`"}`) +
		delta(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""},`+
			`"extra_content":{"google":{"thought_signature":"s1"}}}]}`) +
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":1}"}}]}`) +
		delta(`{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":""}}]}`) +
		delta(`{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}`) +
		head + `{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}` + "\n\n" +
		head + `],"usage":{"prompt_tokens":20,"completion_tokens":9,"total_tokens":29,` +
		`"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":6},"completion_tokens_details":{"reasoning_tokens":5},"cost":0.000043}}` +
		"\n\ndata: [DONE]\n\n"
	got := streamOf(sample())
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	loadSchemas(t).stream(t, got)
}

func TestABodySaysTheSameAsAStream(t *testing.T) {
	t.Parallel()
	body := chat.Codec{}.EncodeResponse(nil, sample(), llmtest.NewOptions())
	loadSchemas(t).fits(t, answerRoot, body)
	fromBody, err := chat.Codec{}.DecodeResponse(body, llmtest.NewOptions())
	if err != nil {
		t.Fatal(err)
	}
	events, err := llmtest.DecodeStream(chat.Codec{}.Decoder(llmtest.NewOptions()), streamOf(sample()))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := formOf(t, fromBody), formOf(t, llm.Fold(events)); a != b {
		t.Errorf("body\n%s\nstream\n%s", a, b)
	}
	if !bytes.Contains(body, []byte(`"cost":0.000043`)) {
		t.Errorf("no cost: %s", body)
	}
}

// TestEveryStreamKeepsWhatClientsRelyOn holds any answer, whatever its events, against the faults that break clients:
// several ids, a role that never comes, a name that comes twice, a top-level error, usage in two chunks.
func TestEveryStreamKeepsWhatClientsRelyOn(t *testing.T) {
	t.Parallel()
	kinds := []llm.PartKind{llm.Text, llm.Call, llm.Reasoning, llm.Refusal}
	rapid.Check(t, func(rt *rapid.T) {
		r := &llm.Response{Stop: llm.StopEnd, Reported: rapid.Bool().Draw(rt, "reported")}
		for i := range rapid.IntRange(0, 5).Draw(rt, "parts") {
			p := llm.Part{Kind: rapid.SampledFrom(kinds).Draw(rt, "kind"), Text: rapid.String().Draw(rt, "text")}
			if p.Kind == llm.Call {
				p.Call = llm.ToolCall{ID: "c" + strconv.Itoa(i), Name: "f", Arguments: p.Text}
			}
			r.Parts = append(r.Parts, p)
		}
		chunks, names, usages := chunksOf(t, streamOf(r)), map[float64]int{}, 0
		for i, c := range chunks {
			if c["id"] != chunks[0]["id"] || c["created"] != chunks[0]["created"] || c["model"] != "meridian/atlas" {
				rt.Fatalf("another envelope: %v", c)
			}
			if _, has := c["error"]; has {
				rt.Fatalf("an error: %v", c)
			}
			if c["usage"] != nil {
				usages++
			}
			for _, raw := range c["choices"].([]any) {
				delta := raw.(map[string]any)["delta"].(map[string]any)
				if _, has := delta["role"]; has != (i == 0) {
					rt.Fatalf("the role in chunk %d", i)
				}
				calls, _ := delta["tool_calls"].([]any)
				for _, raw := range calls {
					call := raw.(map[string]any)
					if _, has := call["function"].(map[string]any)["name"]; has {
						names[call["index"].(float64)]++
					}
				}
			}
		}
		for at, n := range names {
			if n != 1 || at >= float64(len(names)) {
				rt.Fatalf("call %v is named %d times of %d calls", at, n, len(names))
			}
		}
		if want := r.Reported; (usages == 1) != want {
			rt.Fatalf("%d usages", usages)
		}
	})
}

func TestUsageIsForThoseWhoAskedForIt(t *testing.T) {
	t.Parallel()
	options := llmtest.NewOptions()
	options.IncludeUsage = false
	var wire []byte
	enc := chat.Codec{}.Encoder(options)
	for _, e := range llm.Unfold(nil, sample()) {
		wire = enc.Append(wire, &e)
	}
	if bytes.Contains(wire, []byte("usage")) {
		t.Errorf("%s", wire)
	}
}

func TestAnAnswerWithoutContentHasItsRole(t *testing.T) {
	t.Parallel()
	r := &llm.Response{Stop: llm.StopFilter}
	chunks := chunksOf(t, streamOf(r))
	if len(chunks) != 2 || !strings.Contains(string(streamOf(r)), `{"role":"assistant","content":""}`) {
		t.Errorf("%v", chunks)
	}
	body := chat.Codec{}.EncodeResponse(nil, r, llmtest.NewOptions())
	if !bytes.Contains(body, []byte(`"content":""`)) {
		t.Errorf("%s", body)
	}
}

func TestAFailureIsOneChunkAndTheLastMark(t *testing.T) {
	t.Parallel()
	e := app.Errorf(app.Upstream, "upstream_error", "failed")
	const want = `data: {"code":502,"error":{"code":"upstream_error","message":"failed","type":"server_error"},"request_id":"req_1"}` + "\n\ndata: [DONE]\n\n"
	enc := chat.Codec{}.Encoder(llmtest.NewOptions())
	if got := string(enc.Fail(nil, e, "req_1", nil)); got != want {
		t.Errorf("%s", got)
	}
	enc.Append(nil, &llm.Event{Kind: llm.EventStart})
	if got := string(enc.Fail(nil, e, "req_1", nil)); got != want {
		t.Errorf("%s", got)
	}
}

func chunk(delta string) []byte { return []byte(`{"choices":[{"index":0,"delta":` + delta + `}]}`) }

func TestCallsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	d := chat.Codec{}.Decoder(llmtest.NewOptions())
	first := `{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}`
	other := `{"tool_calls":[{"index":1,"id":"b","function":{"name":"g","arguments":"` + strings.Repeat("x", 1<<20) + `"}}]}`
	events, err := d.Decode(nil, nil, chunk(first))
	for range 3 {
		if err == nil {
			events, err = d.Decode(events, nil, chunk(other))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if events, err = d.Decode(events, nil, chunk(other)); !errors.Is(err, llm.ErrMalformed) {
		t.Errorf("the fourth MiB: %v", err)
	}
	events, _ = d.Decode(events, nil, []byte(`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`))
	if events, err = d.End(events); err != nil || events[len(events)-1].Stop != llm.StopMalformed {
		t.Errorf("%v: a call that lost arguments was passed off as whole", err)
	}
	if fault := llmtest.Legal(events); fault != "" {
		t.Error(fault)
	}
}

func TestTheNumberOfCallsIsBounded(t *testing.T) {
	t.Parallel()
	d := chat.Codec{}.Decoder(llmtest.NewOptions())
	var err error
	n := 0
	for ; err == nil && n < 5000; n++ {
		_, err = d.Decode(nil, nil, chunk(`{"tool_calls":[{"index":`+strconv.Itoa(n)+`,"id":"c`+strconv.Itoa(n)+`","function":{"name":"f","arguments":"{}"}}]}`))
	}
	if !errors.Is(err, llm.ErrMalformed) || n != 1025 {
		t.Errorf("%v after %d calls", err, n)
	}
}

func TestAFinishComesOnce(t *testing.T) {
	t.Parallel()
	d := chat.Codec{}.Decoder(llmtest.NewOptions())
	events, err := d.Decode(nil, nil, []byte(`{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if events, err = d.Decode(events, nil, []byte(chat.Done)); !errors.Is(err, llm.ErrEnd) {
		t.Fatal(err)
	}
	n := len(events)
	for range 2 {
		if events, err = d.Decode(events, nil, []byte(chat.Done)); err != nil {
			t.Error(err)
		}
		if events, err = d.End(events); err != nil || len(events) != n {
			t.Errorf("%v, %d events after the end", err, len(events)-n)
		}
	}
}

func TestAClientOfFunctionsGetsOneFunctionCall(t *testing.T) {
	t.Parallel()
	asked, err := chat.Codec{}.DecodeRequest([]byte(`{"model":"m","messages":[{"role":"user","content":"q"}],"functions":[{"name":"f"}],"function_call":{"name":"f"}}`))
	if err != nil || !asked.OneCall {
		t.Fatalf("%+v, %v", asked, err)
	}
	options := llmtest.NewOptions()
	options.Request = asked
	r := sample()
	r.Stop = llm.StopToolCalls
	body := chat.Codec{}.EncodeResponse(nil, r, options)
	loadSchemas(t).fits(t, answerRoot, body)
	if !bytes.Contains(body, []byte(`"function_call":{"name":"f","arguments":"{\"x\":1}"}},"logprobs":null,"finish_reason":"function_call"`)) ||
		bytes.Contains(body, []byte("tool_calls")) {
		t.Errorf("%s", body)
	}
	var wire []byte
	enc := chat.Codec{}.Encoder(options)
	for _, e := range llm.Unfold(nil, r) {
		wire = enc.Append(wire, &e)
	}
	loadSchemas(t).stream(t, wire)
	name, arguments, finish := "", "", ""
	for _, c := range chunksOf(t, wire) {
		for _, raw := range c["choices"].([]any) {
			choice := raw.(map[string]any)
			if word, ok := choice["finish_reason"].(string); ok {
				finish = word
			}
			call, _ := choice["delta"].(map[string]any)["function_call"].(map[string]any)
			piece, _ := call["name"].(string)
			more, _ := call["arguments"].(string)
			name, arguments = name+piece, arguments+more
		}
	}
	if name != "f" || arguments != `{"x":1}` || finish != "function_call" || bytes.Contains(wire, []byte("tool_calls")) {
		t.Errorf("%q %q %q: %s", name, arguments, finish, wire)
	}
}
