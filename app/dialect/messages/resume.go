package messages

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// deliveredStream counts the blocks of a stream.
type deliveredStream struct {
	options *llm.ResponseOptions
	// next is the index of the next block.
	next int64
	// open means that the block before it has not ended.
	open bool
	// unknown means that the indexes of the blocks are not consecutive.
	unknown bool
}

// Delivered returns a tracker of the stream that a client receives.
func (Codec) Delivered(a *llm.ResponseOptions) llm.DeliveredStream {
	return &deliveredStream{options: a}
}

// Note records where blocks begin and end.
func (s *deliveredStream) Note(event, data []byte) {
	begins := string(event) == "content_block_start"
	if !begins && string(event) != "content_block_stop" {
		return
	}
	var f struct {
		Index jsontext.Value `json:"index"`
	}
	at := int64(-1)
	if json.Unmarshal(data, &f, llm.Lenient) == nil {
		decodeCount(&at, f.Index)
	}
	switch {
	case begins && at == s.next && !s.open:
		s.next, s.open = s.next+1, true
	case !begins && at == s.next-1 && s.open:
		s.open = false
	default:
		s.unknown = true
	}
}

// Resume continues in the open block, or with the next one.
func (s *deliveredStream) Resume(open llm.PartKind, _ string) (llm.StreamEncoder, bool) {
	if s.unknown || s.open != (open != 0) {
		return nil, false
	}
	e := &encoder{options: s.options, index: s.next, open: open, begun: s.open}
	if s.open {
		e.index--
	}
	e.flags.refusal = open == llm.Refusal
	return e, true
}
