package messages

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
	"umg/app/usagereader"
)

// DecodeResponse reads a whole answer.
func (Codec) DecodeResponse(body []byte, a *llm.ResponseOptions) (*llm.Response, error) {
	var w answer
	if err := json.Unmarshal(body, &w, llm.Lenient); err != nil {
		return nil, llm.ErrBroken
	}
	switch {
	case w.Type == "error", !llm.IsNull(w.Error) && w.Content == nil:
		return nil, &llm.UpstreamError{Body: bytes.Clone(body)}
	case w.Content == nil, w.StopReason == "", slices.ContainsFunc(w.Content, func(p piece) bool { return p.isBroken }):
		return nil, llm.ErrBroken
	}
	r := &llm.Response{ID: string(w.ID), StopText: string(w.StopSequence), Parts: make([]llm.Part, 0, len(w.Content))}
	calls := 0
	for i := range w.Content {
		p := &w.Content[i]
		switch p.Type { // Other blocks come from tools that one vendor runs.
		case "text":
			r.Parts = append(r.Parts, llm.Part{Kind: llm.Text, Text: string(p.Text)})
		case "thinking":
			r.Parts = append(r.Parts, llm.Part{Kind: llm.Reasoning, Text: string(p.Thinking), Signature: string(p.Signature)})
		case "redacted_thinking":
			r.Parts = append(r.Parts, llm.Part{Kind: llm.Reasoning, Signature: string(p.Data), Redacted: true})
		case "tool_use":
			call := decodeCall(p, a, calls)
			call.Arguments = decodeInput(p.Input)
			r.Parts = append(r.Parts, llm.Part{Kind: llm.Call, Call: call})
			calls++
		}
	}
	r.Stop = decodeStop(string(w.StopReason), calls)
	report, reader := usagereader.NewReport(), usagereader.For(a, llm.Messages)
	reader.ReadAnswer(&report, body)
	reader.ReadUsage(&report, w.Usage)
	r.Usage, r.Reported = report.Usage()
	return r, nil
}

// decodeCall reads the id and the name of a call. A call without an id gets one.
func decodeCall(p *piece, a *llm.ResponseOptions, calls int) llm.ToolCall {
	c := llm.ToolCall{ID: string(p.ID), Name: string(p.Name)}
	if c.ID == "" {
		c.ID = a.MintID("call_", calls)
	}
	return c
}

// decodeInput returns the input of a tool as JSON text, with the order and the digits of the upstream.
func decodeInput(raw jsontext.Value) string {
	if llm.IsNull(raw) {
		return "{}"
	}
	// The value was parsed before, so this cannot fail.
	input, _ := appendRaw(nil, raw)
	return string(input)
}

// decodeStop returns why an answer ended. Some upstreams send end_turn after tool calls.
func decodeStop(reason string, calls int) llm.Stop {
	s := llm.StopOf(reason)
	if s == llm.StopEnd && calls > 0 {
		return llm.StopToolCalls
	}
	return s
}

// decodeCount reads a count. A value that is not a count becomes llm.Unknown.
func decodeCount(n *int64, raw jsontext.Value) {
	if llm.IsNull(raw) {
		return
	}
	*n = llm.Unknown
	if raw.Kind() == '0' {
		if whole, ok := number(raw).whole(); ok {
			*n = whole
		}
	}
}
