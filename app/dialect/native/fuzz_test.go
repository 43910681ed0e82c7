package native_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/dialect/native"
	"umg/app/llm"
	"umg/app/llm/llmtest"
	"umg/app/sse"
)

func addFiles(f *testing.F, pattern string) {
	f.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		f.Fatal(err, "no seeds")
	}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
}

// FuzzDecodeRequest proves that whatever is read as a request can be written, and that this changes nothing more after
// the first time. What is not read, or cannot be written, is the caller's mistake and says so.
func FuzzDecodeRequest(f *testing.F) {
	addFiles(f, "testdata/request_*.json")
	f.Add([]byte(`{"contents":"Hi","toolConfig":{"functionCallingConfig":{"mode":"VALIDATED"}},"tools":[{"functionDeclarations":[{"name":"f"}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) { requestSettles(t, body) })
}

// failing is what tests and properties have in common.
type failing interface {
	Helper()
	Fatalf(format string, args ...any)
}

// requestSettles reports whether the request could be carried.
func requestSettles(t failing, body []byte) bool {
	t.Helper()
	first, err := native.Codec{}.DecodeRequest(body)
	if err != nil {
		callersMistake(t, err)
		return false
	}
	wire, err := encodeChecked(first)
	if err != nil {
		callersMistake(t, err)
		return false
	}
	if !utf8.Valid(wire) {
		t.Fatalf("no UTF-8: %q", wire)
	}
	second, err := native.Codec{}.DecodeRequest(wire)
	if err != nil {
		t.Fatalf("%v\n%s", err, wire)
	}
	again, err := native.Codec{}.EncodeRequest(second)
	if err != nil || !bytes.Equal(wire, again) {
		t.Fatalf("%v\n%s\n%s", err, wire, again)
	}
	return true
}

func callersMistake(t failing, err error) {
	t.Helper()
	if e, ok := errors.AsType[*app.Error](err); !ok || e.Kind != app.Invalid || e.Code == "" || e.Message == "" {
		t.Fatalf("not a mistake that the caller can mend: %v", err)
	}
}

// FuzzDecodeStream proves that any stream gives a legal and bounded sequence of events wherever it is split, and that
// what was read can be written so that it is read alike.
func FuzzDecodeStream(f *testing.F) {
	addFiles(f, "testdata/native_*.sse")
	f.Fuzz(func(t *testing.T, wire []byte) { streamSettles(t, wire) })
}

func streamSettles(t failing, wire []byte) {
	t.Helper()
	events, err := decodeStream(wire)
	if fault := llmtest.Legal(events); fault != "" {
		t.Fatalf("%s: %s", fault, sketch(events))
	}
	if len(events) > 8*len(wire)+8 {
		t.Fatalf("%d events of %d bytes", len(events), len(wire))
	}
	if split := inBytes(wire); sketch(split) != sketch(events) {
		t.Fatalf("it matters where the stream is split\n%s\n%s", sketch(split), sketch(events))
	}
	if err != nil {
		return
	}
	want := llm.Fold(events)
	if n := len(events); n == 0 || events[n-1].Kind != llm.EventFinish {
		t.Fatalf("no finish: %s", sketch(events))
	}
	enc := native.Codec{}.Encoder(llmtest.NewOptions())
	var out []byte
	for i := range events {
		out = enc.Append(out, &events[i])
	}
	again, err := decodeStream(out)
	if err != nil {
		t.Fatalf("%v\n%q", err, out)
	}
	whole, err := native.Codec{}.DecodeResponse(native.Codec{}.EncodeResponse(nil, want, llmtest.NewOptions()), llmtest.NewOptions())
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, got := range []*llm.Response{llm.Fold(again), whole} {
		got.ID, want.ID = "", ""
		if want.Stop == llm.StopPause {
			want.Stop = got.Stop // The style has no finish reason for a pause.
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("\ngot  %+v\nwant %+v\n%q", got, want, out)
		}
	}
}

// inBytes reads a stream that comes byte by byte, as far as its first error.
func inBytes(wire []byte) []llm.Event {
	reader := sse.NewReader(iotest.OneByteReader(bytes.NewReader(wire)), sse.NewBudget(64<<20))
	defer reader.Close()
	d := native.Codec{}.Decoder(llmtest.NewOptions())
	var events []llm.Event
	for {
		frame, err := reader.Next()
		if errors.Is(err, io.EOF) {
			events, _ = d.End(events)
			return events
		}
		if err == nil && frame.Data != nil {
			events, err = d.Decode(events, frame.Event, frame.Data)
		}
		if err != nil && !errors.Is(err, llm.ErrMalformed) {
			return events
		}
	}
}

// saidParts are parts of a model's turn, good and odd.
var saidParts = []string{
	`{"text":"a"}`, `{"text":"b","thoughtSignature":"s1"}`, `{"text":"","thoughtSignature":"s2"}`, `{"text":""}`, `{}`,
	`{"text":"c","thought":true}`, `{"text":"d","thought":true,"thoughtSignature":"s3"}`, `{"text":"","thought":true,"thoughtSignature":"s4"}`,
	`{"text":"","thought":true}`, `{"functionCall":{"name":"f"}}`, `{"functionCall":{"name":"g","args":{"a":[1,{"b":"\u0041"}]}},"thoughtSignature":"s5"}`,
	`{"functionCall":{"id":"x","name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"}`, `{"functionCall":{"id":"x","name":"g"}}`,
	`{"functionCall":{"name":"f","args":{}},"thoughtSignature":"Z3cxLmEuYg=="}`, `{"executableCode":{"code":"1"}}`,
}

// oddParts are what only an upstream may send.
var oddParts = []string{
	`{"functionCall":{"name":"","args":{}}}`, `{"functionCall":{"name":"f","args":7}}`, `{"functionCall":{"name":"f","willContinue":true}}`, `{"inlineData":{}}`,
}

func TestAnyStreamOfPartsSettles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom(append(oddParts, saidParts...))
		var list []string
		for range rapid.IntRange(0, 6).Draw(t, "frames") {
			rest := rapid.SampledFrom([]string{"", "", "", `,"finishReason":"STOP"`, `,"finishReason":"MAX_TOKENS"`, `,"finishReason":"OTHER"`, `,"index":1`}).Draw(t, "rest")
			frame := partsWriter(strings.Join(rapid.SliceOfN(part, 0, 4).Draw(t, "parts"), ","), rest)
			if rapid.Bool().Draw(t, "usage") {
				frame = frame[:len(frame)-1] + `,"usageMetadata":{"promptTokenCount":3,"cachedContentTokenCount":1,"totalTokenCount":5}}`
			}
			list = append(list, frame)
		}
		streamSettles(t, frames(list...))
	})
}

func TestAnyConversationOfPartsSettles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		turns := []string{`{"parts":[{"text":"Hi"}]}`}
		for range rapid.IntRange(0, 4).Draw(t, "rounds") {
			parts := rapid.SliceOfN(rapid.SampledFrom(saidParts), 0, 5).Draw(t, "said")
			for _, p := range parts {
				turns = append(turns, `{"role":"model","parts":[`+p+`]}`)
			}
			for _, p := range parts {
				if strings.Contains(p, `"functionCall"`) {
					id := ""
					if strings.Contains(p, `"id":"x"`) {
						id = `"id":"x",`
					}
					name := "f"
					if strings.Contains(p, `"name":"g"`) {
						name = "g"
					}
					turns = append(turns, `{"role":"user","parts":[{"functionResponse":{`+id+`"name":"`+name+`","response":{"a":1}}}]}`)
				}
			}
			turns = append(turns, `{"role":"user","parts":[{"text":"Go on."}]}`)
		}
		body := `{"contents":[` + strings.Join(turns, ",") + `]}`
		if !requestSettles(t, []byte(body)) {
			t.Fatalf("refused: %s", body)
		}
	})
}
