package cohere_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"umg/app/dialect/cohere"
	"umg/app/llm"
	"umg/app/llm/llmtest"
	"umg/app/provider/recordings"
)

// recorded returns the recorded answers by their names.
func recorded(t testing.TB) map[string]*recordings.Recording {
	t.Helper()
	all, err := recordings.All()
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]*recordings.Recording{}
	for i := range all {
		if all[i].Wire == recordings.Cohere {
			list[strings.TrimPrefix(all[i].File, "cohere/")] = &all[i]
		}
	}
	return list
}

// describe describes an answer in short.
func describe(r *llm.Response) string {
	var parts []string
	for i := range r.Parts {
		switch p := &r.Parts[i]; p.Kind {
		case llm.Text:
			parts = append(parts, fmt.Sprintf("text %d", len(p.Text)))
		case llm.Reasoning:
			parts = append(parts, fmt.Sprintf("thought %d", len(p.Text)))
		case llm.Call:
			parts = append(parts, "call "+p.Call.ID[:min(12, len(p.Call.ID))]+" "+p.Call.Name+p.Call.Arguments)
		}
	}
	u := &r.Usage
	return fmt.Sprintf("%s; %s; %d+%d %d", strings.Join(parts, ", "), r.Stop, u.Input, u.CacheRead, u.Output)
}

// TestRecordedAnswers reads each recorded answer. The expected ones were read from the recordings by hand.
func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"basic.json":                        `text 15; stop; 8+0 8`,
		"cached-tokens.json":                `text 6; stop; 2406+0 2`,
		"cohere-empty-tool-call.chunks.txt": `text 57, call currentTime_ currentTime{}; tool_calls; 46+0 14`,
		"cohere-max-tokens.json":            `text 16; length; 11+0 4`,
		"cohere-null-args.json":             `text 57, call currentTime_ currentTime{}; tool_calls; 46+0 14`,
		"cohere-reasoning.json":             `thought 91, text 9; stop; 8+0 578`,
		"cohere-text.chunks.txt":            `text 31; stop; 12+0 7`,
		"cohere-tool-call.json":             `text 161, call weather_dqgs weather{"location":"San Francisco"}, call cityAttracti cityAttractions{"city":"San Francisco"}; tool_calls; 119+0 52`,
		"stream.json":                       `text 44; stop; 7+0 21`,
		"thinking.1.json":                   `thought 162, text 24; stop; 8+0 50`,
		"thinking.2.json":                   `thought 615, text 2; stop; 26+0 147`,
		"tools.2.json":                      `text 61; stop; 135+0 21`,
		"v2-tools-stream.json":              "text 56, call get_time_dg5 get_time{\n    \"location\": \"Tokyo\"\n}, call get_weather_ get_weather{\n    \"location\": \"Tokyo\"\n}; tool_calls; 62+0 28",
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
		return cohere.Codec{}.DecodeResponse(r.Body, llmtest.NewOptions())
	}
	decoder := strict{cohere.Codec{}.Decoder(llmtest.NewOptions())}
	events, err := llmtest.DecodeStream(decoder, r.Body)
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

// TestStreamCutAtEachFrame cuts each recorded stream at each frame. It is whole only with its finish reason.
func TestStreamCutAtEachFrame(t *testing.T) {
	t.Parallel()
	for name, r := range recorded(t) {
		if !r.Streamed && json.Valid(r.Body) {
			continue
		}
		all := strings.SplitAfter(string(r.Body), "\n\n")
		for n := range all {
			wire := strings.Join(all[:n], "")
			events, err := llmtest.DecodeStream(cohere.Codec{}.Decoder(llmtest.NewOptions()), []byte(wire))
			isWhole := strings.Contains(wire, `"finish_reason"`)
			if isWhole != (err == nil) || !isWhole && !errors.Is(err, llm.ErrCut) || llmtest.Legal(events) != "" {
				t.Errorf("%s, %d frames: %v, %s", name, n, err, llmtest.Legal(events))
			}
		}
	}
}

