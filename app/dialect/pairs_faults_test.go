package dialect_test

import (
	"errors"
	"strings"
	"testing"

	"umg/app/llm"
	"umg/app/sse"
)

// TestEveryClientIsToldThatAnAnswerBrokeOff has a provider that fails after its first words: the client has these words and an error, and
// no end of an answer.
func TestEveryClientIsToldThatAnAnswerBrokeOff(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"error-after=6t", "error-after=6t;status=429", "cut-after=6t", "end-after=6t", "malformed-at=8", "malformed-at=8;usage=every", "finish=error"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			eachPair(t, func(t *testing.T, p pair) {
				const counted = "1 2 3 4 5 6 7 8 9"
				ask := asking("simulate: " + fault + "\ncount to 9")
				ask.Stream = true
				call := p.call(t, ask)
				d := call.deliver(t, true)
				if d.err == nil && (d.stats.Ended || d.stats.Whole) || d.stats.Finish != "" || d.stats.ContentBytes < 5 {
					t.Errorf("%v, %+v", d.err, d.stats)
				}
				var upstream *llm.UpstreamError
				if told := strings.HasPrefix(fault, "error"); told != errors.As(d.err, &upstream) {
					t.Errorf("the error is %v", d.err)
				}
				if malformed := strings.HasPrefix(fault, "malformed"); malformed != errors.Is(d.err, llm.ErrMalformed) {
					t.Errorf("the error is %v", d.err)
				}
				out := call.failed(t, &d)
				all := framesOf(t, p.client, out)
				if last := all[len(all)-1]; string(last.Data) == "[DONE]" {
					all = all[:len(all)-1]
				}
				if text := deltaText(t, p.client, all); len(text) < 5 || !strings.HasPrefix(counted, text) {
					t.Errorf("the client has %q: %s", text, out)
				}
				if last := string(all[len(all)-1].Data); !strings.Contains(last, "It broke.") || strings.Count(out, "It broke.") != 1 || strings.Count(out, `"cost":0.00021`) != 1 {
					t.Errorf("the stream ends with %s", last)
				}
				for _, end := range []string{`"finish_reason":"`, `"stop_reason":"`, `"finishReason"`, "response.completed", "response.incomplete", "message_stop"} {
					if strings.Contains(out, end) {
						t.Errorf("an end was invented: %s", out)
					}
				}
				ask.Stream = false
				if call := p.call(t, ask); !strings.HasPrefix(fault, "error-after") && !strings.HasPrefix(fault, "end-after") {
					if d := call.deliver(t, false); d.err == nil {
						t.Errorf("an answer in one piece is taken: %s", call.answer.Body)
					}
				}
			})
		})
	}
}

// deltaText is the text of a stream that may lack its end.
func deltaText(t *testing.T, style llm.Style, all []sse.Frame) string {
	t.Helper()
	decoder := dialectOf(t, style).Codec.Decoder(&llm.ResponseOptions{Choices: 1})
	var events []llm.Event
	for _, f := range all {
		events, _ = decoder.Decode(events, f.Event, f.Data)
	}
	text := ""
	for _, e := range events {
		text += e.Delta
	}
	return text
}

// TestEveryClientReadsOddStreams has streams whose frames are odd and whose answer is whole, and streams without their last mark.
func TestEveryClientReadsOddStreams(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{
		"frames=crlf", "frames=cr", "frames=bom", "frames=comments", "frames=multiline", "frames=unknown", "frames=split", "ok-then-extra",
		"frames=crlf,bom,comments,multiline,unknown,split", "no-end", "usage=twice", "usage=every",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			eachPair(t, func(t *testing.T, p pair) {
				if fault == "no-end" && (p.upstream == llm.Responses || p.upstream == llm.Native) {
					return // The mark of the one says that the answer is whole, and the other has none.
				}
				ask := asking("simulate: " + fault + "\ncount to 20")
				ask.Stream = true
				d := p.call(t, ask).deliver(t, true)
				if d.err != nil || !d.stats.Reported || d.stats.Usage.Output != 20 || d.stats.Usage.Doubts != 0 || !d.stats.Ended && !d.stats.Whole {
					t.Fatalf("%v, %+v", d.err, d.stats)
				}
				answer := readDelivered(t, p.client, true, d.out)
				if !strings.HasSuffix(textOf(answer, llm.Text), " 18 19 20") || answer.Usage != d.stats.Usage || answer.Stop != llm.StopEnd {
					t.Errorf("%+v", answer)
				}
			})
		})
	}
}

// TestAUsageThatCannotBeTrueIsDoubted has usages that no provider can mean. Whether a large count is possible is decided by the caller.
func TestAUsageThatCannotBeTrueIsDoubted(t *testing.T) {
	t.Parallel()
	for usage, plain := range map[string]int64{"none": -1, "negative": -1, "string": -1, "float": -1, "first": -1, "huge": -1, "1000000": 1_000_000, "0": 0} {
		t.Run(usage, func(t *testing.T) {
			t.Parallel()
			eachPair(t, func(t *testing.T, p pair) {
				for _, stream := range []bool{false, true} {
					if usage == "first" && !stream {
						continue // In one piece there is no first.
					}
					ask := asking("simulate: usage=" + usage + "\ncount to 30")
					ask.Stream = stream
					d := p.call(t, ask).deliver(t, stream)
					if d.err != nil {
						t.Fatal(d.err)
					}
					trusted := d.stats.Reported && d.stats.Usage.Doubts == 0
					if trusted != (plain >= 0) || trusted && d.stats.Usage.Output != plain {
						t.Errorf("stream %t: %+v", stream, d.stats)
					}
				}
			})
		})
	}
}
