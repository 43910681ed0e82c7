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

// Delivered follows what a client was sent.
func (Codec) Delivered(a *llm.ResponseOptions) llm.DeliveredStream {
	return &deliveredStream{options: a}
}

// Note looks at the first frame only.
func (s *deliveredStream) Note(_, data []byte) {
	if !s.begun {
		s.begun = json.Unmarshal(data, &s.first, lenient) == nil
	}
}

// Resume goes on under the same id. In this style nothing says where a part begins or ends.
func (s *deliveredStream) Resume(llm.PartKind, string) (llm.StreamEncoder, bool) {
	e := newEncoder(s.options)
	if s.first.ID != "" {
		e.end = endingWith(s.options.Model, s.first.ID)
	}
	return e, s.begun
}
