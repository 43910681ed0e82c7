package dialect_test

import (
	"testing"

	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
)

// BenchmarkTranscript is what it costs to note one more event that the client was sent, by the client's style.
func BenchmarkTranscript(b *testing.B) {
	for _, style := range llm.Styles() {
		b.Run(string(style), func(b *testing.B) {
			way := translate.Passthrough(dialectOf(b, style), nil, &dialect.Head{Stream: true, Choices: 1})
			options := llm.ResponseOptions{Model: "public", CallID: "req_1", Choices: 1}
			s := way.NewStream(options)
			defer s.Close()
			out, _, err := s.Frame(nil, repeated(b, s, moments()[style]["text"]))
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(out)))
			b.ReportAllocs()
			var t *translate.Transcript
			for i := 0; b.Loop(); i++ {
				if i%1000 == 0 {
					t = translate.NewTranscript(dialectOf(b, style), options)
				}
				t.Add(out)
			}
		})
	}
}
