package translate

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"umg/app/dialect"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
	"umg/app/sse"
)

// pieces are frames of a style, each with one of the texts as JSON, as clients of it are sent them.
func pieces(style llm.Style, texts []string) []byte {
	var b bytes.Buffer
	for i, text := range texts {
		switch style {
		case llm.Chat:
			fmt.Fprintf(&b, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":%s}}]}`+"\n\n", text)
		case llm.Messages:
			fmt.Fprintf(&b, "event: content_block_delta\ndata: "+`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`+"\n\n", text)
		case llm.Responses:
			fmt.Fprintf(&b, "event: response.output_text.delta\ndata: "+
				`{"type":"response.output_text.delta","sequence_number":%d,"item_id":"msg","output_index":0,"content_index":0,"delta":%s}`+"\n\n", i+4, text)
		case llm.Native:
			fmt.Fprintf(&b, `data: {"candidates":[{"content":{"parts":[{"text":%s}],"role":"model"},"index":0}],"responseId":"r"}`+"\n\n", text)
		}
	}
	return b.Bytes()
}

// openingOf is what stands before the pieces.
func openingOf(style llm.Style) []byte {
	switch style {
	case llm.Messages:
		return []byte("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"usage\":{}}}\n\n" +
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n")
	case llm.Responses:
		return []byte("event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"r\",\"created_at\":1}}\n\n" +
			"event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":1,\"output_index\":0," +
			"\"item\":{\"type\":\"message\",\"id\":\"msg\"}}\n\n" +
			"event: response.content_part.added\ndata: {\"type\":\"response.content_part.added\",\"sequence_number\":2,\"output_index\":0,\"content_index\":0," +
			"\"part\":{\"type\":\"output_text\",\"text\":\"\"}}\n\n")
	}
	return nil
}

// TestATranscriptIsTheSameWithoutADecoder compares what is noted of frames that fit a pattern with what a decoder reads of
// them.
func TestATranscriptIsTheSameWithoutADecoder(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune(" abc\n\"\\/é日🙂\u2028")), 1, 6, -1),
		rapid.SampledFrom([]string{"content", "text", "0", "model", "delta"}))
	rapid.Check(t, func(t *rapid.T) {
		style := rapid.SampledFrom(llm.Styles()).Draw(t, "style")
		list := rapid.SliceOfN(text, 1, 30).Draw(t, "texts")
		written := make([]string, len(list))
		for i, one := range list {
			written[i] = rawjson.Quote(one)
			if rapid.Bool().Draw(t, "escaped") {
				written[i] = strings.ReplaceAll(written[i], "a", `\u0061`)
			}
		}
		d, _ := dialect.Of(style)
		quick, slow := NewTranscript(d, llm.ResponseOptions{Model: "m", Choices: 1}), NewTranscript(d, llm.ResponseOptions{Model: "m", Choices: 1})
		slow.pattern.misses = patternMissesMax // The slow decoder learns no pattern.
		wire := append(openingOf(style), pieces(style, written)...)
		quick.Add(wire)
		slow.Add(wire)
		if len(quick.parts) != 1 || len(slow.parts) != 1 || string(quick.parts[0].text) != strings.Join(list, "") ||
			!bytes.Equal(quick.parts[0].text, slow.parts[0].text) || quick.bytes != slow.bytes || quick.Resumable() != slow.Resumable() || !quick.Resumable() {
			t.Fatalf("%+v and %+v of %s", quick.parts, slow.parts, wire)
		}
		next := func(t *Transcript) string {
			e, _ := t.resume()
			return string(e.Append(nil, &llm.Event{Kind: llm.EventDelta, Part: llm.Text, Delta: "next"}))
		}
		if a, b := next(quick), next(slow); a != b {
			t.Fatalf("the answer goes on with %s and with %s", a, b)
		}
	})
}

func TestMostPiecesOfATextNeedNoDecoder(t *testing.T) { //nolint:paralleltest // allocations of other tests would be counted, too
	for _, style := range llm.Styles() {
		d, _ := dialect.Of(style)
		transcript := NewTranscript(d, llm.ResponseOptions{Model: "m", Choices: 1})
		transcript.Add(append(openingOf(style), pieces(style, []string{`" one"`, `" and"`})...))
		transcript.frames.Reset(bytes.NewReader(pieces(style, []string{`" two\n"`})), nil)
		f, err := transcript.frames.Next()
		if err != nil {
			t.Fatal(err)
		}
		if text, _, ok := transcript.pattern.match(f); !ok || string(text) != " two\n" {
			t.Errorf("%s: %q", style, text)
		}
		f = sse.Frame{Raw: bytes.Replace(f.Raw, []byte(`" two\n"`), []byte(`" two\ud83d"`), 1), Data: bytes.Replace(f.Data, []byte(`" two\n"`), []byte(`" two\ud83d"`), 1)}
		if _, _, ok := transcript.pattern.match(f); ok || len(transcript.pattern.head) > 0 {
			t.Errorf("%s: half a letter is a piece", style)
		}
		transcript.frames.Close()
		frame := pieces(style, []string{`" two"`})
		if n := testing.AllocsPerRun(100, func() { transcript.Add(frame) }); n > 1 {
			t.Errorf("%s: a piece costs %v allocations", style, n)
		}
	}
}