// TestOddAnswers has answers that are broken, failed or incomplete.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{}`: "broken",
		`{"message":{"role":"assistant","content":[{"type":"text","text":"a"}]}}`:                                                               "broken",
		`{"id":"1","message":"too many tokens"}`:                                                                                                "upstream",
		`{"error":{"message":"no"}}`:                                                                                                            "upstream",
		`{"message":{"content":"a"},"finish_reason":"COMPLETE"}`:                                                                                "text 1; stop; 0+0 0",
		`{"message":{"content":null,"tool_calls":[{"function":{"name":"a","arguments":""}}]},"finish_reason":"COMPLETE"}`:                       "call call_01test a{}; tool_calls; 0+0 0",
		`{"message":{"content":[{"type":"odd"}]},"finish_reason":"ERROR_TOXIC","usage":{"billed_units":{"input_tokens":2,"output_tokens":-1}}}`: "; content_filter; 2+0 0",
	} {
		r, err := cohere.Codec{}.DecodeResponse([]byte(body), llmtest.NewOptions())
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

// TestErrorsInsideStreams has the forms of errors in a stream.
func TestErrorsInsideStreams(t *testing.T) {
	t.Parallel()
	const start = "data: {\"type\":\"message-start\",\"id\":\"1\"}\n\n"
	for frame, want := range map[string]string{
		`{"type":"message-end","delta":{"finish_reason":"ERROR","error":"out of memory"}}`: `{"error":"out of memory"}`,
		`{"message":"slow down"}`:                   `{"message":"slow down"}`,
		`{"type":"error","error":{"message":"no"}}`: `{"type":"error","error":{"message":"no"}}`,
	} {
		_, err := llmtest.DecodeStream(cohere.Codec{}.Decoder(llmtest.NewOptions()), []byte(start+"data: "+frame+"\n\n"))
		var failure *llm.UpstreamError
		if !errors.As(err, &failure) || string(failure.Body) != want {
			t.Errorf("%s: %v, %+v", frame, err, failure)
		}
	}
	events, err := llmtest.DecodeStream(cohere.Codec{}.Decoder(llmtest.NewOptions()), []byte(start+`data: {"type":"message-end","delta":{"finish_reason":"ERROR"}}`+"\n\n"))
	if err != nil || !llm.Fold(events).Stop.Failed() {
		t.Errorf("%v, %+v", err, events)
	}
}

// TestStopSequenceOfTheRequest tells the only stop sequence of a request, because the provider does not.
func TestStopSequenceOfTheRequest(t *testing.T) {
	t.Parallel()
	a := llmtest.NewOptions()
	a.Request = &llm.Request{Stop: []string{"END"}}
	r, err := cohere.Codec{}.DecodeResponse([]byte(`{"message":{"content":[]},"finish_reason":"STOP_SEQUENCE"}`), a)
	if err != nil || r.StopText != "END" {
		t.Errorf("%v, %+v", err, r)
	}
}

// FuzzDecodeStream proves that any stream makes a legal sequence of events, wherever its bytes are cut.
func FuzzDecodeStream(f *testing.F) {
	for _, r := range recorded(f) {
		if r.Streamed || !json.Valid(r.Body) {
			f.Add(r.Body)
		}
	}
	f.Fuzz(func(t *testing.T, wire []byte) {
		events, err := llmtest.DecodeStream(cohere.Codec{}.Decoder(llmtest.NewOptions()), wire)
		if fault := llmtest.Legal(events); fault != "" {
			t.Fatalf("%s: %+v", fault, events)
		}
		finished := len(events) > 0 && events[len(events)-1].Kind == llm.EventFinish
		if finished != (err == nil) || finished && events[len(events)-1].Reported && !events[len(events)-1].Usage.Valid() {
			t.Fatalf("%v after %+v", err, events)
		}
		if cut, _ := llmtest.DecodeInPieces(cohere.Codec{}.Decoder(llmtest.NewOptions()), wire); !reflect.DeepEqual(cut, events) {
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
		r, err := cohere.Codec{}.DecodeResponse(body, llmtest.NewOptions())
		if err != nil {
			if _, upstream := errors.AsType[*llm.UpstreamError](err); !upstream && !errors.Is(err, llm.ErrBroken) {
				t.Fatalf("%v", err)
			}
			return
		}
		written := cohere.Codec{}.EncodeResponse(nil, r, llmtest.NewOptions())
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
	r, err := cohere.Codec{}.DecodeRequest(body)
	if err != nil {
		return nil
	}
	out, err := cohere.Codec{}.EncodeRequest(r)
	if err == nil && !json.Valid(out) {
		t.Fatalf("not JSON: %s", out)
	}
	return out
}
