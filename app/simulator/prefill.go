package simulator

import (
	"net/http"
	"strings"
)

// begun is an answer of the assistant with which a conversation ends: the model is to go on with it.
type begun struct {
	text  string
	asked string // what it answers
	media []media
}

// begin notes what the assistant said last, and what that answers. Neighbouring turns of the assistant are one.
func (p *prompt) begin(text string) {
	if p.begun.text == "" {
		p.begun = begun{asked: p.asked, media: p.media}
	}
	p.begun.text += text
	if p.begun.asked == "" || len(p.results) > 0 {
		p.begun = begun{} // an answer to nothing that is known, or to tools
	}
}

// goOn leaves out what the assistant has said already, where the provider goes on with begun answers.
func (a *answer) goOn(p *prompt, f *fault) {
	if p.begun.text != "" && f.prefill == "" {
		a.text = strings.TrimPrefix(a.text, p.begun.text)
	}
}

// prefillRefused is what a provider says that does not go on with begun answers, and what the messages style says to
// one that ends with white space.
func (x *exchange) prefillRefused() *failure {
	text := x.prompt.begun.text
	switch {
	case text == "":
		return nil
	case x.fault.prefill == "refuse":
		return &failure{status: http.StatusBadRequest, code: "invalid_value",
			message: "This model does not support assistant message prefill. The conversation must end with a user message."}
	case x.style == &messagesStyle && strings.TrimRight(text, " \t\r\n") != text:
		return &failure{status: http.StatusBadRequest, message: "messages: final assistant content cannot end with trailing whitespace"}
	}
	return nil
}
