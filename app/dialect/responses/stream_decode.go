package responses

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
	"umg/app/usagereader"
)

// Decoder reads one streamed answer.
func (Codec) Decoder(a *llm.ResponseOptions) llm.StreamDecoder { return newDecoder(a) }

// decoder turns frames into events. Items of a stream should come one after the other. The events of any other item are held until the
// items before it have ended.
type decoder struct {
	options *llm.ResponseOptions
	frame   frame
	// items are the open items, by their index in the output.
	items map[int64]*openItem
	// queue are the items that have not ended. Only the events of the first one are passed on.
	queue   []*openItem
	calls   int
	called  bool
	refused bool
	started bool
	// finished means that later frames are ignored.
	finished bool
	// whole means that the finish event was returned.
	whole bool
}

// openItem is an item of the answer that is being read.
type openItem struct {
	index int64
	kind  string
	// initialArguments are the arguments that came with the start of the call.
	initialArguments string
	// part is the kind of the open part.
	part llm.PartKind
	// partIndex is the index of the open part, or of the last one.
	partIndex int64
	// count is the number of parts that have begun.
	count int
	// hasTextAtIndex means that there was text at this index.
	hasTextAtIndex bool
	// hasText means that there was text in this part.
	hasText bool
	ended   bool
	// held are the events of the item until it is first in the queue.
	held []llm.Event
}

func newDecoder(a *llm.ResponseOptions) *decoder {
	return &decoder{options: a, items: map[int64]*openItem{}}
}

func (d *decoder) Decode(dst []llm.Event, event, data []byte) ([]llm.Event, error) {
	if data = bytes.TrimSpace(data); d.finished || len(data) == 0 || string(data) == endMark {
		return dst, nil
	}
	f := &d.frame
	*f = frame{}
	if err := json.Unmarshal(data, f, llm.Lenient); err != nil {
		return dst, unknownOr(data, event)
	}
	if f.Type == "" {
		f.Type = string(event)
	}
	switch f.Type {
	case "error":
		d.finished = true
		if llm.IsNull(f.Error) {
			return dst, upstreamError(bytes.Clone(data))
		}
		return dst, upstreamError(f.Error)
	case "response.completed", "response.incomplete", "response.failed":
		return d.terminal(dst)
	case "response.created", "response.in_progress", "response.queued":
		return d.lifecycle(dst), nil
	}
	if !llm.IsNull(f.Error) {
		d.finished = true
		return dst, upstreamError(f.Error)
	}
	return d.content(dst), nil
}

// unknownOr returns ErrMalformed for a frame of a known type that cannot be parsed, and nil for a frame of an unknown type.
func unknownOr(data, event []byte) error {
	var f struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(data, &f, llm.Lenient) != nil {
		return llm.ErrMalformed
	}
	if f.Type == "" {
		f.Type = string(event)
	}
	if knownTypes[f.Type] {
		return llm.ErrMalformed
	}
	return nil
}

// knownTypes are the types of frames that the decoder reads.
var knownTypes = map[string]bool{
	"": true, "error": true, "response.created": true, "response.in_progress": true, "response.completed": true,
	"response.incomplete": true, "response.failed": true, "response.output_item.added": true, "response.output_item.done": true,
	"response.content_part.added": true, "response.content_part.done": true, "response.output_text.delta": true,
	"response.output_text.done": true, "response.refusal.delta": true, "response.refusal.done": true,
	"response.reasoning_text.delta": true, "response.reasoning_text.done": true, "response.reasoning_summary_text.delta": true,
	"response.reasoning_summary_text.done": true, "response.reasoning_summary_part.added": true,
	"response.reasoning_summary_part.done": true, "response.function_call_arguments.delta": true,
	"response.function_call_arguments.done": true, "response.custom_tool_call_input.delta": true,
	"response.custom_tool_call_input.done": true,
}

// start appends the start of the answer, once.
func (d *decoder) start(dst []llm.Event, id string) []llm.Event {
	if d.started {
		return dst
	}
	d.started = true
	return append(dst, llm.Event{Kind: llm.EventStart, ID: id})
}

