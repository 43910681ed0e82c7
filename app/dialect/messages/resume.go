package messages

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// seen counts the blocks of a stream.
type seen struct {
	ask *llm.Ask
	// next is the index of the next block.
	next int64
	// open means that the block before it has not ended.
	open bool
	// unknown means that the indexes of the blocks are not consecutive.
	unknown bool
}

// Seen follows what a client was sent.
func (Codec) Seen(a *llm.Ask) llm.Seen { return &seen{ask: a} }

// Note looks where blocks begin and end.
func (s *seen) Note(event, data []byte) {
	begins := string(event) == "content_block_start"
	if !begins && string(event) != "content_block_stop" {
		return
	}
	var f struct {
		Index jsontext.Value `json:"index"`
	}
	at := int64(-1)
	if json.Unmarshal(data, &f, lenient) == nil {
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

// Resume goes on in the open block, or with the next one.
func (s *seen) Resume(open llm.PartKind, _ string) (llm.StreamEncoder, bool) {
	if s.unknown || s.open != (open != 0) {
		return nil, false
	}
	e := &encoder{ask: s.ask, index: s.next, open: open, begun: s.open}
	if s.open {
		e.index--
	}
	e.told.refusal = open == llm.Refusal
	return e, true
}
