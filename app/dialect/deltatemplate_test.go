package dialect

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"umg/app/llm"
	"umg/app/sse"
)

// twinFrames are frames of content by style, with %s for the text as JSON.
func twinFrames() map[llm.Style][]string {
	chat := func(before, delta, after string) string {
		return `data: {` + before + `"id":"c1","object":"chat.completion.chunk","created":1,"model":"up","choices":[{"index":0,"delta":` + delta +
			`,"finish_reason":null}]` + after + "}\n\n"
	}
	native := func(parts, after string) string {
		return `data: {"candidates":[{"content":{"parts":[` + parts + `],"role":"model"},"index":0}]` + after + ",\"modelVersion\":\"up\"}\n\n"
	}
	block := func(delta string) string {
		return "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":` + delta + "}\n\n"
	}
	return map[llm.Style][]string{
		llm.Chat: {
			chat("", `{"content":%s}`, ""), chat("", `{"content":%s}`, `,"usage":null`), chat("", `{"reasoning_content":%s}`, ""),
			chat("", `{"role":"assistant","content":%s}`, ""), chat(`"note":"word",`, `{"content":%s}`, ""),
			chat("", `{"content":%s,"refusal":"word"}`, ""), chat("", `{"tool_calls":[{"index":0,"function":{"arguments":%s}}]}`, ""),
			chat("", `{"content":%s}`, `,"usage":{"prompt_tokens":1,"completion_tokens":2}`), strings.Replace(chat("", `{"content":%s}`, ""), `"index":0`, `"index":1`, 1),
			"id: 1\n" + chat("", `{"content":%s}`, ""), strings.Replace(chat("", `{"content":%s}`, ""), `,"choices"`, ",\ndata: \"choices\"", 1),
		},
		llm.Messages: {
			block(`{"type":"text_delta","text":%s}`), block(`{"type":"thinking_delta","thinking":%s}`), block(`{"type":"text_delta","text":%s,"more":"word"}`),
			block(`{"type":"signature_delta","signature":%s}`), strings.Replace(block(`{"type":"text_delta","text":%s}`), "\ndata", "\r\ndata", 1),
		},
		llm.Native: {
			native(`{"text":%s}`, ""), native(`{"text":%s,"thought":true}`, ""), native(`{"text":"word"},{"text":%s}`, ""),
			native(`{"text":%s}`, `,"usageMetadata":{"promptTokenCount":1,"totalTokenCount":1}`), native(`{"text":%s},{"executableCode":{"code":"word"}}`, ""),
		},
		llm.Responses: {
			"event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"m","delta":%s}` + "\n\n",
		},
	}
}

// through tells what a stream makes of frames; a blinded one reads each of them.
func through(style llm.Style, text []byte, blinded bool) string {
	d, _ := Of(style)
	s := d.NewStream(llm.ResponseOptions{Model: "public", CallID: "r", Choices: 2})
	defer s.Close()
	if blinded {
		passerOf(s).template.misses = 1 << 30
	}
	var told strings.Builder
	var out []byte
	for r := sse.NewReader(bytes.NewReader(text), nil); ; {
		f, err := r.Next()
		if err != nil {
			fmt.Fprintf(&told, "%s\n%+v", out, s.Stats())
			return told.String()
		}
		var step Step
		out, step, err = s.Frame(out, f)
		fmt.Fprintln(&told, len(out), step, err)
	}
}

// throughRuns is through for a stream whose frames are passed in runs where they can be. It tells only the bytes and the statistics.
func throughRuns(style llm.Style, text []byte, runs bool) string {
	d, _ := Of(style)
	s := d.NewStream(llm.ResponseOptions{Model: "public", CallID: "r", Choices: 2})
	defer s.Close()
	var out []byte
	var failed error
	r := sse.NewReader(iotest.HalfReader(bytes.NewReader(text)), nil)
	defer r.Close()
	for {
		if runs && r.Buffered() {
			out = s.(Runner).Run(out, r, RunLimit{Frames: 3, ContentBytes: 1 << 20, Bytes: len(out) + 1<<20})
		}
		f, err := r.Next()
		if err != nil {
			return fmt.Sprintf("%s\n%+v\n%v", out, s.Stats(), failed)
		}
		if out, _, err = s.Frame(out, f); err != nil {
			failed = err
		}
	}
}

