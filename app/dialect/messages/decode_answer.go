package messages

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// DecodeResponse reads a whole answer.
func (Codec) DecodeResponse(body []byte, a *llm.ResponseOptions) (*llm.Response, error) {
	var w answer
	if err := json.Unmarshal(body, &w, lenient); err != nil {
		return nil, llm.ErrBroken
	}
	switch {
	case text(w.Type) == "error", isSet(w.Error) && w.Content == nil:
		return nil, &llm.UpstreamError{Body: bytes.Clone(body)}
	case w.Content == nil, text(w.StopReason) == "":
		return nil, llm.ErrBroken
	}
	r := &llm.Response{ID: text(w.ID), StopText: text(w.StopSequence)}
	calls := 0
	for _, raw := range w.Content {
		var p piece
		if err := json.Unmarshal(raw, &p, lenient); err != nil {
			return nil, llm.ErrBroken
		}
		part, ok := decodePiece(&p, a, calls)
		if !ok {
			continue
		}
		if part.Kind == llm.Call {
			calls++
		}
		r.Parts = append(r.Parts, part)
	}
	r.Stop = decodeStop(text(w.StopReason), calls)
	count := noUsage
	decodeUsage(&count, w.Usage)
	r.Usage, r.Reported = count.Usage()
	return r, nil
}

// decodePiece reads a block of an answer. It reports false for what only the tools of one vendor say.
func decodePiece(p *piece, a *llm.ResponseOptions, calls int) (llm.Part, bool) {
	switch text(p.Type) {
	case "text":
		return llm.Part{Kind: llm.Text, Text: text(p.Text)}, true
	case "thinking":
		return llm.Part{Kind: llm.Reasoning, Text: text(p.Thinking), Signature: text(p.Signature)}, true
	case "redacted_thinking":
		return llm.Part{Kind: llm.Reasoning, Signature: text(p.Data), Redacted: true}, true
	case "tool_use":
		call := decodeCall(p, a, calls)
		call.Arguments = decodeInput(p.Input)
		return llm.Part{Kind: llm.Call, Call: call}, true
	}
	return llm.Part{}, false
}

// decodeCall reads which tool is called. One without an id gets one.
func decodeCall(p *piece, a *llm.ResponseOptions, calls int) llm.ToolCall {
	c := llm.ToolCall{ID: text(p.ID), Name: text(p.Name)}
	if c.ID == "" {
		c.ID = a.MintID("call_", calls)
	}
	return c
}

// decodeInput is the input of a tool as text, in the order and the digits of the upstream.
func decodeInput(raw jsontext.Value) string {
	if !isSet(raw) {
		return "{}"
	}
	// The value was parsed before, so this cannot fail.
	input, _ := appendRaw(nil, raw)
	return string(input)
}

// decodeStop is why an answer ended. One that calls tools has not come to its natural end.
func decodeStop(word string, calls int) llm.Stop {
	s := StopOf(word)
	if s == llm.StopEnd && calls > 0 {
		return llm.StopToolCalls
	}
	return s
}

// noUsage is a report of which nothing was read yet.
var noUsage = llm.Report{Input: llm.Unknown, Output: llm.Unknown}

// decodeUsage reads the counts that are there and leaves the others. It reports whether the output was counted.
func decodeUsage(u *llm.Report, raw jsontext.Value) bool {
	var w usage
	if !isSet(raw) || json.Unmarshal(raw, &w, lenient) != nil {
		return false
	}
	decodeCount(&u.Input, w.Input)
	decodeCount(&u.CacheRead, w.CacheRead)
	decodeCount(&u.CacheWrite, w.CacheWrite)
	decodeCount(&u.Output, w.Output)
	var details usageDetails
	if isSet(w.Details) && json.Unmarshal(w.Details, &details, lenient) == nil {
		decodeCount(&u.Reasoning, details.Thinking)
	}
	return isSet(w.Output)
}

// decodeCount reads a count. What is none becomes llm.Unknown.
func decodeCount(n *int64, raw jsontext.Value) {
	if !isSet(raw) {
		return
	}
	*n = llm.Unknown
	if raw.Kind() == '0' {
		if whole, ok := number(raw).whole(); ok {
			*n = whole
		}
	}
}
