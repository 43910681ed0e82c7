package responses

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// seen keeps of a stream what its end must repeat, and how its frames and items are numbered.
type seen struct {
	ask     *llm.Ask
	id      string
	created int64
	// number is the sequence number of the next frame.
	number int64
	items  []byte
	// count is the number of items that have begun.
	count int
	item  seenItem
	// unknown means that the answer has something that no other stream can continue.
	unknown bool
}

// seenItem is the item that has begun and not ended, if its kind is not zero.
type seenItem struct {
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

// seenFrame is a frame, as far as it matters here.
type seenFrame struct {
	Number       *int64         `json:"sequence_number"`
	OutputIndex  int64          `json:"output_index"`
	ContentIndex int64          `json:"content_index"`
	SummaryIndex int64          `json:"summary_index"`
	Item         jsontext.Value `json:"item"`
	Part         jsontext.Value `json:"part"`
	Response     jsontext.Value `json:"response"`
}

// Seen follows what a client was sent.
func (Codec) Seen(a *llm.Ask) llm.Seen { return &seen{ask: a} }

// Note takes a frame.
func (s *seen) Note(event, data []byte) {
	var f seenFrame
	if json.Unmarshal(data, &f, lenient) != nil || f.Number == nil {
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
		s.unknown = s.unknown || json.Unmarshal(f.Response, &w, lenient) != nil
		s.id, s.created = w.ID, w.Created
	case "response.output_item.added":
		s.added(&f)
	case "response.output_item.done":
		s.items = raw(separate(s.items), f.Item, "null")
		s.unknown = s.unknown || int(f.OutputIndex) != s.count-1
		s.item = seenItem{}
	default:
		s.ofItem(string(event), &f)
	}
}

// Count takes the number of a frame that says a piece of text.
func (s *seen) Count(number int64) { s.number = max(s.number, number+1) }

func (s *seen) added(f *seenFrame) {
	w := readItem(f.Item)
	s.unknown = s.unknown || s.item.kind != 0 || int(f.OutputIndex) != s.count
	s.count++
	switch w.Type {
	case "message":
		s.item = seenItem{kind: llm.Text, id: w.ID}
	case "reasoning":
		s.item = seenItem{kind: llm.Reasoning, id: w.ID}
	// Other items are calls and steps of tools that one provider runs.
	default:
		s.unknown = true
	}
}

// ofItem takes a frame about the item that has begun.
func (s *seen) ofItem(event string, f *seenFrame) {
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

// Resume goes on in the open part, with the next part of a message, or with the next item. A thought goes on in its first
// paragraph only, since what this side writes has no more.
func (s *seen) Resume(open llm.PartKind, text string) (llm.StreamEncoder, bool) {
	it := &s.item
	// between means that the parts of a message have ended, but the message has not.
	between := open == 0 && it.kind == llm.Text && it.count > 0
	if s.unknown || s.id == "" || it.closes || it.open != (open != 0) || it.kind != home(open) && !between ||
		it.kind == llm.Reasoning && it.count > 0 {
		return nil, false
	}
	ask := *s.ask
	ask.Created = s.created
	o := newOutput(&ask)
	o.id, o.items, o.count, o.refused = s.id, s.items, s.count, open == llm.Refusal
	switch {
	case between:
		o.item = outItem{kind: it.kind, id: it.id, parts: it.parts, count: it.count}
	case open != 0:
		o.item = outItem{kind: it.kind, part: open, id: it.id, parts: it.parts, count: it.count, text: escape(nil, text)}
	}
	return &encoder{
		out: o, echo: echoOf(&ask), number: s.number, index: int64(max(s.count-1, 0)), begun: true, summary: open == llm.Reasoning,
	}, true
}
