package cohere

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/dialect/jsonvalue"
)

// request is the body of a call.
type request struct {
	Model            string           `json:"model"`
	Stream           bool             `json:"stream,omitzero"`
	Messages         []message        `json:"messages"`
	Tools            []tool           `json:"tools,omitzero"`
	ToolChoice       jsonvalue.String `json:"tool_choice,omitzero"`
	ResponseFormat   *format          `json:"response_format,omitzero"`
	MaxTokens        jsonvalue.Number `json:"max_tokens,omitzero"`
	Stops            []string         `json:"stop_sequences,omitzero"`
	Temperature      jsonvalue.Number `json:"temperature,omitzero"`
	P                jsonvalue.Number `json:"p,omitzero"`
	K                jsonvalue.Number `json:"k,omitzero"`
	Seed             jsonvalue.Number `json:"seed,omitzero"`
	FrequencyPenalty jsonvalue.Number `json:"frequency_penalty,omitzero"`
	PresencePenalty  jsonvalue.Number `json:"presence_penalty,omitzero"`
	Thinking         *thinking        `json:"thinking,omitzero"`
}

type message struct {
	Role       jsonvalue.String `json:"role"`
	Content    content          `json:"content,omitzero"`
	ToolPlan   jsonvalue.String `json:"tool_plan,omitzero"`
	ToolCalls  []toolCall       `json:"tool_calls,omitzero"`
	ToolCallID jsonvalue.String `json:"tool_call_id,omitzero"`
}

// content is a list of parts. A list with one text is written as a string.
type content []part

// UnmarshalJSONFrom reads a list, a string or null.
func (c *content) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '[':
		return json.UnmarshalDecode(d, (*[]part)(c))
	case '"':
		t, err := d.ReadToken()
		if err == nil {
			*c = content{textPart(t.String())}
		}
		return err
	}
	return d.SkipValue()
}

// MarshalJSONTo writes a string or a list.
func (c content) MarshalJSONTo(e *jsontext.Encoder) error {
	if len(c) == 1 && c[0].Type == typeText {
		return e.WriteToken(jsontext.String(string(c[0].Text)))
	}
	return json.MarshalEncode(e, []part(c))
}

// The types of parts.
const (
	typeText     = "text"
	typeThinking = "thinking"
	typeImage    = "image_url"
)

type part struct {
	Type     jsonvalue.String `json:"type"`
	Text     jsonvalue.String `json:"text,omitzero"`
	Thinking jsonvalue.String `json:"thinking,omitzero"`
	ImageURL *imageURL        `json:"image_url,omitzero"`
	Document *struct {
		Data jsontext.Value `json:"data"`
	} `json:"document,omitzero"`
}

func textPart(text string) part { return part{Type: typeText, Text: jsonvalue.String(text)} }

type imageURL struct {
	URL    jsonvalue.String `json:"url"`
	Detail jsonvalue.String `json:"detail,omitzero"`
}

type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Parameters  jsontext.Value `json:"parameters,omitzero"`
}

type toolCall struct {
	ID       jsonvalue.String `json:"id,omitzero"`
	Type     jsonvalue.String `json:"type,omitzero"`
	Function calledFunction   `json:"function"`
}

type calledFunction struct {
	Name      jsonvalue.String `json:"name,omitzero"`
	Arguments jsonvalue.String `json:"arguments"`
}

type format struct {
	Type       jsonvalue.String `json:"type"`
	JSONSchema jsontext.Value   `json:"json_schema,omitzero"`
}

type thinking struct {
	Type   jsonvalue.String `json:"type"`
	Budget jsonvalue.Number `json:"token_budget,omitzero"`
}

// answer is a whole answer.
type answer struct {
	ID      jsonvalue.String `json:"id"`
	Message *message         `json:"message"`
	Finish  jsonvalue.String `json:"finish_reason"`
	Usage   jsontext.Value   `json:"usage"`
	Error   jsontext.Value   `json:"error"`
}

// frame is one event of a stream. Content and calls are objects in it, and empty lists at its start.
type frame struct {
	ID    jsonvalue.String `json:"id"`
	Type  jsonvalue.String `json:"type"`
	Index jsonvalue.Number `json:"index"`
	Delta struct {
		Message struct {
			Content   jsonvalue.Object[part]     `json:"content"`
			ToolPlan  jsonvalue.String           `json:"tool_plan"`
			ToolCalls jsonvalue.Object[toolCall] `json:"tool_calls"`
		} `json:"message"`
		Finish jsonvalue.String `json:"finish_reason"`
		Usage  jsontext.Value   `json:"usage"`
		Error  jsontext.Value   `json:"error"`
	} `json:"delta"`
	Error   jsontext.Value   `json:"error"`
	Message jsonvalue.String `json:"message"`
}
