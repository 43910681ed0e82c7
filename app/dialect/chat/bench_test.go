package chat_test

import (
	"testing"

	"umg/app/dialect/chat"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

// allocationsMax is what one event may cost on its way through two codecs. It takes four or fewer; the race detector
// adds some, as it empties pools at random.
const allocationsMax = 12

const (
	textChunk = `{"id":"chatcmpl-fx1","object":"chat.completion.chunk","created":1760000000,"model":"text-1","choices":[{"index":0,` +
		`"delta":{"content":"Hello, world"},"finish_reason":null}],"usage":null}`
	toolChunk = `{"id":"chatcmpl-fx1","object":"chat.completion.chunk","created":1760000000,"model":"text-1","choices":[{"index":0,` +
		`"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]},"finish_reason":null}]}`
	toolBegin = `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{"}}]}}]}`
)

func decodeOne(d llm.StreamDecoder, chunk []byte, events []llm.Event) ([]llm.Event, error) {
	return d.Decode(events[:0], nil, chunk)
}

func BenchmarkDecodeDelta(b *testing.B) {
	for name, chunk := range map[string]string{"text": textChunk, "arguments": toolChunk} {
		b.Run(name, func(b *testing.B) {
			d := chat.Codec{}.Decoder(llmtest.NewOptions())
			events, data := make([]llm.Event, 0, 8), []byte(chunk)
			if _, err := d.Decode(nil, nil, []byte(toolBegin)); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decodeOne(d, data, events); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncodeDelta(b *testing.B) {
	e := chat.Codec{}.Encoder(llmtest.NewOptions())
	dst := e.Append(make([]byte, 0, 1024), &llm.Event{Kind: llm.EventStart})
	event := llm.Event{Kind: llm.EventDelta, Part: llm.Text, Delta: "Hello, world"}
	b.ReportAllocs()
	for b.Loop() {
		dst = e.Append(dst[:0], &event)
	}
}

func TestADeltaCostsFewAllocations(t *testing.T) { //nolint:paralleltest // other tests would be counted, too
	d, e := chat.Codec{}.Decoder(llmtest.NewOptions()), chat.Codec{}.Encoder(llmtest.NewOptions())
	events, dst := make([]llm.Event, 0, 8), make([]byte, 0, 4096)
	if _, err := d.Decode(nil, nil, []byte(toolBegin)); err != nil {
		t.Fatal(err)
	}
	for _, chunk := range [][]byte{[]byte(toolChunk), []byte(textChunk)} {
		got := testing.AllocsPerRun(200, func() {
			all, err := decodeOne(d, chunk, events)
			if err != nil {
				t.Fatal(err)
			}
			dst = dst[:0]
			for i := range all {
				dst = e.Append(dst, &all[i])
			}
		})
		if got > allocationsMax {
			t.Errorf("%v allocations for %s", got, chunk)
		}
	}
}
