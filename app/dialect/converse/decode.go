package converse

import (
	"github.com/go-json-experiment/json"

	"umg/app/llm"
)

// DecodeRequest reads a request, such as one that EncodeRequest has written.
func (Codec) DecodeRequest(body []byte) (*llm.Request, error) {
	var w request
	if err := json.Unmarshal(body, &w, llm.Lenient); err != nil {
		return nil, refuse("", "The body is not a request of the Converse API.").Because(err)
	}
	r := &llm.Request{Model: w.Model, Stream: w.Stream, Stop: w.Inference.Stops, MaxOutput: w.Inference.MaxTokens.Whole()}
	r.Sampling = llm.Sampling{Temperature: llm.Number(w.Inference.Temperature), TopP: llm.Number(w.Inference.TopP)}
	for i := range w.System {
		if text := w.System[i].Text; text != nil {
			r.AddTurn(llm.System, llm.TextPart(string(*text), llm.ElementPath("system", i)+".text"))
		}
	}
	names := map[string]string{}
	for i := range w.Messages {
		role := llm.User
		if w.Messages[i].Role == "assistant" {
			role = llm.Assistant
		}
		at := llm.ElementPath("messages", i) + ".content"
		for j := range w.Messages[i].Content {
			if p, ok := decodeBlock(&w.Messages[i].Content[j], llm.ElementPath(at, j), names); ok {
				r.AddTurn(role, p)
			}
		}
	}
	decodeTools(r, w.ToolConfig)
	if w.Output != nil {
		s := &w.Output.TextFormat.Structure.JSONSchema
		r.Format = llm.Format{Kind: llm.FormatSchema, Schema: []byte(s.Schema), Name: s.Name, Description: s.Description}
	}
	r.Reasoning = decodeReasoning(w.Additional)
	return r, nil
}

func decodeTools(r *llm.Request, w *toolConfig) {
	if w == nil {
		return
	}
	for i := range w.Tools {
		s := &w.Tools[i].Spec
		r.Tools = append(r.Tools, llm.Tool{
			Name: s.Name, Description: s.Description, Parameters: llm.ValueOrNil(s.InputSchema.JSON), Strict: s.Strict,
		})
	}
	switch c := w.Choice; {
	case c == nil:
	case c.Tool != nil:
		r.Choice = llm.ToolChoice{Mode: llm.ChooseRequired, Names: []string{c.Tool.Name}}
	case c.Any != nil:
		r.Choice.Mode = llm.ChooseRequired
	case c.Auto != nil:
		r.Choice.Mode = llm.ChooseAuto
	}
}

// decodeBlock reads one block of a turn or of an answer. Names has the names of the called tools by the ids of the calls. It reports false
// for a block that has no canonical form.
func decodeBlock(b *block, at string, names map[string]string) (p llm.Part, ok bool) {
	p.Place.Path = at
	switch {
	case b.Text != nil:
		p.Kind, p.Text = llm.Text, string(*b.Text)
	case b.JSON != nil:
		p.Kind, p.Text = llm.Text, string(b.JSON)
	case b.Image != nil:
		p.Kind, p.Media = llm.Image, llm.Media{Type: "image/" + string(b.Image.Format), Data: string(b.Image.Source.Bytes)}
	case b.Document != nil:
		d := b.Document
		p.Kind, p.Media = llm.File, llm.Media{Type: typeOfDocument(string(d.Format)), Data: string(d.Source.Bytes), Name: string(d.Name)}
	case b.ToolUse != nil:
		p.Kind, p.Call = llm.Call, llm.ToolCall{ID: string(b.ToolUse.ID), Name: string(b.ToolUse.Name), Arguments: "{}"}
		if !llm.IsNull(b.ToolUse.Input) {
			p.Call.Arguments = string(b.ToolUse.Input)
		}
		names[p.Call.ID] = p.Call.Name
	case b.ToolResult != nil:
		t := b.ToolResult
		p.Kind = llm.Result
		p.Result = llm.ToolResult{CallID: string(t.ID), Name: names[string(t.ID)], Error: t.Status == "error"}
		for i := range t.Content {
			if inside, ok := decodeBlock(&t.Content[i], llm.ElementPath(at+".toolResult.content", i), names); ok {
				p.Result.Parts = append(p.Result.Parts, inside)
			}
		}
	case b.Reasoning != nil:
		p.Kind = llm.Reasoning
		if text := b.Reasoning.Text; text != nil {
			p.Text, p.Signature = string(text.Text), string(text.Signature)
		} else {
			p.Signature, p.Redacted = string(b.Reasoning.Redacted), true
		}
	default:
		return p, false
	}
	return p, true
}

// typeOfDocument returns the media type of a format of documents.
func typeOfDocument(format string) string {
	for mediaType, known := range documentFormats {
		if known == format {
			return mediaType
		}
	}
	return ""
}
