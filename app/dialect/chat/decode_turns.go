package chat

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"

	"umg/app/llm"
)

// turns reads the messages. Neighbours of one role are one turn, unless different participants speak.
func (d *requestDecoder) turns() error {
	d.out.Turns = make([]llm.Turn, 0, len(d.w.Messages))
	for i := range d.w.Messages {
		m := &d.w.Messages[i]
		at := llm.ElementPath("messages", i)
		if err := d.turn(m, at); err != nil {
			return err
		}
		if err := d.dropUnknown(m.Unknown, at); err != nil {
			return err
		}
	}
	return nil
}

func (d *requestDecoder) turn(m *message, at string) error {
	t := llm.Turn{Role: llm.User, Name: m.Name}
	var err error
	switch m.Role {
	case "system", "developer":
		t.Role = llm.System
		t.Parts, err = d.parts(&m.Content, at)
	case "user":
		t.Parts, err = d.parts(&m.Content, at)
	case "assistant":
		t.Role = llm.Assistant
		if t.Parts, err = d.assistantParts(m, at); err == nil && len(t.Parts) == 0 {
			// The message has neither content nor calls.
			return nil
		}
	case "tool", "function":
		t.Name = ""
		t.Parts, err = d.result(m, at)
	default:
		return wrong(at+".role", "%s.role must be system, developer, user, assistant or tool.", at)
	}
	for _, member := range [...]struct {
		name  string
		isSet bool
	}{{"tool_calls", len(m.ToolCalls) > 0}, {"function_call", m.FunctionCall.Name != ""}, {"refusal", m.Refusal != ""}} {
		if err == nil && t.Role != llm.Assistant && member.isSet {
			err = wrong(at+"."+member.name, "%s.%s can stand in a message of the role assistant only.", at, member.name)
		}
	}
	if err == nil {
		d.add(t)
	}
	return err
}

// add appends a turn, or its parts to the last turn when that has the same role and participant. Tool results join either.
func (d *requestDecoder) add(t llm.Turn) {
	if n := len(d.out.Turns); n > 0 && t.Role != llm.System && d.out.Turns[n-1].Role == t.Role {
		prev := &d.out.Turns[n-1]
		switch {
		case prev.Name == t.Name, resultsOnly(t.Parts):
			prev.Parts = append(prev.Parts, t.Parts...)
			return
		case prev.Name == "" && resultsOnly(prev.Parts):
			prev.Name, prev.Parts = t.Name, append(prev.Parts, t.Parts...)
			return
		}
	}
	d.out.Turns = append(d.out.Turns, t)
}

func resultsOnly(parts []llm.Part) bool {
	for i := range parts {
		if parts[i].Kind != llm.Result {
			return false
		}
	}
	return len(parts) > 0
}

// parts reads the content of a message of the user, the system or a tool.
func (d *requestDecoder) parts(c *content, at string) ([]llm.Part, error) {
	if c.parts == nil {
		return []llm.Part{llm.TextPart(c.text, at+".content")}, nil
	}
	out := make([]llm.Part, 0, len(c.parts))
	for i := range c.parts {
		at := llm.ElementPath(at+".content", i)
		p, err := d.part(&c.parts[i], at)
		if err != nil {
			return nil, err
		}
		if m := &p.Media; p.Kind != llm.Text && p.Kind != llm.Refusal && m.URL+m.Data+m.FileID == "" {
			return nil, wrong(at+"."+c.parts[i].Type, "%s.%s is empty.", at, c.parts[i].Type)
		}
		if p.Place.Path = at; p.Kind != llm.Text && p.Kind != llm.Refusal {
			p.Place.Path += "." + c.parts[i].Type
		}
		out = append(out, p)
	}
	return out, nil
}

func (d *requestDecoder) part(w *part, at string) (llm.Part, error) {
	if err := d.dropUnknown(w.Unknown, ""); err != nil {
		return llm.Part{}, err
	}
	p := llm.Part{Kind: llm.Text}
	switch {
	case w.Type == "text" && w.Text != nil:
		p.Text = string(*w.Text)
	case w.Type == "refusal":
		p.Kind, p.Text = llm.Refusal, string(w.Refusal)
	case w.Type == "image_url" && w.ImageURL != nil:
		p.Kind, p.Media = llm.Image, decodeURL(w.ImageURL.URL)
		p.Media.Detail = w.ImageURL.Detail
	case w.Type == "input_audio" && w.InputAudio != nil:
		p.Kind, p.Media = llm.Audio, llm.Media{Type: "audio/" + w.InputAudio.Format, Data: w.InputAudio.Data}
	case w.Type == "file" && w.File != nil:
		p.Kind, p.Media = llm.File, fileMedia(w.File.FileID, w.File.FileData, w.File.Filename)
	case w.Type == "text" || w.Type == "image_url" || w.Type == "input_audio" || w.Type == "file":
		return p, wrong(at+"."+w.Type, "%s.%s is required.", at, w.Type)
	default:
		return p, refused(at+".type",
			"%s.type %q cannot be carried to the provider of this model, because it knows text, image_url, input_audio and file only.", at, w.Type)
	}
	return p, nil
}

// fileMedia is a file by its id or its data. Data without a media type is a PDF if the name of the file says so.
func fileMedia(id, data, name string) llm.Media {
	m := llm.Media{FileID: id}
	switch {
	case id != "":
	case strings.HasPrefix(data, "data:"):
		m = decodeURL(data)
	default:
		if m.Data = data; strings.HasSuffix(strings.ToLower(name), ".pdf") {
			m.Type = "application/pdf"
		}
	}
	m.Name = name
	return m
}

