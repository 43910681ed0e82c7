package messages

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"umg/app/llm"
)

// decodeSystem makes a turn of each block.
func (d *requestDecoder) decodeSystem(w *request) error {
	return d.systemTurns(w.System, "system")
}

func (d *requestDecoder) systemTurns(c content, at string) error {
	for i := range c {
		b := &c[i]
		if b.Type != "text" {
			return invalid(llm.ElementPath(at, i)+".type", "must be text: instructions are text.")
		}
		d.rest(b.Rest, "")
		d.r.AddTurn(llm.System, llm.TextPart(b.Text, c.place(at, i)))
	}
	return nil
}

func (d *requestDecoder) decodeMessages(w *request) error {
	for i := range w.Messages {
		m, at := &w.Messages[i], llm.ElementPath("messages", i)
		d.rest(m.Rest, "")
		turn := llm.Turn{}
		switch m.Role {
		case "user":
		case "assistant":
			turn.Role = llm.Assistant
		case "system":
			if err := d.systemTurns(m.Content, at+".content"); err != nil {
				return err
			}
			continue
		default:
			return invalid(at+".role", "must be user, assistant or system.")
		}
		for j := range m.Content {
			parts, err := d.decodeBlock(turn.Parts, &m.Content[j], turn.Role, m.Content.place(at+".content", j))
			if err != nil {
				return err
			}
			turn.Parts = parts
		}
		d.r.AddTurn(turn.Role, turn.Parts...)
	}
	return nil
}

// decodeBlock appends the parts of a block.
func (d *requestDecoder) decodeBlock(dst []llm.Part, b *block, role llm.Role, at string) ([]llm.Part, error) {
	if by, ok := owners[b.Type]; ok && by != role {
		return nil, invalid(at+".type", "cannot be %s in a message of this role.", b.Type)
	}
	switch b.Type {
	case "thinking":
		dst = append(dst, llm.Part{Kind: llm.Reasoning, Text: b.Thinking, Signature: b.Signature, Place: llm.Place{Path: at}})
	case "redacted_thinking":
		dst = append(dst, llm.Part{Kind: llm.Reasoning, Signature: b.Data, Redacted: true, Place: llm.Place{Path: at}})
	case "tool_use":
		input := []byte("{}")
		if !llm.IsNull(b.Input) {
			// The value was parsed before, so this cannot fail.
			input, _ = appendRaw(nil, b.Input)
		}
		call := llm.ToolCall{ID: llm.OriginalID(b.ID), Name: b.Name, Arguments: string(input)}
		switch {
		case call.ID == "":
			return nil, invalid(at+".id", "is required: the id that a tool_result block answers.")
		case call.Name == "":
			return nil, invalid(at+".name", "is required: the name of the tool that was called.")
		}
		d.tools[call.ID] = call.Name
		dst = append(dst, llm.Part{Kind: llm.Call, Call: call, Place: llm.Place{Path: at + ".id", ID: b.ID}})
	case "tool_result":
		result, err := d.decodeResult(b, at)
		if err != nil {
			return nil, err
		}
		dst = append(dst, llm.Part{Kind: llm.Result, Result: result, Place: llm.Place{Path: at + ".tool_use_id", ID: b.ToolUseID}})
	case "container_upload":
		return nil, cannotCarry(at, "what is in a container is kept by another provider")
	default:
		if role == llm.Assistant && !contentTypes[b.Type] && b.Type != "" {
			// The block is a step of a tool that the provider ran. The text of the model about it follows.
			d.r.Drop("content (" + b.Type + ")")
			return dst, nil
		}
		return d.decodeContent(dst, b, at)
	}
	d.rest(b.Rest, "")
	return dst, nil
}

// contentTypes are the blocks that decodeContent reads.
var contentTypes = map[string]bool{
	"text": true, "image": true, "document": true, "search_result": true, "compaction": true, "tool_reference": true,
}

// owners has the only role that may use a type of block. Both roles may use types without an entry.
var owners = map[string]llm.Role{
	"thinking":          llm.Assistant,
	"redacted_thinking": llm.Assistant,
	"tool_use":          llm.Assistant,
	"tool_result":       llm.User,

	// These are steps of tools that a provider has run.
	"server_tool_use":                        llm.Assistant,
	"web_search_tool_result":                 llm.Assistant,
	"web_fetch_tool_result":                  llm.Assistant,
	"code_execution_tool_result":             llm.Assistant,
	"bash_code_execution_tool_result":        llm.Assistant,
	"text_editor_code_execution_tool_result": llm.Assistant,
	"tool_search_tool_result":                llm.Assistant,
	"mcp_tool_use":                           llm.Assistant,
	"mcp_tool_result":                        llm.Assistant,
	"advisor_tool_result":                    llm.Assistant,
}

func (d *requestDecoder) decodeResult(b *block, at string) (llm.ToolResult, error) {
	id := llm.OriginalID(b.ToolUseID)
	if id == "" {
		return llm.ToolResult{}, invalid(at+".tool_use_id", "is required: the id of the tool_use block that this answers.")
	}
	result := llm.ToolResult{CallID: id, Name: d.tools[id], Error: b.IsError}
	var list content
	if len(b.Content) > 0 {
		if err := json.Unmarshal(b.Content, &list); err != nil {
			return result, unreadable(err, at+".content")
		}
	}
	for i := range list {
		parts, err := d.decodeContent(result.Parts, &list[i], list.place(at+".content", i))
		if err != nil {
			return result, err
		}
		result.Parts = parts
	}
	return result, nil
}

