package dialect_test

import (
	"strings"
	"testing"

	"umg/app"
	"umg/app/llm"
	"umg/app/sse"
)

func TestTheEndsThatAreWrittenHereFitThePublishedSchemas(t *testing.T) {
	t.Parallel()
	own := llm.Charge{Usage: llm.Usage{Input: 7, CacheRead: 2, Output: 6, Reasoning: 1}, Estimated: true, Cost: 1}
	short := own
	short.Truncated = true
	for _, s := range samples(t) {
		if s.fails {
			continue
		}
		frames := strings.SplitAfter(strings.ReplaceAll(s.in, "\r\n", "\n"), "\n\n")
		begun := strings.Join(frames[:len(frames)*2/3], "")
		for _, c := range []struct {
			in     string
			charge llm.Charge
		}{{s.in, billOf(t, s)}, {s.in, own}, {begun, short}} {
			p := passIn(t, s.style, strings.NewReader(c.in), llm.ResponseOptions{Model: "m", CallID: "req_1", Choices: 1, IncludeUsage: true}, c.charge)
			checkSchema(t, s, p.live+p.end)
		}
	}
}

func TestAFailedStreamFitsThePublishedSchema(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t) {
		if s.style != llm.Responses {
			continue
		}
		frames := strings.SplitAfter(s.in, "\n\n")
		for n := range frames {
			stream := dialectOf(t, s.style).NewStream(llm.ResponseOptions{Model: "m", CallID: "req_1", Choices: 1})
			r := sse.NewReader(strings.NewReader(strings.Join(frames[:n], "")), nil)
			var out []byte
			for f, err := r.Next(); err == nil; f, err = r.Next() {
				out, _, _ = stream.Frame(out, f)
			}
			r.Close()
			checkSchema(t, s, string(stream.Fail(out, app.Errorf(app.Upstream, "upstream_error", "It broke."), "req_1", &llm.Charge{Usage: llm.Usage{Input: 3, Output: 2}, Cost: 5})))
			stream.Close()
		}
	}
}

func checkSchema(t *testing.T, s sample, out string) {
	t.Helper()
	r := sse.NewReader(strings.NewReader(out), nil)
	defer r.Close()
	for f, err := r.Next(); err == nil; f, err = r.Next() {
		if string(f.Data) == "[DONE]" || string(f.Event) == "ping" {
			continue
		}
		fitsSchema(t, s.style, schemasOf(t, s.style).event, f.Data)
	}
}
