package responses

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// DecodeResponse reads an answer. It is taken through the same steps as a stream, so that the two cannot differ.
func (Codec) DecodeResponse(body []byte, a *llm.ResponseOptions) (*llm.Response, error) {
	var w response
	if err := json.Unmarshal(body, &w, lenient); err != nil {
		return nil, llm.ErrBroken
	}
	if !isNull(w.Error) {
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
	return llm.Fold(d.last(events, &w)), nil
}

// upstreamError is the error of an answer, without anything else that the answer repeats.
func upstreamError(failure jsontext.Value) *llm.UpstreamError {
	body := append([]byte(nil), `{"error":`...)
	body = append(body, orNull(failure)...)
	return &llm.UpstreamError{Body: append(body, '}')}
}

// values calls use for each element of an array, as far as it can be read.
func values(array jsontext.Value, use func(i int64, v jsontext.Value)) {
	d := jsontext.NewDecoder(bytes.NewReader(array), lenient)
	if open, err := d.ReadToken(); err != nil || open.Kind() != '[' {
		return
	}
	for i := int64(0); d.PeekKind() != ']'; i++ {
		v, err := d.ReadValue()
		if err != nil {
			return
		}
		use(i, v)
	}
}

// readItem reads an item of an answer. An item that cannot be read gets an unknown kind.
func readItem(v jsontext.Value) outputItem {
	var it outputItem
	if len(v) == 0 || json.Unmarshal(v, &it, lenient) != nil {
		return outputItem{}
	}
	return it
}

func readPart(v jsontext.Value) textPart {
	var p textPart
	if len(v) == 0 || json.Unmarshal(v, &p, lenient) != nil {
		return textPart{}
	}
	return p
}

// words are what a part says, and as what.
func (p *textPart) words() (llm.PartKind, string) {
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

// content is what an item consists of. Some servers write a plain text.
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

// decodeUsage reads a usage object. It reports false when that says neither the input nor the output.
func decodeUsage(v jsontext.Value) (llm.Usage, bool) {
	w := usage{InputTokens: llm.Unknown, OutputTokens: llm.Unknown}
	if isNull(v) || json.Unmarshal(v, &w, lenient) != nil {
		return llm.Usage{}, false
	}
	return llm.Report{
		Input: int64(w.InputTokens), CacheRead: int64(w.InputDetails.CachedTokens), CacheWrite: int64(w.InputDetails.CacheWriteTokens),
		Output: int64(w.OutputTokens), Reasoning: int64(w.OutputDetails.ReasoningTokens), Inclusive: true,
	}.Usage()
}
