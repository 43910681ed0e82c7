package responses

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// deliveredStream tracks the numbers of frames and items, and the items that the last frame of the stream must repeat.
type deliveredStream struct {
	options *llm.ResponseOptions
	id      string
	created int64
	// number is the sequence number of the next frame.
	number int64
	items  []byte
	// count is the number of items that have begun.
	count int
	item  deliveredItem
	// unknown means that the answer has something that no other stream can continue.
	unknown bool
}

// deliveredItem is the item that has begun and not ended, if its kind is not zero.
type deliveredItem struct {
	kind llm.PartKind
	id   string
	// parts are the parts that have ended.
	parts []byte
	// count is the number of these parts.
	count int
	// open means that a part has begun and has not ended.
	open bool
	// closes means that the text of the open part has ended, but the part has not.
	closes bool
}

// deliveredFrame has the members of a frame that the tracker reads.
type deliveredFrame struct {
	Number       *int64         `json:"sequence_number"`
	OutputIndex  int64          `json:"output_index"`
	ContentIndex int64          `json:"content_index"`
	SummaryIndex int64          `json:"summary_index"`
	Item         jsontext.Value `json:"item"`
	Part         jsontext.Value `json:"part"`
	Response     jsontext.Value `json:"response"`
}

// Delivered returns a tracker of the stream that a client receives.
func (Codec) Delivered(a *llm.ResponseOptions) llm.DeliveredStream {
	return &deliveredStream{options: a}
}

// Note records a frame.
func (s *deliveredStream) Note(event, data []byte) {
	var f deliveredFrame
	if json.Unmarshal(data, &f, llm.Lenient) != nil || f.Number == nil {
		s.unknown = true
		return
	}
	s.number = max(s.number, *f.Number+1)
	switch string(event) {
	case "response.created":
		var w struct {
			ID      string `json:"id"`
			Created int64  `json:"created_at"`
		}
		s.unknown = s.unknown || json.Unmarshal(f.Response, &w, llm.Lenient) != nil
		s.id, s.created = w.ID, w.Created
	case "response.output_item.added":
		s.noteItemAdded(&f)
	case "response.output_item.done":
		s.items = raw(separate(s.items), f.Item, "null")
		s.unknown = s.unknown || int(f.OutputIndex) != s.count-1
		s.item = deliveredItem{}
	default:
		s.noteItemFrame(string(event), &f)
	}
}

// Count records the number of a frame with a piece of text.
func (s *deliveredStream) Count(number int64) { s.number = max(s.number, number+1) }

func (s *deliveredStream) noteItemAdded(f *deliveredFrame) {
	w := readItem(f.Item)
	s.unknown = s.unknown || s.item.kind != 0 || int(f.OutputIndex) != s.count
	s.count++
	switch w.Type {
	case "message":
		s.item = deliveredItem{kind: llm.Text, id: w.ID}
	case "reasoning":
		s.item = deliveredItem{kind: llm.Reasoning, id: w.ID}
	// Other items are calls and steps of tools that one provider runs.
	default:
		s.unknown = true
	}
}

// noteItemFrame takes a frame about the item that has begun.
func (s *deliveredStream) noteItemFrame(event string, f *deliveredFrame) {
	it := &s.item
	switch event {
	case "response.in_progress", "response.queued", "keepalive", "ping":
	case "response.content_part.added", "response.reasoning_summary_part.added":
		s.unknown = s.unknown || it.open || int(max(f.ContentIndex, f.SummaryIndex)) != it.count
		it.open = true
	case "response.output_text.delta", "response.refusal.delta", "response.reasoning_summary_text.delta":
	case "response.output_text.done", "response.refusal.done", "response.reasoning_summary_text.done":
		it.closes = true
	case "response.content_part.done", "response.reasoning_summary_part.done":
		it.parts = raw(separate(it.parts), f.Part, "null")
		it.count++
		it.open, it.closes = false, false
	default:
		s.unknown = true
	}
}

// Resume continues in the open part, with the next part of a message, or with the next item. Reasoning can only continue in its first
// paragraph, because the encoder writes one paragraph.
func (s *deliveredStream) Resume(open llm.PartKind, text string) (llm.StreamEncoder, bool) {
	it := &s.item
	// between means that the parts of a message have ended, but the message has not.
	between := open == 0 && it.kind == llm.Text && it.count > 0
	if s.unknown || s.id == "" || it.closes || it.open != (open != 0) || it.kind != itemKindOf(open) && !between ||
		it.kind == llm.Reasoning && it.count > 0 {
		return nil, false
	}
	options := *s.options
	options.Created = s.created
	o := newOutput(&options)
	o.id, o.items, o.count, o.refused = s.id, s.items, s.count, open == llm.Refusal
	switch {
	case between:
		o.item = itemBuilder{kind: it.kind, id: it.id, parts: it.parts, count: it.count}
	case open != 0:
		o.item = itemBuilder{kind: it.kind, part: open, id: it.id, parts: it.parts, count: it.count, text: escape(nil, text)}
	}
	return &encoder{
		out: o, echo: echoOf(&options), number: s.number, index: int64(max(s.count-1, 0)), begun: true, summary: open == llm.Reasoning,
	}, true
}
