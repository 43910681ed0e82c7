package chat_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"umg/app"
	"umg/app/dialect/chat"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

func addFixtures(f *testing.F, folder string) {
	f.Helper()
	files, err := filepath.Glob("testdata/" + folder + "/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("no fixtures in %s: %v", folder, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		sent, _, _ := strings.Cut(string(text), dashes)
		f.Add([]byte(sent))
	}
}

// FuzzDecodeRequest proves that any body is refused as the caller's fault or is read into something that can be written
// and read again, with nothing changed from then on.
func FuzzDecodeRequest(f *testing.F) {
	addFixtures(f, "request")
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := chat.Codec{}.DecodeRequest(body)
		if err != nil {
			if app.KindOf(err) != app.Invalid {
				t.Fatalf("%v", err)
			}
			return
		}
		once, err := chat.Codec{}.EncodeRequest(r)
		if err != nil {
			if app.KindOf(err) != app.Invalid {
				t.Fatalf("%v", err)
			}
			return
		}
		if !json.Valid(once) {
			t.Fatalf("not JSON: %s", once)
		}
		again, err := chat.Codec{}.DecodeRequest(once)
		if err != nil {
			t.Fatalf("%v: %s", err, once)
		}
		twice, err := chat.Codec{}.EncodeRequest(again)
		if err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%v\n%s\n%s", err, once, twice)
		}
	})
}

// FuzzDecodeResponse proves that any body is an answer, an error or broken, and that answers can be written.
func FuzzDecodeResponse(f *testing.F) {
	addFixtures(f, "answer")
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := chat.Codec{}.DecodeResponse(body, llmtest.NewOptions())
		if err != nil {
			if _, upstream := errors.AsType[*llm.UpstreamError](err); !upstream && !errors.Is(err, llm.ErrBroken) {
				t.Fatalf("%v", err)
			}
			return
		}
		if r.Reported && !r.Usage.Valid() || r.Stop == "" {
			t.Fatalf("%+v", r)
		}
		written := chat.Codec{}.EncodeResponse(nil, r, llmtest.NewOptions())
		if !json.Valid(written) || bytes.ContainsAny(written, "\n\r") {
			t.Fatalf("not one line of JSON: %s", written)
		}
	})
}

// FuzzDecodeStream proves that any stream makes a legal sequence of events, wherever its bytes are cut, and that what
// is written from them is whole frames of JSON.
func FuzzDecodeStream(f *testing.F) {
	addFixtures(f, "stream")
	f.Fuzz(func(t *testing.T, wire []byte) {
		events, err := llmtest.DecodeStream(chat.Codec{}.Decoder(llmtest.NewOptions()), wire)
		if fault := llmtest.Legal(events); fault != "" {
			t.Fatalf("%s: %+v", fault, events)
		}
		finished := len(events) > 0 && events[len(events)-1].Kind == llm.EventFinish
		if finished != (err == nil) {
			t.Fatalf("%v after %+v", err, events)
		}
		if last := len(events) - 1; finished && events[last].Reported && !events[last].Usage.Valid() {
			t.Fatalf("%+v", events[last])
		}
		if cut, _ := llmtest.DecodeInPieces(chat.Codec{}.Decoder(llmtest.NewOptions()), wire); !reflect.DeepEqual(cut, events) {
			t.Fatalf("in pieces %+v\nwhole %+v", cut, events)
		}
		var out []byte
		enc := chat.Codec{}.Encoder(llmtest.NewOptions())
		for i := range events {
			out = enc.Append(out, &events[i])
		}
		for frame := range strings.SplitSeq(strings.TrimSuffix(string(out), "\n\n"), "\n\n") {
			if data := strings.TrimPrefix(frame, "data: "); len(events) > 0 && data != chat.Done && !json.Valid([]byte(data)) {
				t.Fatalf("not a frame: %q", frame)
			}
		}
	})
}
