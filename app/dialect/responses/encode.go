package responses

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"umg/app/llm"
)

// emptySchema is the schema of a tool without parameters.
const emptySchema = `{"type":"object","properties":{}}`

// EncodeRequest writes a request.
func (Codec) EncodeRequest(r *llm.Request) ([]byte, error) {
	if err := checkParts(r); err != nil {
		return nil, err
	}
	dst := append(make([]byte, 0, 1024), '{')
	dst = textMember(dst, "model", r.Model)
	if r.Stream {
		dst = flagMember(dst, "stream", true)
	}
	dst = flagMember(dst, "store", false)
	if needsProof(r) {
		dst = append(dst, `,"include":["`+includeProof+`"]`...)
	}
	turns := r.Turns
	// Providers refuse an input without an item.
	if text, ok := instructions(r); ok && len(turns) > 1 {
		dst = textMember(dst, "instructions", text)
		turns = turns[1:]
	}
	dst = appendInput(dst, turns)
	if len(r.Tools) > 0 {
		dst = appendTools(key(dst, "tools"), r.Tools)
	}
	if r.Choice.Mode != llm.ChooseUnset {
		dst = appendChoice(key(dst, "tool_choice"), r)
	}
	if r.Parallel != nil {
		dst = flagMember(dst, "parallel_tool_calls", *r.Parallel)
	}
	dst = appendSampling(dst, r)
	if r.Format.Kind != llm.FormatUnset || r.Verbosity != "" {
		dst = appendText(key(dst, "text"), r)
	}
	if effort, show := reasoningOf(r); effort != "" || show != "" {
		dst = append(key(dst, "reasoning"), '{')
		dst = optional(dst, "effort", effort)
		dst = optional(dst, "summary", show)
		dst = append(dst, '}')
	}
	if len(r.Metadata) > 0 {
		dst = appendMetadata(key(dst, "metadata"), r.Metadata)
	}
	dst = optional(dst, "safety_identifier", encodeEndUser(r.EndUser))
	return append(dst, '}'), nil
}

// needsProof reports whether reasoning is asked for or was given before. Only then is its proof asked for: models that do
// not reason refuse the request for it.
func needsProof(r *llm.Request) bool {
	if r.Reasoning != (llm.ReasoningOptions{}) {
		return true
	}
	for i := range r.Turns {
		for j := range r.Turns[i].Parts {
			if r.Turns[i].Parts[j].Kind == llm.Reasoning {
				return true
			}
		}
	}
	return false
}

