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

// The types of thinking that a model may take one of.
const (
	thinkingEnabled  = "enabled"
	thinkingAdaptive = "adaptive"
)

// thinkingRefused is what a provider says to a request for thinking in a form that its model does not take.
func (x *exchange) thinkingRefused() *failure {
	asked, takes := x.prompt.thinkingType, x.fault.thinking
	switch {
	case asked == thinkingEnabled && takes == thinkingAdaptive:
		return badRequest("thinking", `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and `+
			`"output_config.effort" to control thinking behavior.`)
	case asked == thinkingAdaptive && takes == thinkingEnabled:
		return badRequest("thinking", "adaptive thinking is not supported on this model")
	case x.prompt.effort != "" && x.fault.noEffort:
		return badRequest("output_config", "This model does not support the effort parameter.")
	}
	return nil
}
