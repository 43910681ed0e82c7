package responses

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"umg/app/llm"
)

// textDocument is the type of a file that is sent as plain text.
const textDocument = "text/plain;charset=utf-8"

// conversation reads the instructions and the input.
func (r *requestDecoder) conversation(w *request) {
	if w.Instructions != "" {
		r.out.AddTurn(llm.System, llm.TextPart(w.Instructions, "instructions"))
	}
	if w.Input.plain {
		r.out.AddTurn(llm.User, llm.TextPart(w.Input.text, "input"))
	}
	if w.Input.object {
		r.wrongType("input")
	}
	for i := range w.Input.things {
		r.item(&w.Input.things[i], llm.ElementPath("input", i))
	}
}

func (r *requestDecoder) item(it *item, at string) {
	switch it.Type {
	case "function_call", "custom_tool_call", "function_call_output", "custom_tool_call_output":
		if it.CallID == "" {
			r.refuse("missing_required_parameter", at+".call_id", "%s.call_id is required: it is what a call and its output have in common.", at)
			return
		}
		if it.Name == "" && !strings.HasSuffix(it.Type, "_output") {
			r.refuse("missing_required_parameter", at+".name", "%s.name is required: the name of the tool that was called.", at)
			return
		}
	}
	switch it.Type {
	case "", "message":
		r.message(it, at)
	case "function_call", "custom_tool_call":
		call := llm.ToolCall{
			ID: llm.OriginalID(it.CallID), Name: it.Name, Group: it.Namespace, Arguments: string(it.Arguments),
			Custom: it.Type == "custom_tool_call",
		}
		if call.Custom {
			call.Arguments = string(it.Input)
		}
		r.names[it.CallID] = it.Name
		r.out.AddTurn(llm.Assistant, llm.Part{Kind: llm.Call, Call: call, Place: llm.Place{Path: at + ".call_id", ID: it.CallID}})
		r.rest("", it.Rest)
	case "function_call_output", "custom_tool_call_output":
		r.result(it, at)
	case "reasoning":
		var paragraphs []string
		for _, p := range append(it.Summary, it.Content.things...) {
			paragraphs = append(paragraphs, p.Text)
		}
		if it.Content.plain {
			paragraphs = append(paragraphs, it.Content.text)
		}
		r.out.AddTurn(llm.Assistant, llm.Part{
			Kind: llm.Reasoning, Text: strings.Join(paragraphs, paragraph), Signature: joinProof(it.ID, it.EncryptedContent),
			Redacted: len(paragraphs) == 0 && it.EncryptedContent != "", Place: llm.Place{Path: at},
		})
		r.rest("", it.Rest)
	// The item has tools that a tool search of the client found.
	case "additional_tools", "tool_search_output":
		r.tools(it.Tools, at+".tools", "")
	case "item_reference", "compaction", "compaction_trigger":
		r.refuseKept(at, it.Type)
	default:
		// Steps of tools that only the provider runs are dropped. The text of the model about the step follows.
		if !strings.HasSuffix(it.Type, "_call") && !slices.Contains(modelSteps, it.Type) {
			r.refuse(unsupported, at+".type", "%s.type is %q, which cannot be carried to the provider of this model because it has no place in "+
				"other styles; use message, function_call_output or custom_tool_call_output.", at, it.Type)
			return
		}
		r.out.Drop(at + " (" + it.Type + ")")
	}
}

// modelSteps are the steps of the model with tools that only its provider runs, in addition to the types that end with _call.
var modelSteps = []string{"mcp_list_tools", "mcp_approval_request", "program", "program_output"}

// wrongType refuses an object where a text or a list must be.
func (r *requestDecoder) wrongType(at string) {
	r.refuse(invalidValue, at, "%s has a value of the wrong type.", at)
}

// refuseKept refuses an item whose content only the provider that made it can read.
func (r *requestDecoder) refuseKept(at, kind string) {
	r.refuse(unsupported, at, "%s is of type %s, which cannot be carried to the provider of this model because what it stands for is "+
		"kept elsewhere; send the items themselves.", at, kind)
}

func (r *requestDecoder) message(it *item, at string) {
	if it.Role == "" && !it.Content.present && it.ID != "" {
		r.refuseKept(at, "item_reference")
		return
	}
	r.rest("", it.Rest)
	if it.Content.object {
		r.wrongType(at + ".content")
		return
	}
	switch it.Role {
	case "user":
		r.out.AddTurn(llm.User, r.parts(&it.Content, at+".content")...)
	case "assistant":
		r.out.AddTurn(llm.Assistant, r.parts(&it.Content, at+".content")...)
	case "system", "developer":
		r.out.AddTurn(llm.System, r.parts(&it.Content, at+".content")...)
	default:
		r.refuse(invalidValue, at+".role", "%s.role must be user, assistant, system or developer.", at)
	}
}