// checkParts refuses what has no words in this style.
func checkParts(r *llm.Request) error {
	for i := range r.Turns {
		for j := range r.Turns[i].Parts {
			p := &r.Turns[i].Parts[j]
			if err := checkPart(p); err != nil {
				return err
			}
			for k := range p.Result.Parts {
				if err := checkPart(&p.Result.Parts[k]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func checkPart(p *llm.Part) error {
	if p.Kind == llm.Audio || p.Kind == llm.Video {
		return p.Refuse(unsupported, &traits, "Audio and video cannot be carried to the provider of this model because it takes text, images "+
			"and files only.")
	}
	return nil
}

// instructions are the words of a system turn that comes first, if it has nothing but words.
func instructions(r *llm.Request) (string, bool) {
	if len(r.Turns) == 0 || r.Turns[0].Role != llm.System {
		return "", false
	}
	var all strings.Builder
	for i := range r.Turns[0].Parts {
		p := &r.Turns[0].Parts[i]
		if p.Kind != llm.Text {
			return "", false
		}
		if i > 0 {
			all.WriteString(paragraph)
		}
		all.WriteString(p.Text)
	}
	return all.String(), all.Len() > 0
}

func appendInput(dst []byte, turns []llm.Turn) []byte {
	dst = append(key(dst, "input"), '[')
	w := inputWriter{dst: dst}
	for i := range turns {
		w.turn(&turns[i])
	}
	return append(w.dst, ']')
}

// inputWriter writes the items of the input. Neighbouring words, images and files of a turn share a message.
type inputWriter struct {
	dst []byte
	// ids counts the ids of items that must have one.
	ids  int
	open bool
}

func (w *inputWriter) turn(t *llm.Turn) {
	for i := range t.Parts {
		p := &t.Parts[i]
		switch p.Kind {
		case llm.Call:
			w.close()
			w.dst = appendCall(append(next(w.dst), '{'), &p.Call)
		case llm.Result:
			w.close()
			w.result(&p.Result)
		case llm.Reasoning:
			w.close()
			w.reasoning(p)
		default:
			w.message(t.Role)
			w.dst = appendPart(next(w.dst), p, t.Role == llm.Assistant)
		}
	}
	w.close()
}

// message opens a message unless one is open. One of the assistant has the members of an item that was an answer.
func (w *inputWriter) message(role llm.Role) {
	if w.open {
		return
	}
	w.open = true
	w.dst = append(next(w.dst), `{"type":"message"`...)
	switch role {
	case llm.Assistant:
		w.ids++
		w.dst = append(w.dst, `,"id":"msg_`...)
		w.dst = strconv.AppendInt(w.dst, int64(w.ids), 10)
		w.dst = append(w.dst, `","status":"completed","role":"assistant"`...)
	case llm.System:
		w.dst = append(w.dst, `,"role":"developer"`...)
	default:
		w.dst = append(w.dst, `,"role":"user"`...)
	}
	w.dst = append(w.dst, `,"content":[`...)
}

func (w *inputWriter) close() {
	if w.open {
		w.open = false
		w.dst = append(w.dst, "]}"...)
	}
}

func (w *inputWriter) reasoning(p *llm.Part) {
	w.ids++
	id, proof := splitProof(p.Signature)
	if id == "" {
		id = "rs_" + strconv.Itoa(w.ids)
	}
	w.dst = textMember(append(next(w.dst), `{"type":"reasoning"`...), "id", id)
	w.dst = append(w.dst, `,"summary":[`...)
	if p.Text != "" || p.Signature != "" && !p.Redacted {
		w.dst = appendSummary(w.dst, escape(nil, p.Text))
	}
	w.dst = append(w.dst, ']')
	w.dst = optional(w.dst, "encrypted_content", proof)
	w.dst = append(w.dst, '}')
}

// appendCall appends the members of a call that an input and an answer share.
func appendCall(dst []byte, c *llm.ToolCall) []byte {
	arguments := "arguments"
	if c.Custom {
		arguments = "input"
		dst = textMember(dst, "type", "custom_tool_call")
	} else {
		dst = textMember(dst, "type", "function_call")
	}
	dst = textMember(dst, "call_id", llm.FitID(c.ID, callIDCharsMax))
	dst = optional(dst, "namespace", c.Group)
	dst = textMember(dst, "name", c.Name)
	said := c.Arguments
	if said == "" && !c.Custom {
		said = "{}"
	}
	return append(textMember(dst, arguments, said), '}')
}

func (w *inputWriter) result(t *llm.ToolResult) {
	kind := "function_call_output"
	if t.Custom {
		kind = "custom_tool_call_output"
	}
	w.dst = textMember(append(next(w.dst), '{'), "type", kind)
	w.dst = textMember(w.dst, "call_id", llm.FitID(t.CallID, callIDCharsMax))
	if len(t.Parts) == 0 || len(t.Parts) == 1 && t.Parts[0].Kind == llm.Text {
		said := ""
		if len(t.Parts) > 0 {
			said = t.Parts[0].Text
		}
		w.dst = append(textMember(w.dst, "output", said), '}')
		return
	}
	w.dst = append(key(w.dst, "output"), '[')
	for i := range t.Parts {
		w.dst = appendPart(next(w.dst), &t.Parts[i], false)
	}
	w.dst = append(w.dst, "]}"...)
}

// appendPart appends a piece of a message or of a tool's output.
func appendPart(dst []byte, p *llm.Part, answer bool) []byte {
	switch {
	case p.Kind == llm.Refusal && answer:
		return append(textMember(append(dst, `{"type":"refusal"`...), "refusal", p.Text), '}')
	case p.Kind == llm.Image:
		return appendImage(dst, &p.Media)
	case p.Kind == llm.File:
		return appendFile(dst, &p.Media)
	case answer:
		return appendOutputText(dst, escape(nil, p.Text))
	}
	return append(textMember(append(dst, `{"type":"input_text"`...), "text", p.Text), '}')
}

func appendImage(dst []byte, m *llm.Media) []byte {
	dst = append(dst, `{"type":"input_image"`...)
	switch {
	case m.FileID != "":
		dst = textMember(dst, "file_id", m.FileID)
	case m.URL != "":
		dst = textMember(dst, "image_url", m.URL)
	default:
		dst = textMember(dst, "image_url", "data:"+m.Type+";base64,"+m.Data)
	}
	detail := m.Detail
	if detail == "" {
		detail = "auto"
	}
	return append(textMember(dst, "detail", detail), '}')
}

func appendFile(dst []byte, m *llm.Media) []byte {
	dst = append(dst, `{"type":"input_file"`...)
	dst = optional(dst, "filename", m.Name)
	switch {
	case m.FileID != "":
		dst = textMember(dst, "file_id", m.FileID)
	case m.URL != "":
		dst = textMember(dst, "file_url", m.URL)
	case m.Text != "":
		dst = textMember(dst, "file_data", "data:"+textDocument+";base64,"+base64.StdEncoding.EncodeToString([]byte(m.Text)))
	case m.Type == "":
		dst = textMember(dst, "file_data", m.Data)
	default:
		dst = textMember(dst, "file_data", "data:"+m.Type+";base64,"+m.Data)
	}
	return append(dst, '}')
}

// encodeEndUser shortens an id that the style finds too long; the same id is always shortened alike.
func encodeEndUser(id string) string {
	if utf8.RuneCountInString(id) > endUserCharsMax {
		return llm.FitID(id, endUserCharsMax)
	}
	return id
}
