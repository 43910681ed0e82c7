package views

import (
	"strings"
	"time"

	"umg/views/format"
)

// PlayTrouble is why there is no answer.
type PlayTrouble struct {
	Message   string
	Code      string
	Doc       string // address of the documentation of the code
	Field     string
	RequestID string
	Wait      time.Duration
	NoCredit  bool
}

// Fact is one thing that is known of an answer.
type Fact struct{ Name, Value string }

// Line says in which field the mistake is. PlayTroubleFacts shows the request as a link beside it.
func (t PlayTrouble) Line() []Fact {
	var facts []Fact
	if t.Field != "" {
		facts = append(facts, Fact{"Field", t.Field})
	}
	if t.Code != "" {
		facts = append(facts, Fact{"Code", t.Code})
	}
	return facts
}

// Words are the message, with the wait when it does not say it itself.
func (t PlayTrouble) Words() string {
	if t.Wait > 0 && !strings.Contains(strings.ToLower(t.Message), "try again") {
		return t.Message + " Try again in " + format.Wait(t.Wait) + "."
	}
	return t.Message
}