// TestRunsPassWhatFramesPassOneByOne compares runs of frames with a stream that reads each frame by itself.
func TestRunsPassWhatFramesPassOneByOne(t *testing.T) {
	t.Parallel()
	texts := []string{`"a"`, `"word"`, `"up"`, `""`, `"\"quoted\" \\"`, `"größer \ud83d\ude00"`, `"cut`, `"a","b":"c"`, `null`, "\"a\ndata: b\"", "\"a\r\"", `"x\`}
	for style, frames := range twinFrames() {
		for i, one := range frames {
			for _, end := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
				var all strings.Builder
				for n, text := range texts {
					all.WriteString(strings.Repeat(strings.Replace(one, "%s", `"word"`, 1), n+2))
					all.WriteString(strings.Replace(one, "%s", text, 1))
				}
				wire := []byte(strings.ReplaceAll(all.String(), "\n\n", end))
				if got, want := throughRuns(style, wire, true), throughRuns(style, wire, false); got != want {
					t.Fatalf("%s, frame %d, end %q:\n%s\nwant\n%s", style, i, end, got, want)
				}
			}
		}
	}
}

// TestARunIsBoundedAndAllocatesNothing passes a run up to each of its bounds.
func TestARunIsBoundedAndAllocatesNothing(t *testing.T) { //nolint:paralleltest // It counts the allocations of the process.
	frame := strings.Replace(twinFrames()[llm.Chat][0], "%s", `"some words"`, 1)
	d, _ := Of(llm.Chat)
	s := d.NewStream(llm.ResponseOptions{Model: "public", Choices: 1})
	defer s.Close()
	var r sse.Reader
	text := []byte(strings.Repeat(frame, 100))
	r.ResetBytes(text)
	out := make([]byte, 0, 2*len(text))
	for range 2 { // The second frame is like the first.
		f, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		out, _, _ = s.Frame(out, f)
	}
	for name, c := range map[string]struct {
		limit RunLimit
		want  int64
	}{
		"frames":  {RunLimit{Frames: 5, ContentBytes: 1000, Bytes: 1 << 20}, 5},
		"content": {RunLimit{Frames: 50, ContentBytes: 41, Bytes: 1 << 20}, 5},
		"bytes":   {RunLimit{Frames: 50, ContentBytes: 1000, Bytes: 1}, 1},
	} {
		before := s.Stats()
		out = s.(Runner).Run(out[:0], &r, c.limit)
		after := s.Stats()
		if got := after.ContentFrames - before.ContentFrames; got != c.want || after.ContentBytes-before.ContentBytes != 10*c.want {
			t.Errorf("%s: %d frames, want %d", name, got, c.want)
		}
	}
	if n := testing.AllocsPerRun(10, func() {
		out = s.(Runner).Run(out[:0], &r, RunLimit{Frames: 5, ContentBytes: 1000, Bytes: 1 << 20})
	}); n != 0 || len(out) == 0 {
		t.Errorf("a run of %d bytes allocates %v times", len(out), n)
	}
}

func passerOf(s Stream) *passthrough {
	switch s := s.(type) {
	case *chatStream:
		return &s.passthrough
	case *messagesStream:
		return &s.passthrough
	case *responsesStream:
		return &s.passthrough
	}
	return &s.(*nativeStream).passthrough
}

func TestFramesThatDifferInTheirTextOnlyAreReadLikeAllOthers(t *testing.T) {
	t.Parallel()
	texts := []string{`"a"`, `"word"`, `"up"`, `""`, `"\"quoted\" \\"`, `"größer \ud83d\ude00"`, `"public"`, `"cut`, `"a","b":"c"`, `null`, `"index"`, "\"a\ndata: b\"", "\"a\n: b\""}
	for style, frames := range twinFrames() {
		for i, one := range frames {
			for j, other := range frames {
				var all strings.Builder
				for n, text := range append(texts, texts...) {
					all.WriteString(strings.Replace(one, "%s", text, 1))
					if n%4 == 3 {
						all.WriteString(strings.Replace(other, "%s", text, 1))
					}
				}
				if got, want := through(style, []byte(all.String()), false), through(style, []byte(all.String()), true); got != want {
					t.Fatalf("%s, frames %d and %d:\n%s\nwant\n%s", style, i, j, got, want)
				}
			}
		}
	}
}

func TestTwinsAreFound(t *testing.T) {
	t.Parallel()
	for style, frames := range twinFrames() {
		if style == llm.Responses {
			continue // The frames of this style are numbered.
		}
		d, _ := Of(style)
		s := d.NewStream(llm.ResponseOptions{Model: "public", Choices: 1})
		text := strings.Repeat(strings.Replace(frames[0], "%s", `"some words"`, 1), 8)
		for r := sse.NewReader(strings.NewReader(text), nil); ; {
			f, err := r.Next()
			if err != nil {
				break
			}
			_, _, _ = s.Frame(nil, f)
		}
		if p := passerOf(s); len(p.template.head) == 0 || p.template.misses != 0 {
			t.Errorf("%s: no frame was a twin of the one before", style)
		}
		s.Close()
	}
}

func FuzzTwins(f *testing.F) {
	for style, frames := range twinFrames() {
		for _, frame := range frames {
			f.Add(string(style), strings.Replace(frame, "%s", `"a"`, 1), strings.Replace(frame, "%s", `"b"`, 1))
		}
	}
	f.Fuzz(func(t *testing.T, style, one, other string) {
		if _, ok := Of(llm.Style(style)); !ok {
			return
		}
		frames := twinFrames()[llm.Style(style)]
		text := strings.Replace(frames[0], "%s", `"x"`, 1) + strings.Repeat(one, 3) + other + one + other
		if got, want := through(llm.Style(style), []byte(text), false), through(llm.Style(style), []byte(text), true); got != want {
			t.Fatalf("%q and %q:\n%s\nwant\n%s", one, other, got, want)
		}
	})
}
