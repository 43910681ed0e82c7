package responses_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"umg/app"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

// FuzzDecodeRequest proves that no body makes the codec panic, and that what it can read it can also write and read
// again.
func FuzzDecodeRequest(f *testing.F) {
	full, err := codec.EncodeRequest(fullRequest())
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		string(full), `{"input":"Hi"}`, `{"input":[{"role":"user","content":"a"},{"id":"x"}]}`, `[]`, `{"tools":[{"type":"web_search"}]}`,
		`{"input":[{"type":"reasoning","summary":[],"encrypted_content":"e"}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := codec.DecodeRequest(body)
		if err != nil {
			if e, ok := errors.AsType[*app.Error](err); !ok || e.Kind != app.Invalid || e.Message == "" {
				t.Fatalf("an undeclared error: %v", err)
			}
			return
		}
		again, err := codec.EncodeRequest(r)
		if err != nil {
			return
		}
		if !json.Valid(again) || !utf8.Valid(again) || bytes.ContainsAny(again, "\r\n") {
			t.Fatalf("not one line of JSON: %s", again)
		}
		second, err := codec.DecodeRequest(again)
		if err != nil {
			t.Fatalf("our own request is refused: %v\n%s", err, again)
		}
		if got, want := sketch(second), sketch(r); got != want {
			t.Fatalf("the conversation changed\nfrom %s\nto   %s", want, got)
		}
	})
}

// FuzzDecodeStream proves that whatever an upstream sends, the events are in order at any time, and that clients of
// this style get a stream they can read.
func FuzzDecodeStream(f *testing.F) {
	files, err := filepath.Glob("testdata/*.sse")
	if err != nil || len(files) == 0 {
		f.Fatal("no recorded streams", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		events, err := llmtest.DecodeStream(codec.Decoder(llmtest.NewOptions()), wire)
		if fault := llmtest.Legal(events); fault != "" {
			t.Fatalf("%s:\n%s", fault, describe(events))
		}
		whole := len(events) > 0 && events[len(events)-1].Kind == llm.EventFinish
		if whole != (err == nil) {
			t.Fatalf("whole is %v and the error %v", whole, err)
		}
		size := 0
		for i := range events {
			size += len(events[i].Delta) + len(events[i].Call.Name)
		}
		if size > 4*len(wire)+1024 {
			t.Fatalf("%d bytes became %d", len(wire), size)
		}
		enc := codec.Encoder(llmtest.NewOptions())
		var out []byte
		for i := range events {
			out = enc.Append(out, &events[i])
		}
		c := newStrictClient(t)
		if !whole {
			c.cutOff = true
			out = enc.Fail(out, app.Errorf(app.Upstream, "upstream_error", "m"), "req_1", nil)
		}
		c.read(out)
	})
}

func FuzzDecodeResponse(f *testing.F) {
	f.Add(codec.EncodeResponse(nil, &llm.Response{Stop: llm.StopEnd, Parts: []llm.Part{{Kind: llm.Text, Text: "a"}}}, llmtest.NewOptions()))
	f.Add([]byte(`{"status":"completed","output":[{"type":"function_call"},{"type":"reasoning","summary":[{}]},7]}`))
	f.Add([]byte(`{"error":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := codec.DecodeResponse(body, llmtest.NewOptions())
		if err != nil {
			if _, ok := errors.AsType[*llm.UpstreamError](err); !ok && !errors.Is(err, llm.ErrBroken) {
				t.Fatalf("an undeclared error: %v", err)
			}
			return
		}
		if out := codec.EncodeResponse(nil, r, llmtest.NewOptions()); !json.Valid(out) || !utf8.Valid(out) {
			t.Fatalf("not JSON: %s", out)
		}
	})
}

func BenchmarkDecodeDelta(b *testing.B) {
	data := []byte(`{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_fx1","output_index":0,"content_index":0,"delta":"Hello there","logprobs":[]}`)
	d := codec.Decoder(llmtest.NewOptions())
	events, err := d.Decode(nil, nil, data)
	if err != nil {
		b.Fatal(err)
	}
	event := []byte("response.output_text.delta")
	b.ReportAllocs()
	for b.Loop() {
		if events, err = d.Decode(events[:0], event, data); err != nil || len(events) != 1 {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeDelta(b *testing.B) {
	enc := codec.Encoder(llmtest.NewOptions())
	dst := enc.Append(nil, &llm.Event{Kind: llm.EventStart})
	dst = enc.Append(dst[:0], &llm.Event{Kind: llm.EventPart, Part: llm.Text})
	e := &llm.Event{Kind: llm.EventDelta, Part: llm.Text, Delta: "Hello there"}
	b.ReportAllocs()
	for b.Loop() {
		dst = enc.Append(dst[:0], e)
	}
}
