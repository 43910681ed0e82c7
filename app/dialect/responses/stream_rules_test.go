package responses_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/llm"
	"umg/app/llm/llmtest"
)

// strictClient follows a stream as the strictest of the official clients does, and says what it would raise.
type strictClient struct {
	t      tester
	items  []map[string]any // Items is the state that was seen last.
	open   int              // Open is the index of the item that was added and is not done, or -1.
	parts  map[string]string
	calls  map[string]bool
	ids    map[string]bool
	ended  string
	cutOff bool // CutOff allows the stream to end with an item that is not done.
}

type anyEvent struct {
	Type     string          `json:"type"`
	Number   json.Number     `json:"sequence_number"`
	Index    int             `json:"output_index"`
	ItemID   string          `json:"item_id"`
	Delta    string          `json:"delta"`
	Text     string          `json:"text"`
	Refusal  string          `json:"refusal"`
	Args     string          `json:"arguments"`
	Input    string          `json:"input"`
	Item     map[string]any  `json:"item"`
	Part     map[string]any  `json:"part"`
	Response json.RawMessage `json:"response"`
}

func newStrictClient(t tester) *strictClient {
	return &strictClient{t: t, open: -1, parts: map[string]string{}, calls: map[string]bool{}, ids: map[string]bool{}}
}

func (c *strictClient) read(stream []byte) {
	c.t.Helper()
	for i, f := range framesOf(c.t, stream) {
		var e anyEvent
		if err := json.Unmarshal([]byte(f.data), &e); err != nil {
			c.t.Fatalf("%v: %s", err, f.data)
		}
		if f.name != e.Type {
			c.t.Errorf("the event line is %q and the type %q", f.name, e.Type)
		}
		if n, _ := e.Number.Int64(); int(n) != i {
			c.t.Errorf("event %d has number %s", i, e.Number)
		}
		if c.ended != "" {
			c.t.Errorf("%s after the end", e.Type)
		}
		if (i == 0) != (e.Type == "response.created") {
			c.t.Errorf("event %d is %s", i, e.Type)
		}
		c.event(&e)
	}
	if c.ended == "" {
		c.t.Errorf("the stream has no end:\n%s", stream)
	}
}

func (c *strictClient) event(e *anyEvent) {
	switch e.Type {
	case "response.created", "response.in_progress":
	case "response.output_item.added":
		c.added(e)
	case "response.output_item.done":
		if e.Index != c.open || c.items[e.Index]["id"] != e.Item["id"] {
			c.t.Errorf("done of item %d while %d is open", e.Index, c.open)
		}
		c.items[e.Index], c.open = e.Item, -1
	case "response.completed", "response.incomplete", "response.failed":
		c.end(e)
	case "response.content_part.added", "response.reasoning_summary_part.added":
		c.ofOpen(e)
		c.parts[e.ItemID] = ""
	case "response.output_text.delta", "response.refusal.delta", "response.reasoning_summary_text.delta",
		"response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		c.ofOpen(e)
		if _, begun := c.parts[e.ItemID]; !begun {
			c.t.Errorf("%s before its part", e.Type)
		}
		c.parts[e.ItemID] += e.Delta
	case "response.output_text.done", "response.refusal.done", "response.reasoning_summary_text.done",
		"response.function_call_arguments.done", "response.custom_tool_call_input.done":
		c.ofOpen(e)
		if got := e.Text + e.Refusal + e.Args + e.Input; got != c.parts[e.ItemID] {
			c.t.Errorf("%s says %q, the deltas %q", e.Type, got, c.parts[e.ItemID])
		}
	case "response.content_part.done", "response.reasoning_summary_part.done":
		c.ofOpen(e)
	default:
		c.t.Errorf("unknown event %s", e.Type)
	}
}

func (c *strictClient) added(e *anyEvent) {
	id, _ := e.Item["id"].(string)
	if e.Index != len(c.items) || c.open >= 0 || id == "" || c.ids[id] {
		c.t.Errorf("item %d %q was added after %d items while %d was open", e.Index, id, len(c.items), c.open)
	}
	if call, ok := e.Item["call_id"].(string); ok {
		if call == "" || c.calls[call] || call == id {
			c.t.Errorf("call id %q", call)
		}
		c.calls[call] = true
		c.parts[id] = ""
	}
	c.ids[id] = true
	c.items, c.open = append(c.items, e.Item), e.Index
}

func (c *strictClient) ofOpen(e *anyEvent) {
	if e.Index != c.open || c.open < 0 || c.items[c.open]["id"] != e.ItemID {
		c.t.Errorf("%s of item %d %q while %d is open", e.Type, e.Index, e.ItemID, c.open)
	}
}

