package dialect

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

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
			continue // its frames are numbered
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