// decodeURL reads an address or a data URL.
func decodeURL(address string) llm.Media {
	rest, isData := strings.CutPrefix(address, "data:")
	kind, data, found := strings.Cut(rest, ",")
	if !isData || !found {
		return llm.Media{URL: address}
	}
	kind, isBase64 := strings.CutSuffix(kind, ";base64")
	// Other styles have no place for parameters such as the charset.
	kind, _, _ = strings.Cut(kind, ";")
	if !isBase64 {
		if plain, err := url.PathUnescape(data); err == nil {
			data = plain
		}
		data = base64.StdEncoding.EncodeToString([]byte(data))
	}
	return llm.Media{Type: kind, Data: data}
}

// assistantParts reads a message of the assistant, and remembers its tool calls for their results.
func (d *requestDecoder) assistantParts(m *message, at string) ([]llm.Part, error) {
	s := m.assistantFields
	if s.FunctionCall.Name != "" && len(s.ToolCalls) == 0 {
		d.lastFunctionCallID = d.mint(0)
		s.ToolCalls = []toolCall{{ID: str(d.lastFunctionCallID), Function: s.FunctionCall}}
		s.FunctionCall = function{}
	}
	for i := range m.Content.parts {
		if p := &m.Content.parts[i]; p.Type != "text" && p.Type != "refusal" {
			return nil, wrong(llm.ElementPath(at+".content", i)+".type", "%s.type must be text or refusal.", llm.ElementPath(at+".content", i))
		}
	}
	for i := range m.ToolCalls {
		if m.ToolCalls[i].name() == "" {
			at := llm.ElementPath(at+".tool_calls", i)
			return nil, wrong(at, "%s must be of type function or custom and name its tool.", at)
		}
	}
	parts := decodeAssistant(&m.Content, &s, d.mint)
	n := 0
	for i := range parts { // Each tool call of the message is one part, in the same order.
		p := &parts[i]
		switch {
		case p.Kind == llm.Call && n < len(m.ToolCalls):
			p.Place = llm.Place{Path: llm.ElementPath(at+".tool_calls", n) + ".id", ID: string(m.ToolCalls[n].ID)}
			n++
		case p.Kind == llm.Call:
			p.Place.Path = at + ".function_call"
		default:
			p.Place.Path = at
		}
	}
	d.noteDuplicateIDs(s.ToolCalls, parts)
	parts = signThoughts(parts)
	if len(parts) == 0 && m.Content.isSet {
		parts = []llm.Part{llm.TextPart("", at+".content")}
	}
	d.rememberCalls(parts)
	for i := range m.Content.parts {
		if err := d.dropUnknown(m.Content.parts[i].Unknown, ""); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// rememberCalls keeps the tool calls of a message by their ids, for their results.
func (d *requestDecoder) rememberCalls(parts []llm.Part) {
	for i := range parts {
		if c := &parts[i].Call; parts[i].Kind == llm.Call {
			c.ID = llm.OriginalID(c.ID)
			if d.calls == nil {
				d.calls = map[string]llm.ToolCall{}
			}
			d.calls[c.ID] = *c
		}
	}
}

// noteDuplicateIDs notes the calls of a message that share an id in the request. Their results come in the same order.
func (d *requestDecoder) noteDuplicateIDs(wire []toolCall, parts []llm.Part) {
	d.duplicateIDs = nil
	n := 0
	for i := range parts {
		if parts[i].Kind != llm.Call {
			continue
		}
		for n < len(wire) && wire[n].name() == "" {
			n++
		}
		if n == len(wire) {
			return
		}
		if id := llm.OriginalID(string(wire[n].ID)); id != parts[i].Call.ID && id != "" {
			if d.duplicateIDs == nil {
				d.duplicateIDs = map[string][]string{}
			}
			if d.duplicateIDs[id] == nil {
				d.duplicateIDs[id] = []string{id}
			}
			d.duplicateIDs[id] = append(d.duplicateIDs[id], parts[i].Call.ID)
		}
		n++
	}
}

// mint makes an id for a call without one.
func (d *requestDecoder) mint(int) string {
	d.minted++
	return "call_unnamed_" + strconv.Itoa(d.minted)
}

// signThoughts moves the signature of the first call to the reasoning of the message. The style has one place for the reasoning and ties
// the signature to the call, although there may have been text between the two.
func signThoughts(parts []llm.Part) []llm.Part {
	if len(parts) == 0 || parts[0].Kind != llm.Reasoning || parts[0].Signature != "" {
		return parts
	}
	for i := 1; i < len(parts); i++ {
		switch p := &parts[i]; p.Kind {
		case llm.Call:
			return parts
		case llm.Reasoning:
			parts[0].Signature = p.Signature
			return append(parts[:i], parts[i+1:]...)
		}
	}
	return parts
}

// result reads the result of a tool.
func (d *requestDecoder) result(m *message, at string) ([]llm.Part, error) {
	r := llm.ToolResult{CallID: llm.OriginalID(string(m.ToolCallID)), Name: m.Name}
	if m.Role == "function" {
		r.CallID = d.lastFunctionCallID
	}
	if r.CallID == "" {
		return nil, wrong(at+".tool_call_id", "%s.tool_call_id is required: the id of the call that this message answers.", at)
	}
	if twins := d.duplicateIDs[r.CallID]; len(twins) > 0 {
		d.duplicateIDs[r.CallID] = twins[1:]
		r.CallID = twins[0]
	}
	if call, ok := d.calls[r.CallID]; ok {
		r.Name, r.Custom = call.Name, call.Custom
	}
	parts, err := d.parts(&m.Content, at)
	r.Parts = parts
	from := llm.Place{Path: at + ".tool_call_id", ID: string(m.ToolCallID)}
	if m.Role == "function" {
		from = llm.Place{Path: at}
	}
	return []llm.Part{{Kind: llm.Result, Result: r, Place: from}}, err
}
