package converse_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"umg/app/dialect/converse"
	"umg/app/llm"
	"umg/app/llm/llmtest"
	"umg/app/provider/framing"
	"umg/app/provider/framing/framingtest"
	"umg/app/provider/recordings"
)

// recorded returns the recorded answers of the API by their names.
func recorded(t testing.TB) map[string]*recordings.Recording {
	t.Helper()
	all, err := recordings.All()
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]*recordings.Recording{}
	for i := range all {
		if all[i].Wire == recordings.Converse {
			list[strings.TrimPrefix(all[i].File, "bedrock/")] = &all[i]
		}
	}
	return list
}

// frames returns a recorded stream as server-sent events.
func frames(t testing.TB, r *recordings.Recording) []byte {
	t.Helper()
	if r.IsEventStream() {
		return r.Body
	}
	text, err := io.ReadAll(framing.NewReader(framing.EventStream, io.NopCloser(bytes.NewReader(r.Body))))
	if err != nil {
		t.Fatalf("%s: %v", r.File, err)
	}
	return text
}

// describe describes an answer in short.
func describe(r *llm.Response) string {
	var parts []string
	for i := range r.Parts {
		switch p := &r.Parts[i]; p.Kind {
		case llm.Text:
			parts = append(parts, fmt.Sprintf("text %d", len(p.Text)))
		case llm.Reasoning:
			parts = append(parts, fmt.Sprintf("thought %d signed %d", len(p.Text), len(p.Signature)))
		case llm.Call:
			parts = append(parts, "call "+p.Call.ID[:min(12, len(p.Call.ID))]+" "+p.Call.Name+p.Call.Arguments)
		}
	}
	u := &r.Usage
	return fmt.Sprintf("%s; %s; %d+%d+%d %d; %q", strings.Join(parts, ", "), r.Stop, u.Input, u.CacheRead, u.CacheWrite, u.Output,
		u.Terms.ServiceTier)
}

// TestRecordedAnswers reads each recorded answer. The expected ones were read from the recordings by hand.
func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"basic.json":                       `text 142; stop; 53+0+0 39; ""`,
		"cache-usage.json":                 `text 1; stop; 13+1504+0 5; ""`,
		"cache.1.json":                     `text 2; stop; 10+0+7351 4; ""`,
		"guardrail.json":                   `text 345; stop; 13+0+0 69; ""`,
		"reasoning-nova.json":              `thought 11 signed 0, text 3; stop; 110+0+0 223; ""`,
		"service-tier.json":                `text 376; length; 13+0+0 5; "flex"`,
		"tools.1.json":                     `call tooluse_LgMM weather{"latitude":"52.5200","longitude":"13.4050"}; tool_calls; 986+0+0 42; ""`,
		"tools.2.json":                     `text 95; stop; 1078+0+0 33; ""`,
		"stream.json":                      `text 47; stop; 53+0+0 21; ""`,
		"tools-stream.2.json":              `text 95; stop; 1078+0+0 33; ""`,
		"tools-stream.3.json":              `call tooluse_QWrx weather{"latitude":"48.8575","longitude":"2.3514"}; tool_calls; 1133+0+0 42; ""`,
		"converse-stream-py.json":          `text 375; stop; 13+0+0 82; ""`,
		"converse-reasoning.chunks.txt":    `thought 116 signed 388, text 63; stop; 51+0+0 94; ""`,
		"converse-tool-call.1.chunks.txt":  `call tool-use-id test-tool{"value":"Sparkle Day"}; tool_calls; 125+0+0 45; ""`,
		"converse-tool-no-args.chunks.txt": `text 35, call tool-use-id updateIssueList{}; tool_calls; 100+0+0 25; ""`,
	}
	seen := 0
	for name, r := range recorded(t) {
		if r.Status != 200 {
			continue
		}
		seen++
		answer, err := readRecorded(t, r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := describe(answer); got != want[name] {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want[name])
		}
		if answer != nil && (!answer.Reported || answer.Usage.Doubts != 0 || answer.Usage.Unread) {
			t.Errorf("%s: %+v", name, answer.Usage)
		}
	}
	if seen != len(want) {
		t.Errorf("%d recorded answers, %d expected", seen, len(want))
	}
}

