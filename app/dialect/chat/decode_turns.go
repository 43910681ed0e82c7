package chat

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"

	"umg/app/llm"
)

// place is the path of an element.
func place(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// turns reads the messages. Neighbours of one role are one turn, unless different participants speak.
func (d *requestDecoder) turns() error {
	d.out.Turns = make([]llm.Turn, 0, len(d.w.Messages))
	for i := range d.w.Messages {
		m := &d.w.Messages[i]
		if err := d.turn(m, place("messages", i)); err != nil {
			return err
		}
		if err := d.dropUnknown(m.Unknown, place("messages", i)); err != nil {
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
	if err == nil && t.Role != llm.Assistant {
		err = onlyAssistants(m, at)
	}
	if err == nil {
		d.add(t)
	}
	return err
}

// onlyAssistants refuses what a message of an assistant alone can say.
func onlyAssistants(m *message, at string) error {
	var name string
	switch {
	case len(m.ToolCalls) > 0:
		name = "tool_calls"
	case m.FunctionCall.Name != "":
		name = "function_call"
	case m.Refusal != "":
		name = "refusal"
	default:
		return nil
	}
	return wrong(at+"."+name, "%s.%s can stand in a message of the role assistant only.", at, name)
}

// add appends a turn or, when the same side goes on, its parts. Tool results belong to the next turn's side.
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

// parts reads content that is no assistant's.
func (d *requestDecoder) parts(c *content, at string) ([]llm.Part, error) {
	if c.parts == nil {
		return []llm.Part{{Kind: llm.Text, Text: c.text, Place: llm.Place{Path: at + ".content"}}}, nil
	}
	out := make([]llm.Part, 0, len(c.parts))
	for i := range c.parts {
		at := place(at+".content", i)
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
		p.Kind, p.Media = llm.File, decodeFile(w.File)
	case w.Type == "text" || w.Type == "image_url" || w.Type == "input_audio" || w.Type == "file":
		return p, wrong(at+"."+w.Type, "%s.%s is required.", at, w.Type)
	default:
		return p, refused(at+".type",
			"%s.type %q cannot be carried to the provider of this model, because it knows text, image_url, input_audio and file only.", at, w.Type)
	}
	return p, nil
}

func decodeFile(f *file) llm.Media {
	switch {
	case f.FileID != "":
		return llm.Media{FileID: f.FileID, Name: f.Filename}
	case strings.HasPrefix(f.FileData, "data:"):
		m := decodeURL(f.FileData)
		m.Name = f.Filename
		return m
	}
	m := llm.Media{Data: f.FileData, Name: f.Filename}
	if strings.HasSuffix(strings.ToLower(f.Filename), ".pdf") {
		m.Type = "application/pdf"
	}
	return m
}

// decodeURL reads an address, which may hold the data itself.
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

// assistantParts reads what an assistant said, and remembers its calls for their results.
func (d *requestDecoder) assistantParts(m *message, at string) ([]llm.Part, error) {
	s := m.assistantFields
	if s.FunctionCall.Name != "" && len(s.ToolCalls) == 0 {
		d.lastFunctionCallID = d.mint(0)
		s.ToolCalls = []toolCall{{ID: str(d.lastFunctionCallID), Function: s.FunctionCall}}
		s.FunctionCall = function{}
	}
	for i := range m.Content.parts {
		if p := &m.Content.parts[i]; p.Type != "text" && p.Type != "refusal" {
			return nil, wrong(place(at+".content", i)+".type", "%s.type must be text or refusal.", place(at+".content", i))
		}
	}
	for i := range m.ToolCalls {
		if m.ToolCalls[i].name() == "" {
			at := place(at+".tool_calls", i)
			return nil, wrong(at, "%s must be of type function or custom and name its tool.", at)
		}
	}
	parts := decodeAssistant(&m.Content, &s, d.mint)
	setPlaces(parts, m, at)
	d.noteDuplicateIDs(s.ToolCalls, parts)
	parts = signThoughts(parts)
	if len(parts) == 0 && m.Content.isSet {
		parts = []llm.Part{{Kind: llm.Text, Place: llm.Place{Path: at + ".content"}}}
	}
	for i := range parts {
		if c := &parts[i].Call; parts[i].Kind == llm.Call {
			c.ID = llm.OriginalID(c.ID)
			if d.calls == nil {
				d.calls = map[string]llm.ToolCall{}
			}
			d.calls[c.ID] = *c
		}
	}
	for i := range m.Content.parts {
		if err := d.dropUnknown(m.Content.parts[i].Unknown, ""); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// setPlaces notes where the parts of an assistant's message stand. Each of its calls is one part, in their order.
func setPlaces(parts []llm.Part, m *message, at string) {
	n := 0
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Kind == llm.Call && n < len(m.ToolCalls):
			p.Place = llm.Place{Path: place(at+".tool_calls", n) + ".id", ID: string(m.ToolCalls[n].ID)}
			n++
		case p.Kind == llm.Call:
			p.Place.Path = at + ".function_call"
		default:
			p.Place.Path = at
		}
	}
}

// noteDuplicateIDs notes the calls of a message that share an id on the wire. Their results come in order.
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

// mint makes an id for a call of the history that has none.
func (d *requestDecoder) mint(int) string {
	d.minted++
	return "call_unnamed_" + strconv.Itoa(d.minted)
}

// signThoughts gives the signature of the first call to the thoughts of the message. The wire has one place for the
// thoughts and ties the signature to the call, although there may have been text between the two.
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

// result reads what a tool said.
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