func (c *strictClient) end(e *anyEvent) {
	c.ended = e.Type
	var r struct {
		Status string           `json:"status"`
		Output []map[string]any `json:"output"`
		Error  any              `json:"error"`
	}
	if err := json.Unmarshal(e.Response, &r); err != nil {
		c.t.Fatalf("%v", err)
	}
	if "response."+r.Status != e.Type || (r.Status == "failed") != (r.Error != nil) {
		c.t.Errorf("%s with status %s and error %v", e.Type, r.Status, r.Error)
	}
	if c.open >= 0 && !c.cutOff {
		c.t.Errorf("item %d was not done", c.open)
	}
	if len(r.Output) != len(c.items) {
		c.t.Fatalf("the output has %d items, the stream %d", len(r.Output), len(c.items))
	}
	for i := range r.Output {
		if i == c.open && r.Output[i]["id"] == c.items[i]["id"] {
			continue
		}
		if text(r.Output[i]) != text(c.items[i]) {
			c.t.Errorf("item %d is\n%s in the output and\n%s in the stream", i, text(r.Output[i]), text(c.items[i]))
		}
	}
}

func drawAnswer(t *rapid.T) *llm.Response {
	r := &llm.Response{ID: "up_1"}
	word := rapid.StringN(0, 12, -1)
	for range rapid.IntRange(0, 6).Draw(t, "parts") {
		p := llm.Part{Kind: rapid.SampledFrom([]llm.PartKind{llm.Text, llm.Refusal, llm.Reasoning, llm.Call, llm.Image}).Draw(t, "kind")}
		switch p.Kind {
		case llm.Call:
			p.Call = llm.ToolCall{
				ID: rapid.SampledFrom([]string{"", "call_a", "call_a", "call_b", "fc_01test", "ü", strings.Repeat("x", 99)}).Draw(t, "id"), Name: "tool",
				Arguments: rapid.SampledFrom([]string{"", "{}", `{"a":"\u00e9\n"}`}).Draw(t, "arguments"), Custom: rapid.Bool().Draw(t, "custom"),
				Group: rapid.SampledFrom([]string{"", "group"}).Draw(t, "group"),
			}
		case llm.Reasoning:
			p.Text, p.Signature = word.Draw(t, "thought"), rapid.SampledFrom([]string{"", "gw1.p.c2ln"}).Draw(t, "signature")
			p.Redacted = p.Text == "" && p.Signature != "" && rapid.Bool().Draw(t, "redacted")
		default:
			p.Text = word.Draw(t, "text")
		}
		r.Parts = append(r.Parts, p)
	}
	r.Stop = rapid.SampledFrom(allStops).Draw(t, "stop")
	r.Reported = rapid.Bool().Draw(t, "reported")
	r.Usage = llm.Usage{Input: 3, CacheRead: 4, CacheWrite: 5, Output: 6, Reasoning: 2}
	if rapid.Bool().Draw(t, "priced") {
		cost := 43 * app.Nano
		r.Cost = &cost
	}
	return r
}

var allStops = []llm.Stop{
	llm.StopEnd, llm.StopSequence, llm.StopLength, llm.StopContextFull, llm.StopToolCalls, llm.StopFilter, llm.StopRefusal, llm.StopPause,
	llm.StopMalformed, llm.StopOther, "",
}

func encodeStream(a *llm.ResponseOptions, events []llm.Event) []byte {
	enc := codec.Encoder(a)
	var wire []byte
	for i := range events {
		wire = enc.Append(wire, &events[i])
	}
	return wire
}

func TestEveryStreamSatisfiesTheStrictestClient(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	rapid.Check(t, func(t *rapid.T) {
		answer := drawAnswer(t)
		wire := encodeStream(fullAsk(), llm.Unfold(nil, answer))
		newStrictClient(t).read(wire)
		frames := framesOf(t, wire)
		body := codec.EncodeResponse(nil, answer, fullAsk())
		if rapid.IntRange(0, 9).Draw(t, "schema") == 0 { // Schema checks are slow, so one case in ten gets them.
			fits(t, s.response, body)
			for _, f := range frames {
				fits(t, s.event, []byte(f.data))
			}
		}
		last := members(t, []byte(frames[len(frames)-1].data))["response"]
		if text(last) != text(members(t, body)) {
			t.Fatalf("the stream ends with\n%s\nand the body is\n%s", text(last), body)
		}
	})
}