func (d *decoder) lifecycle(dst []llm.Event) []llm.Event {
	if d.started {
		return dst
	}
	var w struct {
		ID string `json:"id"`
	}
	// An id that cannot be parsed is not needed.
	_ = json.Unmarshal(d.frame.Response, &w, llm.Lenient)
	return d.start(dst, w.ID)
}

// content reads a frame about an item.
func (d *decoder) content(dst []llm.Event) []llm.Event {
	f := &d.frame
	switch f.Type {
	case "response.output_text.delta":
		return d.delta(dst, "message", llm.Text, f.ContentIndex, f.Delta)
	case "response.refusal.delta":
		return d.delta(dst, "message", llm.Refusal, f.ContentIndex, f.Delta)
	case "response.reasoning_text.delta":
		// The index is inverted, so that it differs from the indexes of the summary.
		return d.delta(dst, "reasoning", llm.Reasoning, ^f.ContentIndex, f.Delta)
	case "response.reasoning_summary_text.delta":
		return d.delta(dst, "reasoning", llm.Reasoning, f.SummaryIndex, f.Delta)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		return d.delta(dst, "", llm.Call, 0, f.Delta)
	case "response.output_item.added":
		return d.added(dst, f.OutputIndex, readItem(f.Item))
	case "response.output_item.done":
		return d.done(dst, f.OutputIndex, readItem(f.Item))
	}
	return d.repeated(dst)
}

// repeated reads the frames that repeat what the deltas had, for servers that send no deltas.
func (d *decoder) repeated(dst []llm.Event) []llm.Event {
	f := &d.frame
	switch f.Type {
	case "response.output_text.done":
		return d.fill(dst, "message", llm.Text, f.ContentIndex, f.Text)
	case "response.refusal.done":
		return d.fill(dst, "message", llm.Refusal, f.ContentIndex, f.Refusal)
	case "response.reasoning_text.done":
		return d.fill(dst, "reasoning", llm.Reasoning, ^f.ContentIndex, f.Text)
	case "response.reasoning_summary_text.done":
		return d.fill(dst, "reasoning", llm.Reasoning, f.SummaryIndex, f.Text)
	case "response.function_call_arguments.done":
		return d.fill(dst, "", llm.Call, 0, f.Arguments)
	case "response.custom_tool_call_input.done":
		return d.fill(dst, "", llm.Call, 0, f.Input)
	case "response.reasoning_summary_part.added", "response.reasoning_summary_part.done":
		p := readPart(f.Part)
		return d.fill(dst, "reasoning", llm.Reasoning, f.SummaryIndex, p.Text)
	case "response.content_part.added", "response.content_part.done":
		p := readPart(f.Part)
		kind, text := p.content()
		switch kind {
		case llm.Text, llm.Refusal:
			dst = d.fill(dst, "message", kind, f.ContentIndex, text)
		case llm.Reasoning:
			dst = d.fill(dst, "reasoning", kind, ^f.ContentIndex, text)
		}
	}
	return dst
}

// find returns the open item of the frame. An item that was not announced begins here, unless it is a call, whose name is not known.
func (d *decoder) find(dst []llm.Event, kind string) ([]llm.Event, *openItem) {
	index := d.frame.OutputIndex
	it := d.items[index]
	if it == nil && kind != "" {
		dst = d.added(dst, index, outputItem{Type: kind})
		it = d.items[index]
	}
	if it == nil || it.ended {
		return dst, nil
	}
	return dst, it
}

// emit appends an event of an item, or holds it until the item is the first of the queue.
func (d *decoder) emit(dst []llm.Event, it *openItem, e llm.Event) []llm.Event {
	if d.queue[0] == it {
		return append(dst, e)
	}
	it.held = append(it.held, e)
	return dst
}

