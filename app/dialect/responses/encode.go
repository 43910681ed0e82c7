package responses

import (
	"cmp"
	"encoding/base64"
	"strconv"
	"strings"

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
	dst = append(key(dst, "input"), '[')
	w := inputWriter{dst: dst}
	for i := range turns {
		w.turn(&turns[i])
	}
	dst = w.dst
	dst = append(dst, ']')
	if len(r.Tools) > 0 {
		dst = appendTools(key(dst, "tools"), r.Tools)
	}
	if r.Choice.Mode != llm.ChooseUnset {
		dst = appendChoice(key(dst, "tool_choice"), r)
	}
	if r.Parallel != nil {
		dst = flagMember(dst, "parallel_tool_calls", *r.Parallel)
	}
	if n := r.Sampling.Temperature; isNumber(n) {
		dst = append(key(dst, "temperature"), n...)
	}
	if n := r.Sampling.TopP; isNumber(n) {
		dst = append(key(dst, "top_p"), n...)
	}
	if r.MaxOutput > 0 {
		dst = numberMember(dst, "max_output_tokens", max(r.MaxOutput, outputTokensMin))
	}
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
	dst = optional(dst, "safety_identifier", llm.FitEndUser(r.EndUser, endUserCharsMax))
	return append(dst, '}'), nil
}

// needsProof reports whether the request asks for reasoning or has some in its history. Only then does it include encrypted reasoning,
// because models that do not reason refuse that.
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

// checkParts refuses parts that the style cannot express.
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

// instructions returns the text of the first turn. It reports false unless that is a turn of the system with text only.
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

// inputWriter writes the items of the input. Consecutive texts, images and files of a turn share a message.
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

// message opens a message, unless one is open. A message of the assistant has an id and a status like an item of an answer.
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
	text := c.Arguments
	if text == "" && !c.Custom {
		text = "{}"
	}
	return append(textMember(dst, arguments, text), '}')
}

func (w *inputWriter) result(t *llm.ToolResult) {
	kind := "function_call_output"
	if t.Custom {
		kind = "custom_tool_call_output"
	}
	w.dst = textMember(append(next(w.dst), '{'), "type", kind)
	w.dst = textMember(w.dst, "call_id", llm.FitID(t.CallID, callIDCharsMax))
	if len(t.Parts) == 0 || len(t.Parts) == 1 && t.Parts[0].Kind == llm.Text {
		text := ""
		if len(t.Parts) > 0 {
			text = t.Parts[0].Text
		}
		w.dst = append(textMember(w.dst, "output", text), '}')
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
	m := &p.Media
	switch {
	case p.Kind == llm.Refusal && answer:
		return append(textMember(append(dst, `{"type":"refusal"`...), "refusal", p.Text), '}')
	case p.Kind == llm.Image:
		dst = appendMedia(append(dst, `{"type":"input_image"`...), m, "image_url", "image_url")
		return append(textMember(dst, "detail", cmp.Or(m.Detail, "auto")), '}')
	case p.Kind == llm.File:
		dst = optional(append(dst, `{"type":"input_file"`...), "filename", m.Name)
		return append(appendMedia(dst, m, "file_url", "file_data"), '}')
	case answer:
		return appendOutputText(dst, escape(nil, p.Text))
	}
	return append(textMember(append(dst, `{"type":"input_text"`...), "text", p.Text), '}')
}

// appendMedia appends the member with the media of a part: file_id, the address, or the data.
func appendMedia(dst []byte, m *llm.Media, urlMember, dataMember string) []byte {
	switch {
	case m.FileID != "":
		return textMember(dst, "file_id", m.FileID)
	case m.URL != "":
		return textMember(dst, urlMember, m.URL)
	case m.Text != "":
		return textMember(dst, dataMember, "data:"+textDocument+";base64,"+base64.StdEncoding.EncodeToString([]byte(m.Text)))
	case m.Type == "" && dataMember == "file_data":
		return textMember(dst, dataMember, m.Data)
	}
	return textMember(dst, dataMember, "data:"+m.Type+";base64,"+m.Data)
}
