package native

import (
	"github.com/go-json-experiment/json"

	"umg/app/llm"
)

// deliveredStream keeps the id of an answer, which all of its frames repeat.
type deliveredStream struct {
	options *llm.ResponseOptions
	first   struct {
		ID string `json:"responseId"`
	}
	begun bool
}

// Delivered returns a tracker of the stream that a client receives.
func (Codec) Delivered(a *llm.ResponseOptions) llm.DeliveredStream {
	return &deliveredStream{options: a}
}

// Note reads the first frame only.
func (s *deliveredStream) Note(_, data []byte) {
	if !s.begun {
		s.begun = json.Unmarshal(data, &s.first, llm.Lenient) == nil
	}
}

// Resume continues with the same id. The style does not mark where a part begins or ends.
func (s *deliveredStream) Resume(llm.PartKind, string) (llm.StreamEncoder, bool) {
	e := newEncoder(s.options)
	if s.first.ID != "" {
		e.end = endingWith(s.options.Model, s.first.ID)
	}
	return e, s.begun
}
