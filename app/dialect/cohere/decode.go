package cohere

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// DecodeRequest reads a request, such as one that EncodeRequest has written.
func (Codec) DecodeRequest(body []byte) (*llm.Request, error) {
	var w request
	if err := json.Unmarshal(body, &w, llm.Lenient); err != nil {
		return nil, refuse("", "The body is not a request of the chat API of Cohere.").Because(err)
	}
	r := &llm.Request{Model: w.Model, Stream: w.Stream, Stop: w.Stops, MaxOutput: w.MaxTokens.Whole()}
	r.Sampling = llm.Sampling{
		Temperature: llm.Number(w.Temperature), TopP: llm.Number(w.P), TopK: llm.Number(w.K), Seed: llm.Number(w.Seed),
		PresencePenalty: llm.Number(w.PresencePenalty), FrequencyPenalty: llm.Number(w.FrequencyPenalty),
	}
	names := map[string]string{}
	for i := range w.Messages {
		decodeMessage(r, &w.Messages[i], llm.ElementPath("messages", i), names)
	}
	for i := range w.Tools {
		f := &w.Tools[i].Function
		r.Tools = append(r.Tools, llm.Tool{Name: f.Name, Description: f.Description, Parameters: llm.ValueOrNil(f.Parameters)})
	}
	switch w.ToolChoice {
	case choiceRequired:
		r.Choice.Mode = llm.ChooseRequired
	case choiceNone:
		r.Choice.Mode = llm.ChooseNone
	}
	if f := w.ResponseFormat; f != nil && f.Type == "json_object" {
		r.Format.Kind = llm.FormatJSON
		if !llm.IsNull(f.JSONSchema) {
			r.Format = llm.Format{Kind: llm.FormatSchema, Schema: f.JSONSchema}
		}
	}
	switch t := w.Thinking; {
	case t == nil:
	case t.Type == "disabled":
		r.Reasoning.Effort = "none"
	case t.Budget == "":
		r.Reasoning.Budget = "-1"
	default:
		r.Reasoning.Budget = llm.Number(t.Budget)
	}
	return r, nil
}

// decodeMessage adds a message to the turns. Names has the names of the called tools by the ids of the calls.
func decodeMessage(r *llm.Request, m *message, at string, names map[string]string) {
	switch m.Role {
	case "system":
		r.AddTurn(llm.System, decodeContent(m.Content, at)...)
	case "assistant":
		r.AddTurn(llm.Assistant, decodeAssistant(m, at, names)...)
	case "tool":
		r.AddTurn(llm.User, llm.Part{Kind: llm.Result, Place: llm.Place{Path: at}, Result: llm.ToolResult{
			CallID: string(m.ToolCallID), Name: names[string(m.ToolCallID)], Parts: decodeContent(m.Content, at),
		}})
	default:
		r.AddTurn(llm.User, decodeContent(m.Content, at)...)
	}
}

// decodeAssistant returns the thoughts, the tool plan, the text and the calls of a message, in this order.
func decodeAssistant(m *message, at string, names map[string]string) []llm.Part {
	all := decodeContent(m.Content, at)
	llm.SortFirst(all, llm.Reasoning)
	if m.ToolPlan != "" {
		all = append(all, llm.TextPart(string(m.ToolPlan), at+".tool_plan"))
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		names[string(c.ID)] = string(c.Function.Name)
		all = append(all, llm.Part{Kind: llm.Call, Place: llm.Place{Path: llm.ElementPath(at+".tool_calls", i)}, Call: llm.ToolCall{
			ID: string(c.ID), Name: string(c.Function.Name), Arguments: argumentsOf(string(c.Function.Arguments)),
		}})
	}
	return all
}

// argumentsOf returns the arguments of a call. Some calls without arguments have null or nothing.
func argumentsOf(text string) string {
	if text = strings.TrimSpace(text); text == "" || text == "null" {
		return "{}"
	}
	return text
}

func decodeContent(c content, at string) (all []llm.Part) {
	for i := range c {
		p := llm.Part{Place: llm.Place{Path: llm.ElementPath(at+".content", i)}}
		switch w := &c[i]; {
		case w.Type == typeText:
			p.Kind, p.Text = llm.Text, string(w.Text)
		case w.Type == typeThinking:
			p.Kind, p.Text = llm.Reasoning, string(w.Thinking)
		case w.ImageURL != nil:
			p.Kind, p.Media = llm.Image, decodeImage(w.ImageURL)
		case w.Document != nil:
			p.Kind, p.Text = llm.Text, documentText(w.Document.Data)
		default:
			continue
		}
		all = append(all, p)
	}
	return all
}

func decodeImage(w *imageURL) llm.Media {
	m := llm.Media{Detail: string(w.Detail), URL: string(w.URL)}
	if rest, isData := strings.CutPrefix(m.URL, "data:"); isData {
		if mediaType, data, ok := strings.Cut(rest, ";base64,"); ok {
			m.URL, m.Type, m.Data = "", mediaType, data
		}
	}
	return m
}

// documentText returns the data of a document: a string, or an object as its JSON.
func documentText(data jsontext.Value) string {
	var text string
	if json.Unmarshal(data, &text, llm.Lenient) == nil {
		return text
	}
	return string(data)
}
