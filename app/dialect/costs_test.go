package dialect_test

import (
	"bytes"
	"fmt"
	"testing"

	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
	"umg/app/sse"
)

// translatedAllocationsMax is what an event may cost on its way through two codecs. It takes four or fewer,
// and one more when its text is new; the race detector adds some, as it empties pools at random.
const translatedAllocationsMax = 12

// moment is a frame that a stream repeats, and what must stand before it.
type moment struct{ before, frame string }

// moments are what most frames of a stream are, by style: pieces of text, and of the arguments of a call where the
// style has pieces of them.
func moments() map[llm.Style]map[string]moment {
	event := func(name, data string) string { return "event: " + name + "\ndata: " + data + "\n\n" }
	return map[llm.Style]map[string]moment{
		llm.Chat: {
			"text": {"", delta(`{"content":" hello, all of you"}`, "null")},
			"arguments": {
				delta(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}`, "null"),
				delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":\"Ro"}}]}`, "null"),
			},
		},
		llm.Messages: {
			"text": {"", event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" hello, all of you"}}`)},
			"arguments": {
				event("content_block_start",
					`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c1","name":"f","input":{}}}`),
				event("content_block_delta",
					`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"city\":\"Ro"}}`),
			},
		},
		llm.Responses: {
			"text": {"", event("response.output_text.delta", `{"type":"response.output_text.delta","sequence_number":4,`+
				`"item_id":"msg_fx1","output_index":0,"content_index":0,"delta":" hello, all of you","logprobs":[]}`)},
			"arguments": {
				event("response.output_item.added", `{"type":"response.output_item.added","sequence_number":3,"output_index":0,`+
					`"item":{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"","status":"in_progress"}}`),
				event("response.function_call_arguments.delta", `{"type":"response.function_call_arguments.delta","sequence_number":4,`+
					`"item_id":"fc_1","output_index":0,"delta":"{\"city\":\"Ro"}`),
			},
		},
		llm.Native: {
			"text": {"", `data: {"candidates":[{"content":{"parts":[{"text":" hello, all of you"}],"role":"model"},"index":0}],` +
				`"usageMetadata":{"promptTokenCount":9,"totalTokenCount":9},"modelVersion":"up","responseId":"rid_fx1"}` + "\n\n"},
		},
	}
}

// repeated is a stream that has begun, and the frame it repeats.
func repeated(t testing.TB, s dialect.Stream, m moment) sse.Frame {
	t.Helper()
	r := sse.NewReader(bytes.NewReader([]byte(m.before+m.frame)), nil)
	var last sse.Frame
	for {
		f, err := r.Next()
		if err != nil {
			if out, _, err := s.Frame(nil, last); len(out) == 0 {
				t.Fatalf("the client gets nothing of %s: %v", m.frame, err)
			}
			return last
		}
		last = f
		if _, _, err := s.Frame(nil, f); err != nil {
			t.Fatal(err)
		}
	}
}

// eachWay calls do with a stream on every way from one style to another, or to itself.
func eachWay(t testing.TB, translated bool, do func(name string, s dialect.Stream, m moment)) {
	t.Helper()
	request := &llm.Request{Stream: true, Turns: []llm.Turn{{Parts: []llm.Part{{Kind: llm.Text, Text: "x"}}}}}
	for _, client := range llm.Styles() {
		for _, upstream := range llm.Styles() {
			if (client != upstream) != translated {
				continue
			}
			for what, m := range moments()[upstream] {
				if what == "arguments" && client == llm.Native {
					continue // Native sends whole calls, so a piece of one is no event.
				}
				way := translate.Passthrough(dialectOf(t, client), nil, &dialect.Head{Stream: true, Choices: 1})
				if translated {
					var err error
					if way, err = translate.New(dialectOf(t, client), dialectOf(t, upstream), request, "maker", 100); err != nil {
						t.Fatal(err)
					}
				}
				do(fmt.Sprintf("%s-from-%s/%s", client, upstream, what), way.NewStream(llm.ResponseOptions{Model: "public", CallID: "req_1", Choices: 1}), m)
			}
		}
	}
}

func TestAPassedEventAllocatesNothing(t *testing.T) { //nolint:paralleltest // other tests would be counted, too
	eachWay(t, false, func(name string, s dialect.Stream, m moment) {
		defer s.Close()
		f, out := repeated(t, s, m), make([]byte, 0, 4096)
		if n := testing.AllocsPerRun(200, func() { _, _, _ = s.Frame(out, f) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	})
}

func TestATranslatedEventCostsFewAllocations(t *testing.T) { //nolint:paralleltest // other tests would be counted, too
	eachWay(t, true, func(name string, s dialect.Stream, m moment) {
		defer s.Close()
		f, out := repeated(t, s, m), make([]byte, 0, 4096)
		n := testing.AllocsPerRun(200, func() { _, _, _ = s.Frame(out, f) })
		if n > translatedAllocationsMax {
			t.Errorf("%s: %v allocations", name, n)
		}
	})
}

func BenchmarkTranslatedEvent(b *testing.B) { benchmarkEvents(b, true) }

func BenchmarkPassedEvent(b *testing.B) { benchmarkEvents(b, false) }

func benchmarkEvents(b *testing.B, translated bool) {
	eachWay(b, translated, func(name string, s dialect.Stream, m moment) {
		b.Run(name, func(b *testing.B) {
			defer s.Close()
			f, out := repeated(b, s, m), make([]byte, 0, 4096)
			b.SetBytes(int64(len(m.frame)))
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = s.Frame(out, f)
			}
		})
	})
}
