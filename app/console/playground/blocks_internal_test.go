package playground

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"umg/app/markdown"
)

// markdownLines are what documents are drawn from: everything that begins, goes on with or ends a block.
var markdownLines = []string{
	"words of a paragraph", "more **words**", "# Heading", "## Two", "---", "***", "===", "- item", "- other", "  goes on", "    deep", "1. one", "2. two",
	"   under one", "10. ten", "* star", "+ plus", "- [ ] task", "```go", "```", "~~~", "  ```", "   ```", "````", "func main() {}", "> quote", "> - in quote",
	"> ```", "| a | b |", "|---|---|", "| 1 | 2 |", "\tcode", "      six", "<div>", "<!-- no", "-->", "https://example.com", "#hashtag", "-", "1.", "", "", "", "", " ",
}

func document(r *rand.Rand) string {
	var b strings.Builder
	for range 2 + r.IntN(14) {
		b.WriteString(markdownLines[r.IntN(len(markdownLines))])
		b.WriteString([]string{"\n", "\n", "\n", "\r\n", "\n\n"}[r.IntN(5)])
	}
	return b.String()
}

// live sends a text as an answer in small pieces, and returns the events that the browser reads.
func live(tb testing.TB, text string, piece func() int) []event {
	tb.Helper()
	w := httptest.NewRecorder()
	now := time.Unix(0, 0)
	out := newEventWriter(w, func() time.Time { now = now.Add(20 * time.Millisecond); return now })
	for text != "" {
		n := min(piece(), len(text))
		if err := errors.Join(out.text(text[:n]), out.flush(true)); err != nil {
			tb.Fatal(err)
		}
		text = text[n:]
	}
	if err := out.end(event{Kind: "done"}); err != nil {
		tb.Fatal(err)
	}
	var events []event
	for line := range bytes.Lines(w.Body.Bytes()) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			tb.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// shownBy puts an answer together as the page does.
func shownBy(events []event) (said string, html markdown.HTML, again bool) {
	open := ""
	for _, e := range events {
		switch e.Kind {
		case "text":
			said += e.Text
			open += e.Text
		case "block":
			html += e.HTML
			open = e.Text
		}
	}
	if open != "" {
		html += markdown.HTML("not drawn: " + open)
	}
	if end := events[len(events)-1]; end.HTML != "" {
		return said, end.HTML, true
	}
	return said, html, false
}

// TestBlocksThatWereDrawnAloneMakeTheWholeDocument: whatever the document, in the end the page shows what the whole is drawn as;
// and nearly always its blocks have shown just that already.
func TestBlocksThatWereDrawnAloneMakeTheWholeDocument(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	const documents = 800
	drawnAgain := 0
	for range documents {
		text := document(r)
		said, html, again := shownBy(live(t, text, func() int { return 1 + r.IntN(12) }))
		if want := renderMarkdown(text); html != want || said != text {
			t.Errorf("%q\nshown %s\nwhole %s", text, html, want)
		}
		if again {
			drawnAgain++
		}
	}
	if drawnAgain > documents/50 {
		t.Errorf("%d of %d documents had to be drawn again", drawnAgain, documents)
	}
}

func TestABlockIsDrawnAsSoonAsItHasEnded(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"one\n\n": "one\n\n", "# one\n": "# one\n", "```\nx\n\ny\n```\n": "```\nx\n\ny\n```\n", "```\nx\n\ny\n": "",
		"- one\n\n": "", "- one\n\n- two\n\n  more\n\nend": "- one\n\n- two\n\n  more\n\n", "1. one\n   ```\n   x\n\n   ```\n\n2. two\n": "",
		"1. one\n```\nx\n\n": "1. one\n", "text\n- one\n": "text\n", "| a |\n|---|\n| 1 |\n\n": "| a |\n|---|\n| 1 |\n\n", "    code\n\n": "", "a\n---\n": "a\n---\n",
	} {
		var b textBlocks
		got := ""
		for i := range len(text) {
			got += b.add(text[i : i+1])
		}
		if got != want || got+b.close() != text {
			t.Errorf("%q: ended is %q", text, got)
		}
	}
}

func TestTheLogOfALongAnswerEndsWithANotice(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	out := newEventWriter(w, time.Now)
	frame := []byte("data: " + strings.Repeat("x", 1<<20) + "\n\n")
	for range 5 {
		if err := out.raw(frame); err != nil {
			t.Fatal(err)
		}
	}
	_ = out.end(event{Kind: "done"})
	if n := w.Body.Len(); n > rawBytesMax+1000 || strings.Count(w.Body.String(), "The log ends here") != 1 {
		t.Errorf("%d bytes", n)
	}
}

// BenchmarkALongAnswer is one of ten thousand tokens, with everything that the page gets of it.
func BenchmarkALongAnswer(b *testing.B) {
	part := "## Part\n\nSome **words** of a paragraph that goes on for a while, with `code`.\n\n- one\n- two\n\n```go\nfunc main() {}\n```\n\n"
	text := strings.Repeat(part, 40_000/len(part))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		now := time.Unix(0, 0)
		out := newEventWriter(w, func() time.Time { now = now.Add(5 * time.Millisecond); return now })
		for rest := text; rest != ""; rest = rest[min(4, len(rest)):] {
			token := rest[:min(4, len(rest))]
			if err := errors.Join(out.text(token), out.raw([]byte(`data: {"choices":[{"delta":{"content":"`+token+`"}}]}`+"\n\n")), out.flush(true)); err != nil {
				b.Fatal(err)
			}
		}
		if err := out.end(event{Kind: "done"}); err != nil {
			b.Fatal(err)
		}
	}
}
