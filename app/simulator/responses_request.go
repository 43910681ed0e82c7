package simulator

import (
	"encoding/json"
	"fmt"
)

// outputTokensMin is the smallest max_output_tokens that the responses style accepts.
const outputTokensMin = 16

type responsesRequest struct {
	Model              string          `json:"model"`
	Input              responsesInput  `json:"input"`
	Instructions       *string         `json:"instructions"`
	Stream             bool            `json:"stream"`
	MaxOutputTokens    *int64          `json:"max_output_tokens"`
	ToolChoice         json.RawMessage `json:"tool_choice"`
	Tools              []responsesTool `json:"tools"`
	ParallelToolCalls  *bool           `json:"parallel_tool_calls"`
	PreviousResponseID *string         `json:"previous_response_id"`
	Temperature        json.RawMessage `json:"temperature"`
	TopP               json.RawMessage `json:"top_p"`
	Metadata           json.RawMessage `json:"metadata"`
	Store              *bool           `json:"store"`
	Truncation         *string         `json:"truncation"`
	Include            []string        `json:"include"`
	Reasoning          *struct {
		Effort  *string `json:"effort"`
		Summary *string `json:"summary"`
	} `json:"reasoning"`
	Text *struct {
		Format    json.RawMessage `json:"format"`
		Verbosity *string         `json:"verbosity"`
	} `json:"text"`
}

// responsesInput is a text or a list of items.
type responsesInput = parts[responsesItem]

type responsesItem struct {
	Type      string               `json:"type"`
	Role      string               `json:"role"`
	Content   parts[responsesPart] `json:"content"`
	CallID    string               `json:"call_id"`
	Name      string               `json:"name"`
	Arguments string               `json:"arguments"`
	Input     string               `json:"input"`
	Output    parts[responsesPart] `json:"output"`
	Proof     string               `json:"encrypted_content"`
}

type responsesPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL string `json:"image_url"`
	FileData string `json:"file_data"`
	FileURL  string `json:"file_url"`
	FileID   string `json:"file_id"`
}

// responsesTool keeps the whole definition, as the answer repeats it.
type responsesTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description *string         `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`

	raw json.RawMessage
}

// UnmarshalJSON reads a tool and keeps what it read.
func (t *responsesTool) UnmarshalJSON(raw []byte) error {
	type plain responsesTool
	if err := json.Unmarshal(raw, (*plain)(t)); err != nil {
		return err
	}
	t.raw = append(json.RawMessage(nil), raw...)
	return nil
}

func decodeResponses(x *exchange) (*prompt, *failure) {
	r := &responsesRequest{}
	if err := json.Unmarshal(x.body, r); err != nil {
		return nil, notJSON(err)
	}
	switch {
	case r.Model == "":
		return nil, missing("model")
	case r.Input.text == "" && len(r.Input.list) == 0:
		return nil, missing("input")
	case r.MaxOutputTokens != nil && *r.MaxOutputTokens < outputTokensMin:
		return nil, badRequest("max_output_tokens", fmt.Sprintf("Invalid 'max_output_tokens': integer below minimum value. "+
			"Expected a value >= %d, but got %d instead.", outputTokensMin, *r.MaxOutputTokens))
	case r.PreviousResponseID != nil && *r.PreviousResponseID != "":
		return nil, &failure{status: 400, code: "previous_response_not_found", param: "previous_response_id",
			message: "Previous response with id '" + *r.PreviousResponseID + "' not found."}
	}
	p := newPrompt(r.Model)
	p.echo = r
	if r.Instructions != nil {
		p.addSystem(*r.Instructions)
	}
	if r.Input.text != "" {
		p.turn("user")
		p.addUser(r.Input.text)
	}
	for i := range r.Input.list {
		if bad := r.Input.list[i].addTo(p); bad != nil {
			return nil, bad
		}
	}
	return p, r.configure(p)
}

// configure takes what is not conversation.
func (r *responsesRequest) configure(p *prompt) *failure {
	for _, t := range r.Tools {
		if t.Name == "" {
			continue
		}
		description := ""
		if t.Description != nil {
			description = *t.Description
		}
		p.addTool(t.Name, description, t.Parameters)
	}
	var choice chatChoice
	if len(r.ToolChoice) > 0 && json.Unmarshal(r.ToolChoice, &choice) != nil {
		return badRequest("tool_choice", "Invalid 'tool_choice'.")
	}
	p.choice = choice.withDefault()
	p.parallel = r.ParallelToolCalls == nil || *r.ParallelToolCalls
	p.stream = r.Stream
	p.limitTo(r.MaxOutputTokens)
	if r.Reasoning != nil {
		p.thinkAs(r.Reasoning.Effort)
		p.showThoughts = r.Reasoning.Summary != nil
	}
	if r.Text != nil && len(r.Text.Format) > 0 {
		var format struct {
			Type   string          `json:"type"`
			Schema json.RawMessage `json:"schema"`
		}
		if json.Unmarshal(r.Text.Format, &format) != nil {
			return badRequest("text.format", "Invalid 'text.format'.")
		}
		p.formatAs(format.Type, format.Schema)
	}
	return nil
}

func (i *responsesItem) addTo(p *prompt) *failure {
	switch i.Type {
	case "", "message":
		return i.addMessage(p)
	case "function_call", "custom_tool_call":
		p.turn("assistant")
		p.addAssistant("")
		p.addCall(i.CallID, i.Name, i.Arguments+i.Input)
	case "reasoning":
		if i.Proof != "" {
			p.addSignature(i.Proof)
		}
	case "function_call_output", "custom_tool_call_output":
		p.turn("tool")
		if !p.addResult(i.CallID, responsesText(i.Output)) {
			return badRequest("input", "No tool call found for function call output with call_id "+i.CallID+".")
		}
	}
	return nil
}

func (i *responsesItem) addMessage(p *prompt) *failure {
	text := responsesText(i.Content)
	switch i.Role {
	case "system", "developer":
		p.addSystem(text)
	case "assistant":
		p.turn(i.Role)
		p.addAssistant(text)
	case "user":
		p.turn(i.Role)
		p.addUser(text)
		for _, part := range i.Content.list {
			switch part.Type {
			case "input_image":
				p.addMedia(attachment("image", part.ImageURL+part.FileID))
			case "input_file":
				p.addMedia(attachment("file", part.FileData+part.FileURL+part.FileID))
			}
		}
	default:
		return badRequest("input", "Invalid value: '"+i.Role+"'. Supported roles are: user, assistant, system, developer.")
	}
	return nil
}

func responsesText(c parts[responsesPart]) string {
	return c.join(func(p *responsesPart) string { return p.Text })
}
