package chat

import (
	"slices"

	"github.com/go-json-experiment/json"

	"umg/app/llm"
	"umg/app/usagereader"
)

// DecodeResponse reads an answer. Of several choices it reads the first.
func (Codec) DecodeResponse(body []byte, a *llm.ResponseOptions) (*llm.Response, error) {
	var w struct {
		ID str `json:"id"`
		response
	}
	if err := json.Unmarshal(body, &w, llm.Lenient); err != nil {
		return nil, llm.ErrBroken
	}
	if !llm.IsNull(w.Error) {
		return nil, &llm.UpstreamError{Body: body[:min(len(body), failureBytesMax)]}
	}
	c := firstChoice(w.Choices)
	if c == nil {
		return nil, llm.ErrBroken
	}
	r := &llm.Response{ID: string(w.ID)}
	r.Parts = decodeAssistant(&c.Message.Content, &c.Message.assistantFields, func(n int) string { return a.MintID("call_", n) })
	r.Parts = splitThoughts(r.Parts, a.ThinkText)
	report := usagereader.NewReport()
	if readUsage(&report, usagereader.For(a, llm.Chat), body, w.Usage) {
		r.Usage, r.Reported = report.Usage()
	}
	r.Stop = decodeStop(string(c.FinishReason), has(r.Parts, llm.Call), has(r.Parts, llm.Refusal))
	if r.Stop == "" {
		if r.Stop = llm.StopOther; has(r.Parts, llm.Call) {
			r.Stop = llm.StopToolCalls
		}
	}
	if slices.ContainsFunc(c.Message.ToolCalls, func(w toolCall) bool { return w.name() == "" }) {
		r.Stop = llm.StopMalformed
	}
	if len(r.Parts) == 0 && failed(r.Stop) {
		return nil, llm.ErrBroken
	}
	return r, nil
}

// splitThoughts makes reasoning of the beginning of the first text when that is between marks.
func splitThoughts(parts []llm.Part, isExpected bool) []llm.Part {
	at := slices.IndexFunc(parts, func(p llm.Part) bool { return p.Kind == llm.Text })
	if !isExpected || at != 0 { // Reasoning before the text has no marks.
		return parts
	}
	t := newThinkText(true)
	reasoning, text := t.split(parts[0].Text)
	moreReasoning, moreText := t.rest()
	var split []llm.Part
	if reasoning += moreReasoning; reasoning != "" {
		split = append(split, llm.Part{Kind: llm.Reasoning, Text: reasoning})
	}
	if text += moreText; text != "" {
		split = append(split, llm.Part{Kind: llm.Text, Text: text})
	}
	return append(split, parts[1:]...)
}

// failed reports whether a reason without any content is a failure and no answer.
func failed(s llm.Stop) bool { return s == llm.StopOther || s.Failed() }

func has(parts []llm.Part, kind llm.PartKind) bool {
	return slices.ContainsFunc(parts, func(p llm.Part) bool { return p.Kind == kind })
}

func firstChoice(all []choice) *choice {
	for i := range all {
		if all[i].Index.value == 0 {
			return &all[i]
		}
	}
	return nil
}

// decodeAssistant reads reasoning, text, refusal and calls of one message, in the order in which the style streams them.
func decodeAssistant(c *content, s *assistantFields, mint func(n int) string) []llm.Part {
	var parts []llm.Part
	if t := s.thoughts(); t != "" {
		parts = append(parts, llm.Part{Kind: llm.Reasoning, Text: t})
	}
	calls := s.ToolCalls
	if s.FunctionCall.Name != "" {
		calls = append(slices.Clip(calls), toolCall{Function: s.FunctionCall})
	}
	parts = append(parts, decodeContent(c)...)
	if s.Refusal != "" {
		parts = append(parts, llm.Part{Kind: llm.Refusal, Text: string(s.Refusal)})
	}
	seen := make(map[string]bool, len(calls))
	for i := range calls {
		w := &calls[i]
		if w.name() == "" {
			continue
		}
		if signature := string(w.Extra.Google.ThoughtSignature); signature != "" {
			if n := len(parts); n > 0 && parts[n-1].Kind == llm.Reasoning {
				parts[n-1].Signature = signature
			} else {
				parts = append(parts, llm.Part{Kind: llm.Reasoning, Signature: signature})
			}
		}
		call := w.call()
		if call.ID == "" || seen[call.ID] {
			call.ID = mint(i + 1)
		}
		seen[call.ID] = true
		call.Arguments = w.arguments()
		parts = append(parts, llm.Part{Kind: llm.Call, Call: call})
	}
	return parts
}

// decodeContent reads the content of the assistant. An empty string is no part.
func decodeContent(c *content) []llm.Part {
	if c.text != "" {
		return []llm.Part{{Kind: llm.Text, Text: c.text}}
	}
	var parts []llm.Part
	for i := range c.parts {
		switch p := &c.parts[i]; {
		case p.Type == "refusal":
			parts = append(parts, llm.Part{Kind: llm.Refusal, Text: string(p.Refusal)})
		case p.Type == "thinking":
			parts = append(parts, llm.Part{Kind: llm.Reasoning, Text: string(p.Thinking)})
		case p.Text != nil:
			parts = append(parts, llm.Part{Kind: llm.Text, Text: string(*p.Text)})
		}
	}
	return parts
}

func (w *toolCall) name() string { return string(w.Function.Name + w.Custom.Name) }

func (w *toolCall) call() llm.ToolCall {
	return llm.ToolCall{ID: string(w.ID), Name: w.name(), Custom: w.Function.Name == "" && w.Custom.Name != ""}
}

func (w *toolCall) arguments() string {
	if w.Custom.Input != nil {
		return string(*w.Custom.Input)
	}
	return string(w.Function.Arguments)
}

// readUsage reads the usage of an answer or of a chunk, from the member where the style has it or from another place. It reports whether
// there is one.
func readUsage(report *llm.Report, reader llm.UsageReader, document, object []byte) bool {
	elsewhere := reader.ReadAnswer(report, document)
	if llm.IsNull(object) {
		return elsewhere
	}
	reader.ReadUsage(report, object)
	return true
}