func TestEveryFailedStreamSatisfiesTheStrictestClient(t *testing.T) {
	t.Parallel()
	s := loadSchemas(t)
	failure := app.Errorf(app.Upstream, "upstream_error", "The provider failed \"badly\".")
	rapid.Check(t, func(t *rapid.T) {
		events := llm.Unfold(nil, drawAnswer(t))
		cut := rapid.IntRange(0, len(events)-1).Draw(t, "cut")
		enc := codec.Encoder(fullAsk())
		var wire []byte
		for i := range events[:cut] {
			wire = enc.Append(wire, &events[i])
		}
		wire = enc.Fail(wire, failure, "req_1", nil)
		after := len(wire)
		wire = enc.Fail(wire, failure, "req_1", nil)
		wire = enc.Append(wire, &events[len(events)-1])
		if len(wire) != after {
			t.Fatalf("something follows the end")
		}
		c := newStrictClient(t)
		c.cutOff = true
		c.read(wire)
		frames := framesOf(t, wire)
		last := frames[len(frames)-1].data
		fits(t, s.event, []byte(last))
		if c.ended != "response.failed" || !strings.Contains(last,
			`"error":{"code":"server_error","message":"The provider failed \"badly\".","request_id":"req_1"}`) {
			t.Fatalf("the stream ends with %s", last)
		}
	})
}

func fullAsk() *llm.ResponseOptions {
	a := llmtest.NewOptions()
	a.Request = fullRequest()
	return a
}

// TestTheEventsOfEachPartAreTheOnesClientsKnow pins the sequences themselves.
func TestTheEventsOfEachPartAreTheOnesClientsKnow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		part llm.Part
		want string
	}{
		{"text", llm.Part{Kind: llm.Text, Text: "Hi"}, "output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done"},
		{"no text", llm.Part{Kind: llm.Text}, "output_item.added content_part.added output_text.done content_part.done output_item.done"},
		{"refusal", llm.Part{Kind: llm.Refusal, Text: "No"}, "output_item.added content_part.added refusal.delta refusal.done content_part.done output_item.done"},
		{"call", llm.Part{Kind: llm.Call, Call: llm.ToolCall{ID: "c", Name: "f", Arguments: "{}"}}, "output_item.added function_call_arguments.delta " +
			"function_call_arguments.done output_item.done"},
		{"call without arguments", llm.Part{Kind: llm.Call, Call: llm.ToolCall{ID: "c", Name: "f"}}, "output_item.added " +
			"function_call_arguments.delta function_call_arguments.done output_item.done"},
		{"custom call", llm.Part{Kind: llm.Call, Call: llm.ToolCall{ID: "c", Name: "f", Arguments: "ls", Custom: true}}, "output_item.added " +
			"custom_tool_call_input.delta custom_tool_call_input.done output_item.done"},
		{"reasoning", llm.Part{Kind: llm.Reasoning, Text: "Hm"}, "output_item.added reasoning_summary_part.added reasoning_summary_text.delta " +
			"reasoning_summary_text.done reasoning_summary_part.done output_item.done"},
		{"redacted reasoning", llm.Part{Kind: llm.Reasoning, Signature: "s", Redacted: true}, "output_item.added output_item.done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wire := encodeStream(llmtest.NewOptions(), llm.Unfold(nil, &llm.Response{Parts: []llm.Part{c.part}, Stop: llm.StopEnd}))
			newStrictClient(t).read(wire)
			var names []string
			for _, f := range framesOf(t, wire) {
				names = append(names, strings.TrimPrefix(f.name, "response."))
			}
			want := slices.Concat([]string{"created", "in_progress"}, strings.Fields(c.want), []string{"completed"})
			if !slices.Equal(names, want) {
				t.Errorf("got  %s\nwant %s", names, want)
			}
		})
	}
}

func TestTextsThatFollowEachOtherShareAMessage(t *testing.T) {
	t.Parallel()
	answer := &llm.Response{Stop: llm.StopEnd, Parts: []llm.Part{
		{Kind: llm.Text, Text: "a"}, {Kind: llm.Text, Text: "b"}, {Kind: llm.Refusal, Text: "c"},
	}}
	wire := encodeStream(llmtest.NewOptions(), llm.Unfold(nil, answer))
	newStrictClient(t).read(wire)
	if n := strings.Count(string(wire), "event: response.output_item.added"); n != 1 {
		t.Errorf("%d items", n)
	}
	for _, want := range []string{`"content_index":0,"delta":"a"`, `"content_index":1,"delta":"b"`, `"content_index":2,"delta":"c"`} {
		if !strings.Contains(string(wire), want) {
			t.Errorf("no %s in\n%s", want, wire)
		}
	}
}

func TestADeltaIsOneFrameWithItsNumber(t *testing.T) {
	t.Parallel()
	enc := codec.Encoder(llmtest.NewOptions())
	_ = enc.Append(nil, &llm.Event{Kind: llm.EventStart})
	_ = enc.Append(nil, &llm.Event{Kind: llm.EventPart, Part: llm.Text})
	got := string(enc.Append(nil, &llm.Event{Kind: llm.EventDelta, Part: llm.Text, Delta: "a\n\"é🙂\xff"}))
	want := "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":4," +
		`"item_id":"msg_01test","output_index":0,"content_index":0,"delta":"a\n\"é🙂` + "\ufffd" + `","logprobs":[]}` + "\n\n"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
