package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"umg/app"
)

// BenchmarkGenerate is a whole call with everything on: contract, limits, hold, upstream over HTTP and settlement.
func BenchmarkGenerate(b *testing.B) {
	chunk := `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"up","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}` + "\n\n"
	streamText := strings.Repeat(chunk, 200) + strings.NewReplacer(`"content":" word"`, "", "null", `"stop"`).Replace(chunk) +
		`data: {"id":"c","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":200}}` + "\n\ndata: [DONE]\n\n"
	body := `{"id":"c","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":{"role":"assistant","content":"` +
		strings.Repeat("word ", 150) + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":150}}`
	for _, c := range []struct{ name, model, more string }{
		{"JSON", "test/fast", ""}, {"Stream200", "test/fast", streamed}, {"JSONOfTwoRoutes", "test/hedged", ""}, {"Stream200OfTwoRoutes", "test/hedged", streamed},
	} {
		more := c.more
		b.Run(c.name, func(b *testing.B) {
			bench := setup(b, 1000*app.Dollar)
			bench.answerWith(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if more != "" {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, streamText)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, body)
			}))
			call := bench.call(c.model, strings.Repeat("some words ", 80), more+`,"max_tokens":300`)
			b.ReportAllocs()
			for b.Loop() {
				call.ID = bench.ids.New("req")
				if _, err := bench.gateway.Generate(b.Context(), call, &sink{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
