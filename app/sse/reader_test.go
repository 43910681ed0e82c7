package sse_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"umg/app/sse"
)

// event is what a frame says, apart from how it was written.
type event struct{ name, data string }

func read(t testing.TB, src io.Reader) ([]event, error) {
	t.Helper()
	r := sse.NewReader(src, nil)
	defer r.Close()
	var out []event
	for {
		f, err := r.Next()
		if err != nil {
			return out, err
		}
		if f.Data != nil {
			out = append(out, event{string(f.Event), string(f.Data)})
		}
	}
}

// plainRead is the protocol said in the simplest way, on the whole text at once: the oracle.
func plainRead(text string) []event {
	text = strings.TrimPrefix(text, "\xef\xbb\xbf")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var (
		out   []event
		name  string
		data  []string
		begun bool
		bare  bool // Bare means that the frame is JSON without field names.
	)
	end := func() {
		if data != nil {
			out = append(out, event{name, strings.Join(data, "\n")})
		}
		name, data, begun, bare = "", nil, false, false
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			end()
			continue
		}
		if !begun {
			bare = line[0] == '{' || line[0] == '['
		}
		begun = begun || line[0] != ':'
		if bare {
			data = append(data, line)
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			name = value
		case "data":
			data = append(data, value)
		}
	}
	end()
	return out
}

func same(a, b []event) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func texts() map[string]string {
	return map[string]string{
		"LF":                      "data: {\"a\":1}\n\ndata: [DONE]\n\n",
		"CRLF":                    "data: a\r\n\r\ndata: b\r\n\r\n",
		"CR":                      "data: a\r\rdata: b\r\r",
		"mixed ends":              "data: a\r\n\ndata: b\n\r\ndata: c\r\n\rdata: d\n\n",
		"byte order mark":         "\xef\xbb\xbfdata: a\n\n",
		"comments":                ": hello\n\n: a\n: b\ndata: x\n: inside\ndata: y\n\n",
		"several data lines":      "event: e\ndata: one\ndata: two\ndata\ndata: four\n\n",
		"event names":             "event: message_start\ndata: {}\n\nevent: ping\ndata: {}\n\n",
		"unknown fields":          "id: 7\nretry: 10\nfoo: bar\nfoo\ndata: a\n\n",
		"no blank after colon":    "data:a\n\ndata:  b\n\n",
		"many blank lines":        "\n\n\n\ndata: a\n\n\n\n\ndata: b\n\n\n",
		"no end":                  "data: a\n\ndata: b",
		"no end after line":       "data: a\n\ndata: b\n",
		"runes":                   "data: {\"c\":\"héllo, 世界 🙂\"}\n\n",
		"event without data":      "event: x\n\ndata: a\n\n",
		"empty":                   "",
		"only a byte order mark":  "\xef\xbb\xbf",
		"a comment in the middle": "data: a\n\n: keep-alive\n\ndata: b\n\n",
		"JSON in the middle":      "data: a\n\n{\n  \"error\": {\n    \"code\": 499\n  }\n}\n\ndata: b\n\n",
		"JSON at the end":         "data: a\n\n[{\"error\":\ndata: {}}]",
		"JSON within a frame":     "data: a\n{\"x\":1}\n\n",
		"frame beyond the buffer": "data: " + strings.Repeat("0123456789", 1000) + "\n\ndata: a\n\n",
	}
}

func TestFramesFollowTheLineRulesAtEverySplit(t *testing.T) {
	t.Parallel()
	for name, text := range texts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := plainRead(text)
			for i := range min(len(text), 200) + 1 {
				got, err := read(t, io.MultiReader(strings.NewReader(text[:i]), strings.NewReader(text[i:])))
				if err != io.EOF || !same(got, want) {
					t.Fatalf("split at %d: got %q, %v; want %q", i, got, err, want)
				}
			}
			got, err := read(t, iotest.OneByteReader(strings.NewReader(text)))
			if err != io.EOF || !same(got, want) {
				t.Fatalf("byte by byte: got %q, %v; want %q", got, err, want)
			}
		})
	}
}

func TestRawIsEveryByteOfTheFrame(t *testing.T) {
	t.Parallel()
	text := "data: a\n\nevent: x\r\ndata: b\r\n\r\n: c\ndata:d\n\n"
	r := sse.NewReader(strings.NewReader(text), nil)
	defer r.Close()
	var all []byte
	var plain []bool
	for {
		f, err := r.Next()
		if err != nil {
			break
		}
		all = append(all, f.Raw...)
		plain = append(plain, f.Plain())
	}
	if string(all) != text {
		t.Errorf("the frames together are %q, want %q", all, text)
	}
	if len(plain) != 4 || !plain[0] || plain[1] || plain[2] || plain[3] {
		t.Errorf("plain frames: %v, want only the first", plain)
	}
}

func TestBufferedSaysWhetherNextWouldWait(t *testing.T) {
	t.Parallel()
	src, w := io.Pipe()
	defer w.Close()
	r := sse.NewReader(src, nil)
	defer r.Close()
	if r.Buffered() {
		t.Fatal("a frame is at hand before anything was read")
	}
	go func() { _, _ = w.Write([]byte("data: a\n\ndata: b\n\ndata: c")) }()
	for i, want := range []bool{true, false} {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		if got := r.Buffered(); got != want {
			t.Errorf("after frame %d: buffered %v, want %v", i, got, want)
		}
	}
	go func() { _, _ = w.Write([]byte("\n\n")) }()
	if f, err := r.Next(); err != nil || string(f.Data) != "c" {
		t.Errorf("the frame in two pieces is %q, %v", f.Data, err)
	}
}

