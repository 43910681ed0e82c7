package dialect_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"umg/app/llm"
	"umg/app/llm/llmtest"
	"umg/app/sse"
)

// publishedForms are where the published schemas of a style describe a request, an answer and an event of a stream.
var publishedForms = map[llm.Style]struct{ file, request, answer, event string }{
	llm.Chat: {"openai-openapi.subset.json", "/components/schemas/CreateChatCompletionRequest", "/components/schemas/CreateChatCompletionResponse",
		"/components/schemas/CreateChatCompletionStreamResponse"},
	llm.Messages: {"anthropic-messages.2026-10-21.schema.json", "/definitions/MessageCreateParamsBase", "/definitions/Message", "/definitions/RawMessageStreamEvent"},
	llm.Responses: {"openai-openapi.subset.json", "/components/schemas/CreateResponse", "/components/schemas/Response",
		"/components/schemas/ResponseStreamEvent"},
	llm.Native: {"google-generatecontent.schema.json", "/$defs/GenerateContentRequest", "/$defs/GenerateContentResponse", "/$defs/GenerateContentResponse"},
}

type styleSchemas struct{ request, answer, event *jsonschema.Schema }

// publishedSchemas are compiled once.
var publishedSchemas = sync.OnceValues(func() (map[llm.Style]styleSchemas, error) {
	all := map[llm.Style]styleSchemas{}
	for style, form := range publishedForms {
		raw, err := os.ReadFile("../simulator/testdata/schema/" + form.file)
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			return nil, err
		}
		if whole, ok := doc.(map[string]any); ok && whole["components"] != nil {
			doc = map[string]any{"components": whole["components"]} // The other parts of the document are no schemas.
		}
		tighten(style, doc)
		c := jsonschema.NewCompiler()
		if err := c.AddResource("test:///schema", doc); err != nil {
			return nil, err
		}
		var s styleSchemas
		for root, to := range map[string]**jsonschema.Schema{form.request: &s.request, form.answer: &s.answer, form.event: &s.event} {
			if *to, err = c.Compile("test:///schema#" + root); err != nil {
				return nil, err
			}
		}
		if style == llm.Native {
			s.answer = s.event
		}
		all[style] = s
	}
	return all, nil
})

// tighten works around what the published schemas are too strict and too lax about: the alternatives of an input item overlap, and the
// native one, which demands nothing, can only catch unknown members.
func tighten(style llm.Style, doc any) {
	if style != llm.Native {
		anyOf(doc)
		return
	}
	for _, def := range doc.(map[string]any)["$defs"].(map[string]any) {
		if d := def.(map[string]any); d["type"] == "object" && d["additionalProperties"] == nil {
			d["additionalProperties"] = false
		}
	}
}

func anyOf(node any) {
	switch v := node.(type) {
	case []any:
		for _, one := range v {
			anyOf(one)
		}
	case map[string]any:
		if one, ok := v["oneOf"].([]any); ok && v["anyOf"] == nil {
			v["anyOf"] = one
			delete(v, "oneOf")
		}
		delete(v, "discriminator")
		for _, member := range v {
			anyOf(member)
		}
	}
}

func schemasOf(t *testing.T, style llm.Style) styleSchemas {
	t.Helper()
	all, err := publishedSchemas()
	if err != nil {
		t.Fatal(err)
	}
	return all[style]
}

