package messages_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/dialect/messages"
	"umg/app/llm"
	"umg/app/llm/llmtest"
	"umg/app/sse"
)

// FuzzDecodeRequest holds that reading never panics, that errors are the caller's, and that what can be written is
// valid and is read as the same again.
func FuzzDecodeRequest(f *testing.F) {
	for _, body := range []string{
		with(`"system":"s","tools":[{"name":"f","input_schema":{}}],"tool_choice":"any","thinking":{"type":"enabled","budget_tokens":2000}`),
		with(`"top_k":1,"temperature":2e0,"stop_sequences":[""],"metadata":{"user_id":"u"},"output_config":{"effort":"low"}`),
		`{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"content","content":"x"}}]},{"role":"assistant","content":[` +
			`{"type":"thinking","signature":"s"},{"type":"tool_use","id":"a b","input":{"a":1.0}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a b"}]}]}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		c := messages.Codec{}
		r, err := c.DecodeRequest(body)
		if err != nil {
			if e, ok := errors.AsType[*app.Error](err); !ok || e.Kind != app.Invalid {
				t.Fatal(err)
			}
			return
		}
		r.Features()
		wire, err := c.EncodeRequest(r)
		if err != nil {
			if e, ok := errors.AsType[*app.Error](err); !ok || e.Kind != app.Invalid {
				t.Fatal(err)
			}
			return
		}
		if !jsontext.Value(wire).IsValid() || bytes.ContainsAny(wire, "\r\n") {
			t.Fatalf("not one line of JSON: %s", wire)
		}
		again, err := c.DecodeRequest(wire)
		if err != nil {
			t.Fatalf("%v\n%s", err, wire)
		}
		twice, err := c.EncodeRequest(again)
		if err != nil || !bytes.Equal(wire, twice) {
			t.Fatalf("%v\n%s\n%s", err, wire, twice)
		}
	})
}

// FuzzDecodeStream holds that a stream is read as a legal order of events however odd it is, wherever it is split, and
// from memory that is used again; and that what is written of it is right.
func FuzzDecodeStream(f *testing.F) {
	files, err := filepath.Glob("testdata/*.sse")
	if err != nil || len(files) == 0 {
		f.Fatal(err)
	}
	for _, name := range files {
		wire, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		events, err := llmtest.DecodeStream(messages.Codec{}.Decoder(llmtest.NewOptions()), wire)
		if fault := llmtest.Legal(events); fault != "" {
			t.Fatalf("%s: %+v", fault, events)
		}
		split, err2 := decodeSplit(wire)
		if !reflect.DeepEqual(events, split) || (err == nil) != (err2 == nil) {
			t.Fatalf("read differently\n%+v %v\n%+v %v", events, err, split, err2)
		}
		if err != nil {
			return
		}
		again := encodeStream(events)
		if len(again) > 16*len(wire)+4096 {
			t.Fatalf("%d bytes became %d", len(wire), len(again))
		}
		for _, fr := range frames(t, again) {
			if !jsontext.Value(fr.data).IsValid() {
				t.Fatalf("not JSON: %s", fr.data)
			}
		}
		back, err := llmtest.DecodeStream(messages.Codec{}.Decoder(llmtest.NewOptions()), again)
		if err != nil || llmtest.Legal(back) != "" {
			t.Fatalf("%v\n%s", err, again)
		}
	})
}

// decodeSplit reads a stream byte by byte, from memory that is overwritten after each frame.
func decodeSplit(wire []byte) ([]llm.Event, error) {
	d := messages.Codec{}.Decoder(llmtest.NewOptions())
	r := sse.NewReader(iotest.OneByteReader(bytes.NewReader(wire)), nil)
	defer r.Close()
	var events []llm.Event
	for {
		frame, err := r.Next()
		if err != nil {
			return d.End(events)
		}
		if frame.Data == nil {
			continue
		}
		data := bytes.Clone(frame.Data)
		events, err = d.Decode(events, frame.Event, data)
		for i := range data {
			data[i] = '#'
		}
		switch {
		case errors.Is(err, llm.ErrEnd):
			return events, nil
		case err != nil && !errors.Is(err, llm.ErrMalformed):
			return events, err
		}
	}
}