func TestCommentsAreSignsOfLife(t *testing.T) {
	t.Parallel()
	r := sse.NewReader(strings.NewReader(": one\n: two\n\n"), nil)
	defer r.Close()
	for range 2 {
		if f, err := r.Next(); err != nil || f.Data != nil {
			t.Fatalf("a comment came as %q, %v", f.Data, err)
		}
	}
	if _, err := r.Next(); err != io.EOF {
		t.Fatalf("after the comments: %v", err)
	}
}

// endless is a line that never ends.
type endless struct{ n int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.n += int64(len(p))
	return len(p), nil
}

func TestALineIsBoundedAndItsMemoryComesBack(t *testing.T) {
	t.Parallel()
	const all = 64 << 20
	budget := sse.NewBudget(all)
	e := &endless{}
	r := sse.NewReader(io.MultiReader(strings.NewReader("data: "), e), budget)
	if _, err := r.Next(); !errors.Is(err, sse.ErrTooLarge) {
		t.Fatalf("an endless line ended with %v", err)
	}
	if e.n > sse.FrameBytesMax {
		t.Errorf("%d bytes were read of it", e.n)
	}
	r.Close()
	if budget.Left() != all {
		t.Errorf("%d bytes of the budget are lost", all-budget.Left())
	}
}

func TestLargeFramesShareABudget(t *testing.T) {
	t.Parallel()
	budget := sse.NewBudget(64 << 10)
	r := sse.NewReader(strings.NewReader("data: "+strings.Repeat("x", 1<<20)+"\n\n"), budget)
	defer r.Close()
	if _, err := r.Next(); !errors.Is(err, sse.ErrBudget) {
		t.Fatalf("a frame beyond the budget ended with %v", err)
	}
}

func TestALargeFrameIsGivenBackBeforeTheStreamEnds(t *testing.T) {
	t.Parallel()
	budget := sse.NewBudget(8 << 20)
	large := "data: " + strings.Repeat("x", 1<<20) + "\n\n"
	r := sse.NewReader(io.MultiReader(strings.NewReader(large), strings.NewReader("data: a\n\n"), strings.NewReader("data: b\n\n")), budget)
	defer r.Close()
	for range 3 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if budget.Left() != 8<<20 {
		t.Errorf("%d bytes are still held", 8<<20-budget.Left())
	}
}

// counted is a source that notes how often it is asked.
type counted struct {
	io.Reader

	reads int
}

func (c *counted) Read(p []byte) (int, error) {
	c.reads++
	return c.Reader.Read(p)
}

func TestABurstTakesFewReadsAndItsBufferIsGivenBackWhenItIsOver(t *testing.T) {
	t.Parallel()
	const all, frame = 8 << 20, "data: hello\n\n"
	budget := sse.NewBudget(all)
	src := &counted{Reader: io.MultiReader(strings.NewReader(strings.Repeat(frame, 20_000)), strings.NewReader(frame), strings.NewReader(frame))}
	r := sse.NewReader(src, budget)
	defer r.Close()
	for i := range 20_002 {
		if f, err := r.Next(); err != nil || string(f.Data) != "hello" {
			t.Fatalf("frame %d: %q, %v", i, f.Data, err)
		}
	}
	if most := 20_000*len(frame)/(16<<10) + 8; src.reads > most {
		t.Errorf("%d reads, more than %d", src.reads, most)
	}
	if budget.Left() != all {
		t.Errorf("%d bytes are still held", all-budget.Left())
	}
}

func TestTheSourcesErrorIsReported(t *testing.T) {
	t.Parallel()
	broken := errors.New("reset")
	got, err := read(t, io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) || len(got) != 1 {
		t.Errorf("got %q, %v: a frame that a reset cut must not be returned", got, err)
	}
	if _, err := read(t, stuck{}); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a source that gives nothing ended with %v", err)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestAppendDataKeepsOneLine(t *testing.T) {
	t.Parallel()
	if got := string(sse.AppendData(nil, []byte("{\n\"a\": 1\n}"))); got != "data: { \"a\": 1 }\n\n" {
		t.Errorf("got %q", got)
	}
}

func FuzzReader(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, step uint8) {
		want := plainRead(string(text))
		src := io.Reader(bytes.NewReader(text))
		if step > 0 {
			src = &stepReader{src, int(step)}
		}
		got, err := read(t, src)
		if err != io.EOF || !same(got, want) {
			t.Fatalf("steps of %d: got %q, %v; want %q", step, got, err, want)
		}
	})
}

type stepReader struct {
	r io.Reader
	n int
}

func (s *stepReader) Read(p []byte) (int, error) { return s.r.Read(p[:min(s.n, len(p))]) }

func BenchmarkReader(b *testing.B) {
	frame := `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"text-1",` +
		`"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":null}]}` + "\n\n"
	text := []byte(strings.Repeat(frame, 200))
	src := bytes.NewReader(text)
	var r sse.Reader
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		src.Reset(text)
		r.Reset(src, nil)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
		r.Close()
	}
}
