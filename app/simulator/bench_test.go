package simulator

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// nowhere is a response that costs nothing.
type nowhere struct{ header http.Header }

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) WriteHeader(int)             {}
func (w *nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (w *nowhere) Flush()                      {}

// BenchmarkAnswer measures the handler without a network: a small body, and a stream of 200 tokens.
func BenchmarkAnswer(b *testing.B) {
	for _, style := range styleNames {
		asks := map[string]ask{"body": {model: "m", text: "say 40 words"}, "stream200": {model: "m", text: "say 200 words", stream: true}}
		for name, a := range asks {
			b.Run(style+"/"+name, func(b *testing.B) {
				sim := New(Options{})
				path, body := forms[style](a)
				raw, err := json.Marshal(body)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, path, bytes.NewReader(raw))
					if err != nil {
						b.Fatal(err)
					}
					r.Header = http.Header{"Content-Type": {"application/json"}, "Anthropic-Version": {"1"}}
					sim.ServeHTTP(&nowhere{header: http.Header{}}, r)
				}
			})
		}
	}
}

// BenchmarkLargePrompt measures a prompt of many words, which no answer to others should have to wait for.
func BenchmarkLargePrompt(b *testing.B) {
	sim := New(Options{})
	raw := []byte(`{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("word ", 8<<20/5) + `"}]}`)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/chat/completions", bytes.NewReader(raw))
		if err != nil {
			b.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}}
		sim.ServeHTTP(&nowhere{header: http.Header{}}, r)
	}
}
