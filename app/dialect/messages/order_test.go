package messages_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"umg/app/dialect/messages"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

// order checks one whole stream for everything that is known to break a client: a missing event line, usage or last
// mark, blocks that overlap, skip a number or are empty, and a thought that is not signed exactly once, at its end.
func order(t *testing.T, wire []byte) {
	t.Helper()
	var open string // Open is the type of the open block, or the reason why none may be open.
	index, signed := 0, 0
	list := frames(t, wire)
	for i, f := range list {
		var d struct {
			Type    string
			Index   *int
			Message struct{ Usage *struct{} }
			Block   struct{ Type string } `json:"content_block"`
			Delta   struct{ Type string }
			Usage   *struct{}
			Error   any
		}
		if err := json.Unmarshal([]byte(f.data), &d); err != nil {
			t.Fatalf("%v: %s", err, f.data)
		}
		fault := ""
		switch {
		case f.event != d.Type:
			fault = "the event line differs"
		case (i == 0) != (d.Type == "message_start"):
			fault = "not exactly one start"
		case i == 0 && d.Message.Usage == nil, d.Type == "message_delta" && d.Usage == nil:
			fault = "no usage"
		case (i == len(list)-1) != (d.Type == "message_stop"):
			fault = "not exactly one last mark"
		case (i == len(list)-2) != (d.Type == "message_delta"):
			fault = "not exactly one reason"
		case strings.HasPrefix(d.Type, "content_block") && (d.Index == nil || *d.Index != index):
			fault = "a gap in the numbers"
		case d.Type == "content_block_start" && open != "":
			fault = "a block inside a block"
		case d.Type == "content_block_delta" && !fitting[open+" "+d.Delta.Type]:
			fault = "a delta of another kind"
		case d.Type == "content_block_delta" && signed > 0:
			fault = "something behind the signature"
		case d.Type == "content_block_stop" && (open == "" || open == "thinking" && signed != 1):
			fault = "an end that does not fit"
		}
		if fault != "" {
			t.Fatalf("%s: frame %d of\n%s", fault, i, wire)
		}
		switch d.Type {
		case "content_block_start":
			open = d.Block.Type
		case "content_block_delta":
			if d.Delta.Type == "signature_delta" {
				signed++
			}
		case "content_block_stop":
			open, signed = "", 0
			index++
		}
	}
	if open != "" || len(list) == 0 {
		t.Fatalf("not at its end:\n%s", wire)
	}
}

// fitting are the deltas that the blocks take.
var fitting = map[string]bool{
	"text text_delta": true, "thinking thinking_delta": true, "thinking signature_delta": true, "tool_use input_json_delta": true,
}

func TestNothingThatBreaksClientsIsEverSent(t *testing.T) {
	t.Parallel()
	kinds := []llm.PartKind{llm.Text, llm.Call, llm.Reasoning, llm.Refusal}
	rapid.Check(t, func(rt *rapid.T) {
		events := []llm.Event{{Kind: llm.EventStart}}
		for range rapid.IntRange(0, 5).Draw(rt, "parts") {
			kind := rapid.SampledFrom(kinds).Draw(rt, "kind")
			events = append(events, llm.Event{Kind: llm.EventPart, Part: kind, Call: llm.ToolCall{ID: "t", Name: "f"}})
			for range rapid.IntRange(0, 3).Draw(rt, "deltas") {
				events = append(events, llm.Event{Kind: llm.EventDelta, Part: kind, Delta: rapid.SampledFrom([]string{"", "a", "{}", "\n\n"}).Draw(rt, "delta")})
			}
			end := llm.Event{Kind: llm.EventPartEnd, Part: kind}
			if kind == llm.Reasoning {
				end.Signature, end.Redacted = rapid.SampledFrom([]string{"", "s"}).Draw(rt, "signature"), rapid.Bool().Draw(rt, "redacted")
			}
			events = append(events, end)
		}
		events = append(events, llm.Event{Kind: llm.EventFinish, Stop: llm.StopEnd})
		wire := encodeStream(events)
		order(t, wire)
		back, err := llmtest.DecodeStream(messages.Codec{}.Decoder(llmtest.NewOptions()), wire)
		whole := messages.Codec{}.EncodeResponse(nil, llm.Fold(events), llmtest.NewOptions())
		again, err2 := messages.Codec{}.DecodeResponse(whole, llmtest.NewOptions())
		if err != nil || err2 != nil || llm.Fold(back).Stop != again.Stop {
			t.Fatalf("the stream and the body end differently: %v %v\n%s\n%s", err, err2, wire, whole)
		}
	})
}
