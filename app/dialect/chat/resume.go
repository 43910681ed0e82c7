package chat

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// deliveredStream keeps the envelope of a stream, which all of its chunks share.
type deliveredStream struct {
	options *llm.ResponseOptions
	first   struct {
		ID      jsontext.Value `json:"id"`
		Created jsontext.Value `json:"created"`
	}
}

// Delivered follows what a client was sent.
func (Codec) Delivered(a *llm.ResponseOptions) llm.DeliveredStream {
	return &deliveredStream{options: a}
}

// Note looks at the first chunk only.
func (s *deliveredStream) Note(_, data []byte) {
	if s.first.ID == nil && json.Unmarshal(data, &s.first, llm.Lenient) == nil {
		s.first.ID, s.first.Created = s.first.ID.Clone(), s.first.Created.Clone()
	}
}

// Resume goes on in the same envelope. In this style nothing says where a part begins or ends.
func (s *deliveredStream) Resume(open llm.PartKind, _ string) (llm.StreamEncoder, bool) {
	if s.first.ID == nil || s.first.Created == nil {
		return nil, false
	}
	e := &encoder{
		envelope: envelopeOf(s.options), usage: s.options.IncludeUsage, usesFunctions: usesFunctions(s.options),
		begun: true, thoughts: open == llm.Reasoning,
	}
	e.envelope.ID, e.envelope.Created = string(s.first.ID), string(s.first.Created)
	return e, true
}
