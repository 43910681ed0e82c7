package translate_test

import (
	"strings"
	"testing"

	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
)

// BenchmarkCall is what a translated call of one KiB costs in the codecs, both ways.
func BenchmarkCall(b *testing.B) {
	client, _ := dialect.Of(llm.Chat)
	upstream, _ := dialect.Of(llm.Messages)
	body := []byte(`{"model":"m","messages":[{"role":"system","content":"You are a helpful assistant."},{"role":"user","content":"` +
		strings.Repeat("some words ", 80) + `"}],"temperature":0.5,"max_tokens":300}`)
	answer := []byte(`{"id":"m","type":"message","role":"assistant","model":"other","content":[{"type":"text","text":"` + strings.Repeat("word ", 160) +
		`"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":190,"output_tokens":150}}`)
	var sent, out []byte
	b.ReportAllocs()
	for b.Loop() {
		request, err := client.Read(body)
		if err != nil {
			b.Fatal(err)
		}
		x, err := translate.New(client, upstream, request, "maker", 4096)
		if err != nil {
			b.Fatal(err)
		}
		if err := x.Prepare(); err != nil {
			b.Fatal(err)
		}
		sent = x.Request(sent[:0], dialect.Edit{Model: "up"})
		whole, err := x.ReadBody(answer, llm.ResponseOptions{Model: "m", CallID: "req_1", Choices: 1})
		if err != nil {
			b.Fatal(err)
		}
		out = whole.Append(out[:0], llm.Charge{})
	}
}
