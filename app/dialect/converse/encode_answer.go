package converse

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/dialect/jsonvalue"
	"umg/app/llm"
)

// EncodeResponse appends a whole answer.
func (Codec) EncodeResponse(dst []byte, r *llm.Response, _ *llm.ResponseOptions) []byte {
	dst = append(dst, `{"output":{"message":{"role":"assistant","content":[`...)
	for i := range r.Parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		// A block has only strings and input that is valid JSON, so this cannot fail.
		b, _ := json.Marshal(answerBlock(&r.Parts[i]), jsonvalue.Verbatim)
		dst = append(dst, b...)
	}
	dst = append(dst, `]}},"stopReason":"`+stopWord(r.Stop)+`"`...)
	if r.StopText != "" {
		dst = append(llm.Quote(append(dst, `,"additionalModelResponseFields":{"stop_sequence":`...), r.StopText), '}')
	}
	dst = append(dst, `,"usage":`...)
	return append(appendUsage(dst, &r.Usage), `,"metrics":{"latencyMs":0}}`...)
}

func answerBlock(p *llm.Part) block {
	switch p.Kind {
	case llm.Reasoning:
		return reasoningBlock(p)
	case llm.Call:
		input := jsontext.Value(strings.TrimSpace(p.Call.Arguments))
		if !input.IsValid(llm.Lenient) {
			input = jsontext.Value("{}")
		}
		// The answer is on one line.
		_ = input.Format(llm.Lenient, jsontext.PreserveRawStrings(true))
		return block{ToolUse: &toolUse{ID: jsonvalue.String(p.Call.ID), Name: jsonvalue.String(p.Call.Name), Input: input}}
	}
	return textBlock(p.Text)
}

func appendUsage(dst []byte, u *llm.Usage) []byte {
	for _, one := range []struct {
		name  string
		count int64
	}{
		{`{"inputTokens":`, u.Input},
		{`,"outputTokens":`, u.Output},
		{`,"totalTokens":`, u.InputTotal() + u.Output},
		{`,"cacheReadInputTokens":`, u.CacheRead},
		{`,"cacheWriteInputTokens":`, u.CacheWrite},
	} {
		dst = strconv.AppendInt(append(dst, one.name...), one.count, 10)
	}
	return append(dst, '}')
}