func readRecorded(t *testing.T, r *recordings.Recording) (*llm.Response, error) {
	t.Helper()
	if !r.Streamed && json.Valid(r.Body) {
		return converse.Codec{}.DecodeResponse(r.Body, llmtest.NewOptions())
	}
	decoder := strict{converse.Codec{}.Decoder(llmtest.NewOptions())}
	events, err := llmtest.DecodeStream(decoder, frames(t, r))
	if fault := llmtest.Legal(events); fault != "" {
		t.Errorf("%s: %s", r.File, fault)
	}
	return llm.Fold(events), err
}

// strict is a decoder for which a malformed frame ends the stream.
type strict struct{ llm.StreamDecoder }

func (d strict) Decode(dst []llm.Event, event, data []byte) ([]llm.Event, error) {
	dst, err := d.StreamDecoder.Decode(dst, event, data)
	if errors.Is(err, llm.ErrMalformed) {
		err = fmt.Errorf("a malformed frame: %.100s", data)
	}
	return dst, err
}

// TestStreamCutAtEachFrame cuts each recorded stream at each frame. It is whole only with its stop reason.
func TestStreamCutAtEachFrame(t *testing.T) {
	t.Parallel()
	for name, r := range recorded(t) {
		if !r.Streamed && json.Valid(r.Body) {
			continue
		}
		all := strings.SplitAfter(string(frames(t, r)), "\n\n")
		for n := range all {
			wire := strings.Join(all[:n], "")
			events, err := llmtest.DecodeStream(converse.Codec{}.Decoder(llmtest.NewOptions()), []byte(wire))
			isWhole := strings.Contains(wire, `"stopReason"`)
			if isWhole != (err == nil) || !isWhole && !errors.Is(err, llm.ErrCut) || llmtest.Legal(events) != "" {
				t.Errorf("%s, %d frames: %v, %s", name, n, err, llmtest.Legal(events))
			}
		}
	}
}

// TestExceptionsInsideStreamsAreErrors has exceptions at the beginning and in the middle of a stream.
func TestExceptionsInsideStreamsAreErrors(t *testing.T) {
	t.Parallel()
	start := framingtest.AppendEvent(nil, "messageStart", `{"role":"assistant"}`)
	for _, before := range [][]byte{nil, start, framingtest.AppendEvent(start, "contentBlockDelta", `{"contentBlockIndex":0,"delta":{"text":"a"}}`)} {
		stream := framingtest.AppendException(bytes.Clone(before), "throttlingException", `{"message":"Slow down."}`)
		wire, err := io.ReadAll(framing.NewReader(framing.EventStream, io.NopCloser(bytes.NewReader(stream))))
		if err != nil {
			t.Fatal(err)
		}
		_, err = llmtest.DecodeStream(converse.Codec{}.Decoder(llmtest.NewOptions()), wire)
		var failure *llm.UpstreamError
		if !errors.As(err, &failure) || !strings.Contains(string(failure.Body), `"type":"throttlingException"`) {
			t.Errorf("%v", err)
		}
	}
}

// TestOddAnswers has answers that are broken, failed or incomplete.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{}`:                        "broken",
		`{"output":{"message":{}}}`: "broken",
		`{"output":{"message":{"role":"assistant","content":[{"text":"a"}]}}}`: "broken",
		`{"output":{"message":{"content":[5]}},"stopReason":"end_turn"}`:       "broken",
		`{"error":{"message":"no"}}`:                                           "upstream",
		`{"__type":"ValidationException","message":"no"}`:                      "upstream",
		`{"output":{"message":{"content":[]}},"stopReason":"end_turn"}`:        `; stop; 0+0+0 0; ""`,
		`{"output":{"message":{"content":[{"citationsContent":{}},{"text":"a"}]}},"stopReason":"guardrail_intervened","usage":{"inputTokens":1,"outputTokens":-2}}`: `text 1; content_filter; 1+0+0 0; ""`,
		`{"output":{"message":{"content":[{"toolUse":{"name":"a","input":null}}]}},"stopReason":"end_turn"}`:                                                        `call call_01test a{}; tool_calls; 0+0+0 0; ""`,
	} {
		r, err := converse.Codec{}.DecodeResponse([]byte(body), llmtest.NewOptions())
		var failure *llm.UpstreamError
		got := ""
		switch {
		case errors.Is(err, llm.ErrBroken):
			got = "broken"
		case errors.As(err, &failure):
			got = "upstream"
		case err == nil:
			got = describe(r)
		}
		if got != want {
			t.Errorf("%s: %s, %v", body, got, err)
		}
	}
}

