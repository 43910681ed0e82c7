package converse

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app/dialect/jsonvalue"
	"umg/app/llm"
)

// encodeSystem makes a block of each turn of the system.
func encodeSystem(systems []llm.Turn) (blocks []block) {
	for i := range systems {
		var words []string
		for j := range systems[i].Parts {
			if p := &systems[i].Parts[j]; p.Text != "" {
				words = append(words, p.Text)
			}
		}
		if text := strings.Join(words, "\n\n"); strings.TrimSpace(text) != "" {
			blocks = append(blocks, textBlock(text))
		}
	}
	return blocks
}

func textBlock(text string) block {
	s := jsonvalue.String(text)
	return block{Text: &s}
}

func (e *requestEncoder) messages(turns []llm.Turn) []message {
	all := make([]message, 0, len(turns))
	for i := range turns {
		m := message{Role: "user"}
		if turns[i].Role == llm.Assistant {
			m.Role = "assistant"
		}
		m.Content = e.blocks(turns[i].Parts)
		if len(m.Content) > 0 {
			all = append(all, m)
		}
	}
	return all
}

// blocks writes parts. The provider refuses blank text, which says nothing beside other parts.
func (e *requestEncoder) blocks(parts []llm.Part) []block {
	all := make([]block, 0, len(parts))
	for i := range parts {
		if p := &parts[i]; !isEmptyText(*p) {
			all = append(all, e.block(p))
		}
	}
	return all
}

func (e *requestEncoder) block(p *llm.Part) block {
	switch p.Kind {
	case llm.Text, llm.Refusal:
		return textBlock(p.Text)
	case llm.Image:
		return e.image(p)
	case llm.File:
		return e.document(p)
	case llm.Reasoning:
		return reasoningBlock(p)
	case llm.Call:
		return block{ToolUse: e.call(p)}
	case llm.Result:
		r := &p.Result
		result := &toolResult{ID: jsonvalue.String(llm.FitID(r.CallID, idMax)), Content: e.blocks(r.Parts)}
		if r.Error {
			result.Status = "error"
		}
		return block{ToolResult: result}
	}
	e.refuse(p, "The provider of this model takes neither sound nor films.")
	return block{}
}

func reasoningBlock(p *llm.Part) block {
	if p.Redacted && p.Text == "" {
		return block{Reasoning: &reasoning{Redacted: jsonvalue.String(p.Signature)}}
	}
	return block{Reasoning: &reasoning{Text: &reasoningText{
		Text: jsonvalue.String(p.Text), Signature: jsonvalue.String(p.Signature),
	}}}
}

func (e *requestEncoder) call(p *llm.Part) *toolUse {
	c := &p.Call
	w := &toolUse{ID: jsonvalue.String(llm.FitID(c.ID, idMax)), Name: jsonvalue.String(c.Name)}
	input := strings.TrimSpace(c.Arguments)
	switch {
	// The style has no block for free text.
	case c.Custom:
		w.Input = append(llm.Quote([]byte(`{"input":`), c.Arguments), '}')
	case input == "":
		w.Input = jsontext.Value("{}")
	case input[0] != '{' || !jsontext.Value(input).IsValid(llm.Lenient):
		e.refuse(p, "The arguments of the call of the tool %q must be a JSON object for the provider of this model.", c.Name)
	default:
		w.Input = jsontext.Value(input)
	}
	return w
}

// imageFormats has the formats of images by their media types.
var imageFormats = map[string]string{
	"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/gif": "gif", "image/webp": "webp",
}

// imagePrefixes has the first characters of the formats in base64.
var imagePrefixes = []struct{ prefix, format string }{
	{"iVBORw0KGgo", "png"}, {"/9j/", "jpeg"}, {"R0lGOD", "gif"}, {"UklGR", "webp"},
}

func (e *requestEncoder) image(p *llm.Part) block {
	m := &p.Media
	format := imageFormats[strings.ToLower(m.Type)]
	for _, known := range imagePrefixes {
		if m.Type == "" && strings.HasPrefix(m.Data, known.prefix) {
			format = known.format
		}
	}
	if format == "" || m.Data == "" {
		e.refuse(p, "Images must be PNG, JPEG, GIF or WebP data for the provider of this model, not %q.", m.Type)
	}
	return block{Image: newMedia(format, "", m.Data)}
}

func newMedia(format, name, data string) *media {
	w := &media{Format: jsonvalue.String(format), Name: jsonvalue.String(name)}
	w.Source.Bytes = jsonvalue.String(data)
	return w
}

// documentFormats has the formats of documents by their media types.
var documentFormats = map[string]string{
	"application/pdf": "pdf", "text/csv": "csv", "application/msword": "doc", "text/html": "html", "text/plain": "txt",
	"text/markdown": "md", "application/vnd.ms-excel": "xls",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":       "xlsx",
}

// pdfMagic begins every PDF in base64.
const pdfMagic = "JVBERi0"

func (e *requestEncoder) document(p *llm.Part) block {
	m := &p.Media
	if m.Data != "" && strings.HasPrefix(m.Type, "image/") {
		return e.image(p)
	}
	mediaType, _, _ := strings.Cut(strings.ToLower(m.Type), ";")
	format, data := documentFormats[mediaType], m.Data
	switch {
	case m.Text != "":
		data = base64.StdEncoding.EncodeToString([]byte(m.Text))
		if format == "" {
			format = "txt"
		}
	case strings.HasPrefix(data, pdfMagic):
		format = "pdf"
	case format == "" && strings.HasPrefix(mediaType, "text/"):
		format = "txt"
	}
	if format == "" || data == "" {
		e.refuse(p, "Files must be PDF, text, Word or Excel data for the provider of this model, not %q.", m.Type)
	}
	return block{Document: newMedia(format, e.documentName(m.Name), data)}
}

// documentName returns a name that the provider takes and that no other document of the request has: letters, digits, hyphens, brackets
// and single spaces.
func (e *requestEncoder) documentName(name string) string {
	fit := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("()[]-", r):
			return r
		case r == ' ', r == '\t':
			return ' '
		}
		return '-'
	}, name)
	if fit = strings.Join(strings.Fields(fit), " "); fit == "" {
		fit = "document"
	}
	fit = fit[:min(len(fit), documentNameMax)]
	if e.names[fit]++; e.names[fit] > 1 {
		fit += " (" + strconv.Itoa(e.names[fit]) + ")"
	}
	return fit
}

// documentNameMax leaves room for a number, since the provider takes 200 characters.
const documentNameMax = 180