func (r *requestDecoder) result(it *item, at string) {
	r.rest("", it.Rest)
	if it.Output.object {
		r.wrongType(at + ".output")
		return
	}
	result := llm.ToolResult{CallID: llm.OriginalID(it.CallID), Name: it.Name, Custom: it.Type == "custom_tool_call_output"}
	if result.Name == "" {
		result.Name = r.names[it.CallID]
	}
	result.Parts = r.parts(&it.Output, at+".output")
	r.out.AddTurn(llm.User, llm.Part{Kind: llm.Result, Result: result, Place: llm.Place{Path: at + ".call_id", ID: it.CallID}})
}

func (r *requestDecoder) parts(c *list[part], at string) []llm.Part {
	if c.plain {
		return []llm.Part{llm.TextPart(c.text, at)}
	}
	var out []llm.Part
	for i := range c.things {
		p, at := &c.things[i], llm.ElementPath(at, i)
		r.rest("", p.Rest)
		switch p.Type {
		case "input_text", "output_text", "text":
			if len(p.Annotations) > len("[]") && !llm.IsNull(p.Annotations) {
				r.out.Drop("annotations")
			}
			out = append(out, llm.TextPart(p.Text, at))
		case "refusal":
			out = append(out, llm.Part{Kind: llm.Refusal, Text: p.Refusal, Place: llm.Place{Path: at}})
		case "input_image":
			out = append(out, llm.Part{Kind: llm.Image, Media: r.image(p, at), Place: llm.Place{Path: at + "." + p.source(at, r)}})
		case "input_file":
			out = append(out, llm.Part{Kind: llm.File, Media: r.file(p, at), Place: llm.Place{Path: at + "." + p.source(at, r)}})
		default:
			r.refuse(unsupported, at+".type", "%s.type is %q, which cannot be carried to the provider of this model because it has no "+
				"place in other styles; use input_text, input_image or input_file.", at, p.Type)
		}
	}
	return out
}

// source returns the member with the media. A part may have only one.
func (p *part) source(at string, r *requestDecoder) string {
	found := ""
	for _, one := range [...]struct{ name, value string }{
		{"image_url", p.ImageURL}, {"file_data", p.FileData}, {"file_url", p.FileURL}, {"file_id", p.FileID},
	} {
		switch {
		case one.value == "":
		case found == "":
			found = one.name
		default:
			r.refuse(invalidValue, at+"."+one.name, "%s has both %s and %s; send one of them.", at, found, one.name)
		}
	}
	return found
}

func (r *requestDecoder) image(p *part, at string) llm.Media {
	m := llm.Media{Detail: p.Detail}
	if m.Detail == "auto" {
		// auto is the default.
		m.Detail = ""
	}
	switch kind, data, isData := cutDataURL(p.ImageURL); {
	case isData:
		m.Type, m.Data = kind, data
	case strings.HasPrefix(p.ImageURL, "data:"):
		r.refuse(invalidValue, at+".image_url", "%s.image_url must be an https address or data:TYPE;base64,DATA.", at)
	case p.ImageURL != "":
		m.URL = p.ImageURL
	case p.FileID != "":
		m.FileID = p.FileID
	default:
		r.refuse("missing_required_parameter", at, "%s needs image_url or file_id.", at)
	}
	return m
}

func (r *requestDecoder) file(p *part, at string) llm.Media {
	if p.Detail != "" && p.Detail != "auto" {
		r.out.Drop("detail")
	}
	m := llm.Media{Name: p.Filename}
	switch {
	case p.FileData != "":
		kind, data, isData := cutDataURL(p.FileData)
		if !isData {
			// The data is base64 without a data URL.
			m.Data = p.FileData
			break
		}
		if plain, err := base64.StdEncoding.DecodeString(data); kind == textDocument && err == nil && len(plain) > 0 && utf8.Valid(plain) {
			m.Type, m.Text = "text/plain", string(plain)
			break
		}
		m.Type, m.Data = kind, data
	case p.FileURL != "":
		m.URL = p.FileURL
	case p.FileID != "":
		m.FileID = p.FileID
	default:
		r.refuse("missing_required_parameter", at, "%s needs file_data, file_url or file_id.", at)
	}
	return m
}

// cutDataURL splits data:TYPE;base64,DATA.
func cutDataURL(s string) (kind, data string, ok bool) {
	rest, ok := strings.CutPrefix(s, "data:")
	if !ok {
		return "", "", false
	}
	head, data, ok := strings.Cut(rest, ",")
	if !ok {
		return "", "", false
	}
	kind, ok = strings.CutSuffix(head, ";base64")
	return kind, data, ok
}
