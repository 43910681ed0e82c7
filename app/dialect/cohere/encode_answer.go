package cohere

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/dialect/jsonvalue"
	"umg/app/llm"
)

// EncodeResponse appends a whole answer.
func (Codec) EncodeResponse(dst []byte, r *llm.Response, a *llm.ResponseOptions) []byte {
	e := &requestEncoder{r: &llm.Request{}}
	m := message{Role: "assistant"}
	if all := e.assistant(nil, &llm.Turn{Role: llm.Assistant, Parts: r.Parts}); len(all) > 0 {
		m = all[0]
	}
	dst = llm.Quote(append(dst, `{"id":`...), a.MintID("", 0))
	// A message has only strings, so this cannot fail.
	text, _ := json.Marshal(answerMessage(m), jsonvalue.Verbatim)
	dst = append(append(dst, `,"message":`...), text...)
	dst = append(dst, `,"finish_reason":"`+finishWord(r.Stop)+`","usage":`...)
	return append(appendUsage(dst, &r.Usage), '}')
}

// answerMessage is a message whose content is always a list.
type answerMessage message

// MarshalJSONTo writes the message.
func (m answerMessage) MarshalJSONTo(e *jsontext.Encoder) error {
	type plain struct {
		Role      jsonvalue.String `json:"role"`
		Content   []part           `json:"content,omitzero"`
		ToolPlan  jsonvalue.String `json:"tool_plan,omitzero"`
		ToolCalls []toolCall       `json:"tool_calls,omitzero"`
	}
	return json.MarshalEncode(e, plain{m.Role, m.Content, m.ToolPlan, m.ToolCalls})
}

func appendUsage(dst []byte, u *llm.Usage) []byte {
	for _, one := range []struct {
		name  string
		count int64
	}{
		{`{"billed_units":{"input_tokens":`, u.InputTotal()},
		{`,"output_tokens":`, u.Output},
		{`},"tokens":{"input_tokens":`, u.InputTotal()},
		{`,"output_tokens":`, u.Output},
	} {
		dst = strconv.AppendInt(append(dst, one.name...), one.count, 10)
	}
	return append(dst, "}}"...)
}
