package native

import (
	"github.com/go-json-experiment/json"

	"umg/app/llm"
)

// seen keeps the id of an answer, which all of its frames repeat.
type seen struct {
	ask   *llm.Ask
	first struct {
		ID string `json:"responseId"`
	}
	begun bool
}

// Seen follows what a client was sent.
func (Codec) Seen(a *llm.Ask) llm.Seen { return &seen{ask: a} }

// Note looks at the first frame only.
func (s *seen) Note(_, data []byte) {
	if !s.begun {
		s.begun = json.Unmarshal(data, &s.first, lenient) == nil
	}
}

// Resume goes on under the same id. In this style nothing says where a part begins or ends.
func (s *seen) Resume(llm.PartKind, string) (llm.StreamEncoder, bool) {
	e := newEncoder(s.ask)
	if s.first.ID != "" {
		e.end = endingWith(s.ask.Model, s.first.ID)
	}
	return e, s.begun
}