// delta appends a piece of text to the part of an item at an index.
func (d *decoder) delta(dst []llm.Event, item string, kind llm.PartKind, place int64, text string) []llm.Event {
	dst, it := d.find(dst, item)
	if it == nil {
		return dst
	}
	dst, ok := d.selectPart(dst, it, kind, place)
	if !ok || text == "" {
		return dst
	}
	return d.write(dst, it, text)
}

func (d *decoder) write(dst []llm.Event, it *openItem, text string) []llm.Event {
	it.hasTextAtIndex, it.hasText = true, true
	return d.emit(dst, it, llm.Event{Kind: llm.EventDelta, Part: it.part, Delta: text})
}

// fill appends the whole text of a part, unless its deltas came before.
func (d *decoder) fill(dst []llm.Event, item string, kind llm.PartKind, place int64, text string) []llm.Event {
	dst, it := d.find(dst, item)
	if it == nil || it.count > 0 && it.part == 0 && it.partIndex == place {
		return dst
	}
	dst, ok := d.selectPart(dst, it, kind, place)
	if !ok || it.hasTextAtIndex || text == "" {
		return dst
	}
	return d.write(dst, it, text)
}

// selectPart makes the part at an index the one that is written to. All paragraphs of reasoning are one part.
func (d *decoder) selectPart(dst []llm.Event, it *openItem, kind llm.PartKind, place int64) ([]llm.Event, bool) {
	if it.part == kind && it.partIndex == place {
		return dst, true
	}
	if kind == llm.Call || it.part == llm.Call {
		return dst, it.part == kind
	}
	if it.part == kind && kind == llm.Reasoning {
		it.partIndex, it.hasTextAtIndex = place, false
		if it.hasText {
			dst = d.emit(dst, it, llm.Event{Kind: llm.EventDelta, Part: kind, Delta: paragraph})
		}
		return dst, true
	}
	dst = d.end(dst, it, "", false)
	return d.begin(dst, it, kind, place, llm.ToolCall{}), true
}

func (d *decoder) begin(dst []llm.Event, it *openItem, kind llm.PartKind, place int64, call llm.ToolCall) []llm.Event {
	it.part, it.partIndex, it.hasTextAtIndex, it.hasText = kind, place, false, false
	it.count++
	d.called = d.called || kind == llm.Call
	d.refused = d.refused || kind == llm.Refusal
	return d.emit(dst, it, llm.Event{Kind: llm.EventPart, Part: kind, Call: call})
}

// end closes the open part of an item.
func (d *decoder) end(dst []llm.Event, it *openItem, signature string, redacted bool) []llm.Event {
	if it.part == 0 {
		return dst
	}
	kind := it.part
	it.part = 0
	return d.emit(dst, it, llm.Event{Kind: llm.EventPartEnd, Part: kind, Signature: signature, Redacted: redacted})
}

// added begins an item. Parts of a message have frames of their own, and reasoning begins with its first text.
func (d *decoder) added(dst []llm.Event, index int64, w outputItem) []llm.Event {
	dst = d.start(dst, "")
	if old := d.items[index]; old != nil && !old.ended {
		dst = d.endItem(dst, old)
	}
	it := &openItem{index: index, kind: w.Type}
	d.items[index] = it
	d.queue = append(d.queue, it)
	switch w.Type {
	case "message", "reasoning":
	case "function_call", "custom_tool_call":
		call := llm.ToolCall{ID: w.CallID, Name: w.Name, Group: w.Namespace, Custom: w.Type == "custom_tool_call"}
		if call.ID == "" {
			call.ID = d.options.MintID("call_", d.calls)
		}
		d.calls++
		it.initialArguments = w.arguments()
		dst = d.begin(dst, it, llm.Call, 0, call)
	default:
		// The item is a step of a tool that the provider runs.
		dst = d.endItem(dst, it)
	}
	return dst
}

func (it *outputItem) arguments() string {
	if it.Type == "custom_tool_call" {
		return it.Input
	}
	return it.Arguments
}