// decodeContent appends the parts of a block that may be in a turn or in the result of a tool. It refuses unknown blocks, because content
// of the user is never dropped.
func (d *requestDecoder) decodeContent(dst []llm.Part, b *block, at string) ([]llm.Part, error) {
	d.rest(b.Rest, "")
	switch b.Type {
	case "text":
		return append(dst, llm.TextPart(b.Text, at)), nil
	case "image":
		s, err := decodeSource(b, at)
		if err != nil {
			return nil, err
		}
		media, err := decodeImage(&s, at)
		return append(dst, llm.Part{Kind: llm.Image, Media: media, Place: llm.Place{Path: at + ".source"}}), err
	case "document":
		return d.decodeDocument(dst, b, at)
	case "search_result":
		// The passage becomes a text with its title and its source.
		texts, err := decodeTexts(b, at)
		if err != nil {
			return nil, err
		}
		var from string
		if len(b.Source) > 0 {
			if err := json.Unmarshal(b.Source, &from); err != nil {
				return nil, unreadable(err, at+".source")
			}
		}
		return append(dst, llm.TextPart(strings.Join(append([]string{b.Title, from, ""}, texts...), "\n"), at)), nil
	// A compaction is a summary of the conversation before it.
	case "compaction":
		texts, err := decodeTexts(b, at)
		if err == nil && len(texts) == 0 {
			err = cannotCarry(at, "what it stands for can only be read by the provider that made it")
		}
		for i := range texts {
			dst = append(dst, llm.TextPart(texts[i], at+".content"))
		}
		return dst, err
	// A tool search of the client has found the tool. Every tool is offered without the reference.
	case "tool_reference":
		return append(dst, llm.TextPart(b.ToolName, at)), nil
	case "":
		return nil, invalid(at+".type", "is required: it says what the block is.")
	}
	return nil, cannotCarry(at+".type", "a block of type "+strconv.Quote(b.Type)+" means something to one provider alone; use text, image, "+
		"document, search_result, tool_use or tool_result")
}

// decodeTexts reads the content of a block that may have only text.
func decodeTexts(b *block, at string) ([]string, error) {
	var list content
	if len(b.Content) > 0 {
		if err := json.Unmarshal(b.Content, &list); err != nil {
			return nil, unreadable(err, at+".content")
		}
	}
	texts := make([]string, 0, len(list))
	for i := range list {
		if list[i].Type != "text" {
			return nil, invalid(list.place(at+".content", i)+".type", "must be text.")
		}
		texts = append(texts, list[i].Text)
	}
	return texts, nil
}

func decodeSource(b *block, at string) (source, error) {
	var s source
	if llm.IsNull(b.Source) {
		return s, invalid(at+".source", "is required.")
	}
	if err := json.Unmarshal(b.Source, &s); err != nil {
		return s, unreadable(err, at+".source")
	}
	return s, nil
}

func decodeImage(s *source, at string) (llm.Media, error) {
	switch {
	case s.Type == "base64" && s.Data != "":
		return llm.Media{Type: s.MediaType, Data: s.Data}, nil
	case s.Type == "url" && s.URL != "":
		return llm.Media{URL: s.URL}, nil
	case s.Type == "file" && s.FileID != "":
		return llm.Media{FileID: s.FileID}, nil
	}
	return llm.Media{}, invalid(at+".source", "must be of type base64 with data, url with a url, or file with a file_id.")
}

// decodeDocument appends a file. Its context and the images in it are parts of their own.
func (d *requestDecoder) decodeDocument(dst []llm.Part, b *block, at string) ([]llm.Part, error) {
	s, err := decodeSource(b, at)
	if err != nil {
		return nil, err
	}
	if b.Context != "" {
		dst = append(dst, llm.TextPart(b.Context, at+".context"))
	}
	switch s.Type {
	case "text":
		return append(dst, file(llm.Media{Type: "text/plain", Text: s.Data, Name: b.Title}, at+".source")), nil
	case "content":
		return d.decodeParagraphs(dst, s.Content, b.Title, at+".source.content")
	}
	media, err := decodeImage(&s, at)
	media.Name = b.Title
	return append(dst, file(media, at+".source")), err
}

// decodeParagraphs reads a document that is made of blocks.
func (d *requestDecoder) decodeParagraphs(dst []llm.Part, list content, title, at string) ([]llm.Part, error) {
	var words []string
	flush := func() {
		if len(words) > 0 {
			dst = append(dst, file(llm.Media{Type: "text/plain", Text: strings.Join(words, "\n\n"), Name: title}, at))
			words = nil
		}
	}
	for i := range list {
		b := &list[i]
		switch b.Type {
		case "text":
			d.rest(b.Rest, "")
			words = append(words, b.Text)
		case "image":
			flush()
			parts, err := d.decodeContent(dst, b, llm.ElementPath(at, i))
			if err != nil {
				return nil, err
			}
			dst = parts
		default:
			return nil, invalid(llm.ElementPath(at, i)+".type", "must be text or image.")
		}
	}
	flush()
	return dst, nil
}

func file(m llm.Media, at string) llm.Part {
	return llm.Part{Kind: llm.File, Media: m, Place: llm.Place{Path: at}}
}

// place returns the path of a block, which is the path of the content when that is a plain string.
func (c content) place(at string, i int) string {
	if c[i].plain {
		return at
	}
	return llm.ElementPath(at, i)
}