// interruptions are frames that may stand between the pieces of a style.
var interruptions = map[llm.Style][]string{
	llm.Chat: {
		`data: {"id":"c","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`,
		`data: {"id":"c","choices":[{"index":0,"delta":{"reasoning_content":"why"}}]}`,
		`data: {"id":"c","choices":[{"index":1,"delta":{"content":"other"}}]}`,
		`data: {"id":"c","choices":[{"index":0,"delta":{"content":"\ud83d"}}]}`,
		`data: {"id":"c","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}`,
		`data: not JSON`,
	},
	llm.Messages: {
		"event: content_block_stop\ndata: " + `{"type":"content_block_stop","index":0}`,
		"event: content_block_start\ndata: " + `{"type":"content_block_start","index":1,"content_block":{"type":"thinking","thinking":""}}`,
		"event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"why"}}`,
		"event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"other"}}`,
		"event: message_delta\ndata: " + `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}`,
		"event: ping\ndata: " + `{"type":"ping"}`,
	},
	llm.Responses: {
		"event: response.output_text.done\ndata: " + `{"type":"response.output_text.done","sequence_number":9,"item_id":"msg","output_index":0,"content_index":0,"text":"x"}`,
		"event: response.output_text.delta\ndata: " + `{"type":"response.output_text.delta","sequence_number":9,"item_id":"msg","output_index":0,"content_index":1,"delta":"other"}`,
		"event: response.output_item.done\ndata: " + `{"type":"response.output_item.done","sequence_number":9,"output_index":0,"item":{"type":"message","id":"msg"}}`,
		"event: response.in_progress\ndata: " + `{"type":"response.in_progress","sequence_number":9}`,
	},
	llm.Native: {
		`data: {"candidates":[{"content":{"parts":[{"text":"x"}],"role":"model"},"index":0,"finishReason":"STOP"}],"responseId":"r"}`,
		`data: {"candidates":[{"content":{"parts":[{"text":"why","thought":true}],"role":"model"},"index":0}],"responseId":"r"}`,
		`data: {"candidates":[{"content":{"parts":[{"text":"x"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4},"responseId":"r"}`,
		`data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}],"role":"model"},"index":0}],"responseId":"r"}`,
	},
}

// TestATranslatedStreamIsTheSameWithoutADecoder compares what a client gets, and what is counted, of frames that fit a pattern with what
// it gets when every frame goes through the decoder.
func TestATranslatedStreamIsTheSameWithoutADecoder(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune(" abc\n\"\\/é日🙂\u2028")), 0, 6, -1),
		rapid.SampledFrom([]string{"content", "text", "0", "model", "delta", "finish_reason", "STOP", "<think>", "</think>"}))
	request := &llm.Request{Turns: []llm.Turn{{Role: llm.User, Parts: []llm.Part{{Kind: llm.Text, Text: "hi"}}}}}
	var fitted atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		upstream := rapid.SampledFrom(llm.Styles()).Draw(t, "upstream")
		client := rapid.SampledFrom(llm.Styles()).Filter(func(s llm.Style) bool { return s != upstream }).Draw(t, "client")
		wire := openingOf(upstream)
		for _, one := range rapid.SliceOfN(text, 1, 30).Draw(t, "texts") {
			for rapid.IntRange(0, 5).Draw(t, "interrupts") == 0 {
				wire = append(append(wire, rapid.SampledFrom(interruptions[upstream]).Draw(t, "interruption")...), "\n\n"...)
			}
			wire = append(wire, pieces(upstream, []string{rawjson.Quote(one)})...)
		}
		from, _ := dialect.Of(upstream)
		to, _ := dialect.Of(client)
		options := llm.ResponseOptions{Model: "m", CallID: "req_1", Choices: 1, ThinkText: rapid.Bool().Draw(t, "thinks")}
		play := func(decodes bool) (string, dialect.StreamStats) {
			way, err := New(to, from, request, "maker", 100)
			if err != nil {
				t.Fatal(err)
			}
			s, _ := way.NewStream(options).(*translatedStream)
			if decodes {
				s.pattern.misses = patternMissesMax
			}
			var frames sse.Reader
			frames.ResetBytes(wire)
			var got strings.Builder
			for f, err := frames.Next(); err == nil; f, err = frames.Next() {
				before := len(s.pattern.head)
				out, step, err := s.Frame(nil, f)
				if before > 0 && s.pattern.misses == 0 {
					fitted.Add(1)
				}
				fmt.Fprintf(&got, "%s%v %v\n", out, step, err)
			}
			frames.Close()
			return got.String(), s.Stats()
		}
		quick, quickStats := play(false)
		slow, slowStats := play(true)
		if quick != slow || !reflect.DeepEqual(quickStats, slowStats) {
			t.Fatalf("%s to %s of %s\n%s\nwithout a decoder, and with one\n%s\n%+v\n%+v", upstream, client, wire, quick, slow, quickStats, slowStats)
		}
	})
	if fitted.Load() == 0 {
		t.Error("no frame fitted a pattern")
	}
}
