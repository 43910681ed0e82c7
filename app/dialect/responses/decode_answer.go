package responses

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// DecodeResponse reads an answer. It uses the same steps as a stream, so that both have the same result.
func (Codec) DecodeResponse(body []byte, a *llm.ResponseOptions) (*llm.Response, error) {
	var w response
	if err := json.Unmarshal(body, &w, llm.Lenient); err != nil {
		return nil, llm.ErrBroken
	}
	if !llm.IsNull(w.Error) {
		return nil, upstreamError(w.Error)
	}
	if w.Output.Kind() != '[' || w.Status == statusQueued || w.Status == statusInProgress || w.Status == statusCancelled {
		return nil, llm.ErrBroken
	}
	if w.Status == statusFailed {
		return nil, upstreamError(nil)
	}
	if w.Status == "" {
		// Some servers leave out the status of a completed answer.
		w.Status = statusCompleted
	}
	d := newDecoder(a)
	events := d.start(nil, w.ID)
	return llm.Fold(d.last(events, body, &w)), nil
}

// upstreamError returns the error of an answer, without the other members of the answer.
func upstreamError(failure jsontext.Value) *llm.UpstreamError {
	body := append([]byte(nil), `{"error":`...)
	body = append(body, orNull(failure)...)
	return &llm.UpstreamError{Body: append(body, '}')}
}

// readItem reads an item of an answer. An item that cannot be read gets an unknown kind.
func readItem(v jsontext.Value) outputItem {
	var it outputItem
	if len(v) == 0 || json.Unmarshal(v, &it, llm.Lenient) != nil {
		return outputItem{}
	}
	return it
}

func readPart(v jsontext.Value) textPart {
	var p textPart
	if len(v) == 0 || json.Unmarshal(v, &p, llm.Lenient) != nil {
		return textPart{}
	}
	return p
}

// content returns the kind and the text of a part.
func (p *textPart) content() (llm.PartKind, string) {
	switch p.Type {
	case "output_text", "text":
		return llm.Text, p.Text
	case "refusal":
		return llm.Refusal, p.Refusal
	case "reasoning_text", "summary_text":
		return llm.Reasoning, p.Text
	}
	return 0, ""
}

// content returns the parts of an item. Some servers write a string.
func (it *outputItem) content() []textPart {
	if it.Content.plain {
		return []textPart{{Type: "output_text", Text: it.Content.text}}
	}
	return it.Content.things
}

// thought joins the paragraphs of a reasoning item.
func (it *outputItem) thought() string {
	var paragraphs []string
	for _, p := range append(it.Summary, it.content()...) {
		paragraphs = append(paragraphs, p.Text)
	}
	return strings.Join(paragraphs, paragraph)
}