// done ends an item. It appends what the deltas have left out.
func (d *decoder) done(dst []llm.Event, index int64, w outputItem) []llm.Event {
	it := d.items[index]
	if it == nil {
		dst = d.added(dst, index, w)
		it = d.items[index]
	}
	if it.ended {
		return dst
	}
	switch it.kind {
	case "message":
		for place, p := range w.content() {
			if kind, text := p.content(); it.count <= place && (kind == llm.Text || kind == llm.Refusal) {
				dst = d.end(dst, it, "", false)
				dst = d.begin(dst, it, kind, int64(place), llm.ToolCall{})
				if text != "" {
					dst = d.write(dst, it, text)
				}
			}
		}
	case "reasoning":
		dst = d.thought(dst, it, &w)
	default:
		if text := w.arguments(); !it.hasText && text != "" {
			dst = d.write(dst, it, text)
		}
	}
	return d.endItem(dst, it)
}

// thought ends a reasoning item. Encrypted reasoning without text is redacted. An empty item is no part.
func (d *decoder) thought(dst []llm.Event, it *openItem, w *outputItem) []llm.Event {
	paragraphs := it.count > 0 || len(w.Summary)+len(w.content()) > 0
	if it.count == 0 && (paragraphs || w.EncryptedContent != "") {
		dst = d.begin(dst, it, llm.Reasoning, 0, llm.ToolCall{})
	}
	if text := w.thought(); it.count > 0 && !it.hasText && text != "" {
		dst = d.write(dst, it, text)
	}
	return d.end(dst, it, joinProof(w.ID, w.EncryptedContent), !paragraphs && w.EncryptedContent != "")
}

// endItem ends an item, and appends the held events of the items after it.
func (d *decoder) endItem(dst []llm.Event, it *openItem) []llm.Event {
	if it.part == llm.Call && !it.hasText && it.initialArguments != "" {
		dst = d.write(dst, it, it.initialArguments)
	}
	dst = d.end(dst, it, "", false)
	it.ended = true
	for len(d.queue) > 0 && d.queue[0].ended {
		d.queue = d.queue[1:]
		if len(d.queue) > 0 {
			dst = append(dst, d.queue[0].held...)
			d.queue[0].held = nil
		}
	}
	return dst
}

// terminal reads the frame that ends the stream.
func (d *decoder) terminal(dst []llm.Event) ([]llm.Event, error) {
	var w response
	if !llm.IsNull(d.frame.Response) && json.Unmarshal(d.frame.Response, &w, llm.Lenient) != nil {
		return dst, llm.ErrMalformed
	}
	w.Status = d.frame.Type[len("response."):]
	if w.Status == statusFailed {
		d.finished = true
		return dst, upstreamError(w.Error)
	}
	return d.last(d.start(dst, w.ID), d.frame.Response, &w), llm.ErrEnd
}

// last reads the answer in the last frame: its items, unless they came before, and how it ended.
func (d *decoder) last(dst []llm.Event, answer []byte, w *response) []llm.Event {
	if len(d.items) == 0 {
		var items []jsontext.Value
		_ = json.Unmarshal(w.Output, &items, llm.Lenient) // Only an array has items.
		for i, item := range items {
			dst = d.done(dst, int64(i), readItem(item))
		}
	}
	for len(d.queue) > 0 {
		dst = d.endItem(dst, d.queue[0])
	}
	d.finished, d.whole = true, true
	e := llm.Event{Kind: llm.EventFinish, Stop: decodeStop(ending{w.Status, w.IncompleteDetails.Reason}, d.called, d.refused)}
	report, reader := usagereader.NewReport(), usagereader.For(d.options, llm.Responses)
	reader.ReadAnswer(&report, answer)
	reader.ReadUsage(&report, w.Usage)
	e.Usage, e.Reported = report.Usage()
	return append(dst, e)
}

// End reports whether the answer was complete. The last frame of the style ends the answer.
func (d *decoder) End(dst []llm.Event) ([]llm.Event, error) {
	if !d.whole {
		return dst, llm.ErrCut
	}
	return dst, nil
}
