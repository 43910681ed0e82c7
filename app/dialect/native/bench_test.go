package native_test

import (
	"testing"

	"umg/app/dialect/native"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

// deltaFrame is what most frames of a stream are.
const deltaFrame = `{"candidates":[{"content":{"parts":[{"text":"Hello there"}],"role":"model"},"index":0}],"usageMetadata":` +
	`{"promptTokenCount":9,"totalTokenCount":9},"modelVersion":"text-1","responseId":"rid_fx1"}`

func BenchmarkDecodeDelta(b *testing.B) {
	d := native.Codec{}.Decoder(llmtest.NewOptions())
	data := []byte(deltaFrame)
	var events []llm.Event
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if events, err = d.Decode(events[:0], nil, data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeDelta(b *testing.B) {
	enc := native.Codec{}.Encoder(llmtest.NewOptions())
	e := llm.Event{Kind: llm.EventDelta, Part: llm.Text, Delta: "Hello there"}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = enc.Append(dst[:0], &e)
	}
}

func TestADeltaCostsFewAllocations(t *testing.T) {
	d := native.Codec{}.Decoder(llmtest.NewOptions())
	enc := native.Codec{}.Encoder(llmtest.NewOptions())
	data := []byte(deltaFrame)
	var events []llm.Event
	var dst []byte
	if n := testing.AllocsPerRun(1000, func() {
		events, _ = d.Decode(events[:0], nil, data)
		dst = dst[:0]
		for i := range events {
			dst = enc.Append(dst, &events[i])
		}
	}); n > 12 { // The count is 2, and more if the race detector empties the pools.
		t.Errorf("%v allocations", n)
	}
}