// TestStopSequenceOfTheRequest tells the only stop sequence of a request when the model does not.
func TestStopSequenceOfTheRequest(t *testing.T) {
	t.Parallel()
	a := llmtest.NewOptions()
	a.Request = &llm.Request{Stop: []string{"END"}}
	r, err := converse.Codec{}.DecodeResponse([]byte(`{"output":{"message":{"content":[]}},"stopReason":"stop_sequence"}`), a)
	if err != nil || r.StopText != "END" {
		t.Errorf("%v, %+v", err, r)
	}
}

// FuzzDecodeStream proves that any stream makes a legal sequence of events, wherever its bytes are cut.
func FuzzDecodeStream(f *testing.F) {
	for _, r := range recorded(f) {
		if r.Streamed || !json.Valid(r.Body) {
			f.Add(frames(f, r))
		}
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		events, err := llmtest.DecodeStream(converse.Codec{}.Decoder(llmtest.NewOptions()), wire)
		if fault := llmtest.Legal(events); fault != "" {
			t.Fatalf("%s: %+v", fault, events)
		}
		finished := len(events) > 0 && events[len(events)-1].Kind == llm.EventFinish
		if finished != (err == nil) || finished && events[len(events)-1].Reported && !events[len(events)-1].Usage.Valid() {
			t.Fatalf("%v after %+v", err, events)
		}
		if cut, _ := llmtest.DecodeInPieces(converse.Codec{}.Decoder(llmtest.NewOptions()), wire); !reflect.DeepEqual(cut, events) {
			t.Fatalf("in pieces %+v\nwhole %+v", cut, events)
		}
	})
}

// FuzzDecodeResponse proves that any body is an answer, an error or broken, and that answers can be written.
func FuzzDecodeResponse(f *testing.F) {
	for _, r := range recorded(f) {
		f.Add(r.Body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := converse.Codec{}.DecodeResponse(body, llmtest.NewOptions())
		if err != nil {
			if _, upstream := errors.AsType[*llm.UpstreamError](err); !upstream && !errors.Is(err, llm.ErrBroken) {
				t.Fatalf("%v", err)
			}
			return
		}
		written := converse.Codec{}.EncodeResponse(nil, r, llmtest.NewOptions())
		if !json.Valid(written) || bytes.ContainsAny(written, "\n\r") {
			t.Fatalf("not one line of JSON: %s", written)
		}
	})
}

// FuzzDecodeRequest proves that any body is refused as the caller's fault or is read into something that can be written and read again,
// with nothing changed from then on.
func FuzzDecodeRequest(f *testing.F) {
	for _, r := range recorded(f) {
		f.Add(r.Request)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		once := rewrite(t, body)
		if once == nil {
			return
		}
		if twice := rewrite(t, once); !bytes.Equal(once, twice) {
			t.Fatalf("%s\n%s", once, twice)
		}
	})
}

// rewrite reads and writes a request. It returns nil for one that is refused.
func rewrite(t *testing.T, body []byte) []byte {
	r, err := converse.Codec{}.DecodeRequest(body)
	if err != nil {
		return nil
	}
	out, err := converse.Codec{}.EncodeRequest(r)
	if err == nil && !json.Valid(out) {
		t.Fatalf("not JSON: %s", out)
	}
	return out
}