// fitsSchema compares JSON with a schema. The cost is a member of the gateway beside the usage, which only the native schema refuses.
func fitsSchema(t *testing.T, style llm.Style, schema *jsonschema.Schema, text []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Errorf("%v: %s", err, text)
		return
	}
	if m, ok := v.(map[string]any); ok && style == llm.Native {
		if usage, ok := m["usageMetadata"].(map[string]any); ok {
			delete(usage, "cost")
		}
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// requestMembers are the members that a request of each style may have at its top. The schemas of two styles let any other pass.
var requestMembers = map[llm.Style][]string{
	llm.Chat: {"model", "messages", "stream", "stream_options", "temperature", "top_p", "max_completion_tokens", "max_tokens", "stop", "seed",
		"presence_penalty", "frequency_penalty", "tools", "tool_choice", "parallel_tool_calls", "response_format", "reasoning_effort", "user", "metadata"},
	llm.Messages: {"model", "messages", "system", "max_tokens", "stream", "temperature", "top_p", "top_k", "stop_sequences", "tools", "tool_choice",
		"thinking", "output_config", "metadata"},
	llm.Responses: {"model", "input", "instructions", "stream", "store", "include", "temperature", "top_p", "max_output_tokens", "tools",
		"tool_choice", "parallel_tool_calls", "text", "reasoning", "safety_identifier", "metadata"},
	llm.Native: {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "labels"},
}

// fitsRequest compares what a provider gets with its style.
func fitsRequest(t *testing.T, style llm.Style, body []byte) {
	t.Helper()
	fitsSchema(t, style, schemasOf(t, style).request, body)
	var top map[string]json.RawMessage
	if err := json.Unmarshal(body, &top); err != nil {
		t.Fatal(err)
	}
	for name := range top {
		if !slices.Contains(requestMembers[style], name) {
			t.Errorf("a provider of the %s style gets %q: %s", style, name, body)
		}
	}
}

// readDelivered reads a whole answer as a client does, and checks the form and the order of everything in it.
func readDelivered(t *testing.T, style llm.Style, streamed bool, out string) *llm.Response {
	t.Helper()
	codec, schemas := dialectOf(t, style).Codec, schemasOf(t, style)
	if style == llm.Chat && strings.Contains(out, "The user wants") && !strings.Contains(out, `"reasoning_content":"The`) {
		t.Errorf("the thoughts are not where clients read them: %s", out) // Our own decoder knows more places.
	}
	if n := strings.Count(out, `"cost":0.00021`); n != 1 || strings.Contains(out, "upstream-") {
		t.Errorf("%d costs, or a name of the provider's: %s", n, out)
	}
	if !streamed {
		fitsSchema(t, style, schemas.answer, []byte(out))
		answer, err := codec.DecodeResponse([]byte(out), llmtest.NewOptions())
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return withoutCost(t, answer)
	}
	checkOrder(t, style, framesOf(t, style, out))
	events, err := llmtest.DecodeStream(codec.Decoder(llmtest.NewOptions()), []byte(out))
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if fault := llmtest.Legal(events); fault != "" {
		t.Errorf("%s: %s", fault, out)
	}
	return withoutCost(t, llm.Fold(events))
}

// withoutCost takes the cost of pairCharge out of an answer, so that the usage can be compared with that of the provider.
func withoutCost(t *testing.T, r *llm.Response) *llm.Response {
	t.Helper()
	if r.Usage.ProviderCost == nil {
		t.Error("the answer has no cost")
	}
	r.Usage.ProviderCost = nil
	return r
}

// framesOf splits a stream and checks that each frame has the lines and the content that the style demands.
func framesOf(t *testing.T, style llm.Style, out string) []sse.Frame {
	t.Helper()
	checkFrames(t, style, out, out)
	r := sse.NewReader(strings.NewReader(out), nil)
	defer r.Close()
	var all []sse.Frame
	for f, err := r.Next(); err == nil; f, err = r.Next() {
		f.Event, f.Data = bytes.Clone(f.Event), bytes.Clone(f.Data)
		isError := string(f.Event) == "error" || style == llm.Chat && bytes.Contains(f.Data, []byte(`"error":{`)) || bytes.HasPrefix(f.Data, []byte(`{"error"`))
		if all = append(all, f); string(f.Data) != "[DONE]" && string(f.Event) != "ping" && !isError {
			fitsSchema(t, style, schemasOf(t, style).event, f.Data)
		}
	}
	if !strings.HasSuffix(out, "\n\n") || len(all) == 0 {
		t.Fatalf("the stream does not end with a frame: %q", out)
	}
	return all
}

// orderedFrame has the members of a frame, in any style, that say where in a stream it may stand.
type orderedFrame struct {
	ID, Type   string
	Number     *int `json:"sequence_number"`
	Index      *int
	ItemID     string `json:"item_id"`
	Delta      json.RawMessage
	Text       *string
	Arguments  *string
	Item       json.RawMessage
	Response   struct{ Output json.RawMessage }
	Choices    []struct{ FinishReason *string }
	Candidates []struct{ FinishReason string }
	Feedback   *json.RawMessage `json:"promptFeedback"`
}

// streamOrder is how far a stream has come that is read as strictly as its strictest client does.
type streamOrder struct {
	t *testing.T
	// marks has a letter for each frame that only one place of the stream may have.
	marks  string
	ids    map[string]bool
	frames int
	// blocks counts the blocks that are complete. open means that another one has begun.
	blocks int
	open   bool
	// texts are the deltas of each part, and items are those that are done.
	texts map[string]string
	items []json.RawMessage
}

// checkOrder checks what schemas and decoders leave open in the order of a stream that is whole.
func checkOrder(t *testing.T, style llm.Style, all []sse.Frame) {
	t.Helper()
	o := &streamOrder{t: t, ids: map[string]bool{}, texts: map[string]string{}}
	for i, f := range all {
		if o.frames = i; string(f.Data) == "[DONE]" {
			o.marks += "D"
			continue
		}
		var m orderedFrame
		if err := json.Unmarshal(bytes.ReplaceAll(f.Data, []byte("finish_reason"), []byte("FinishReason")), &m); err != nil {
			t.Fatal(err)
		}
		o.ids[m.ID] = true
		map[llm.Style]func(*orderedFrame, []byte){llm.Chat: o.chat, llm.Messages: o.messages, llm.Responses: o.responses, llm.Native: o.native}[style](&m, f.Data)
	}
	want := map[llm.Style]string{llm.Chat: "fuD", llm.Messages: "sfD", llm.Responses: "sD", llm.Native: "D"}[style]
	marks := strings.Replace(strings.TrimLeft(o.marks, "."), "ff", "f", 1) // A provider may count twice at its end.
	if marks != want || style == llm.Chat && len(o.ids) != 1 {
		t.Errorf("the frames come as %q, want %q, with the ids %v", marks, want, o.ids)
	}
}

func (o *streamOrder) chat(m *orderedFrame, data []byte) {
	begins := bytes.Contains(data, []byte(`"delta":{"role":"assistant","content":""`))
	if begins != (o.frames == 0) || begins != bytes.Contains(data, []byte(`"role":`)) {
		o.t.Errorf("frame %d of a stream: %s", o.frames, data)
	}
	switch {
	case len(m.Choices) == 0:
		o.marks += "u"
	case m.Choices[0].FinishReason != nil:
		o.marks += "f"
	default:
		o.marks += "."
	}
}

func (o *streamOrder) messages(m *orderedFrame, data []byte) {
	switch {
	case m.Type == "ping":
	case m.Type == "content_block_start":
		if m.Index == nil || *m.Index != o.blocks || o.open {
			o.t.Errorf("a block begins where none may: %s", data)
		}
		o.open = true
	case strings.HasPrefix(m.Type, "content_block_"):
		if m.Index == nil || *m.Index != o.blocks || !o.open {
			o.t.Errorf("a frame of a block that is not open: %s", data)
		}
		if m.Type == "content_block_stop" {
			o.open = false
			o.blocks++
		}
	case o.open:
		o.t.Errorf("a block is still open: %s", data)
	}
	o.marks += map[string]string{"message_start": "s", "message_delta": "f", "message_stop": "D"}[m.Type]
}

func (o *streamOrder) responses(m *orderedFrame, data []byte) {
	if m.Number == nil || *m.Number != o.frames {
		o.t.Errorf("the number of event %d: %s", o.frames, data)
	}
	var delta string
	_ = json.Unmarshal(m.Delta, &delta)
	key := fmt.Sprint(m.ItemID, strings.TrimSuffix(strings.TrimSuffix(m.Type, ".delta"), ".done"))
	o.texts[key] += delta
	if strings.HasSuffix(m.Type, "_text.done") && m.Text != nil && *m.Text != o.texts[key] ||
		strings.HasSuffix(m.Type, "arguments.done") && m.Arguments != nil && *m.Arguments != o.texts[key] {
		o.t.Errorf("the deltas are %q: %s", o.texts[key], data)
	}
	switch m.Type {
	case "response.created":
		o.marks += "s"
	case "response.output_item.done":
		o.items = append(o.items, m.Item)
	case "response.completed", "response.incomplete":
		o.marks += "D"
		if whole, _ := json.Marshal(append([]json.RawMessage{}, o.items...)); compactJSON(string(whole)) != compactJSON(string(m.Response.Output)) {
			o.t.Errorf("the items are %s: %s", whole, data)
		}
	}
}

func (o *streamOrder) native(m *orderedFrame, _ []byte) {
	if len(m.Candidates) > 0 && m.Candidates[0].FinishReason != "" || m.Feedback != nil {
		o.marks += "D"
		return
	}
	o.marks += "."
}
