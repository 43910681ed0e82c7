package messages

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// ArrangeTurns puts turns into the order that the style requires: system turns apart, no two consecutive turns of one role, and results
// first in a turn.
func ArrangeTurns(all []llm.Turn) (systems, turns []llm.Turn) {
	parts := make([]llm.Part, 0, countParts(all))
	for _, t := range all {
		if t.Role == llm.System {
			systems = append(systems, t)
			continue
		}
		from, isBlank := len(parts), true
		for i := range t.Parts {
			if p := &t.Parts[i]; !isEmptyPart(p) {
				parts = append(parts, *p)
				isBlank = isBlank && isText(p) && strings.TrimSpace(p.Text) == ""
			}
		}
		// Upstreams refuse a message that is only white space.
		if isBlank {
			continue
		}
		t.Parts = parts[from:len(parts):len(parts)]
		if n := len(turns); n > 0 && turns[n-1].Role == t.Role {
			turns[n-1].Parts = append(turns[n-1].Parts, t.Parts...)
		} else {
			turns = append(turns, t)
		}
	}
	for i := range turns {
		llm.SortFirst(turns[i].Parts, llm.Result)
	}
	// Upstreams refuse white space at the end of the text that the model continues.
	if n := len(turns); n > 0 && turns[n-1].Role == llm.Assistant {
		last := &turns[n-1]
		if p := &last.Parts[len(last.Parts)-1]; isText(p) {
			if p.Text = strings.TrimRightFunc(p.Text, unicode.IsSpace); p.Text == "" {
				last.Parts = last.Parts[:len(last.Parts)-1]
			}
		}
	}
	return systems, turns
}

func countParts(turns []llm.Turn) (n int) {
	for i := range turns {
		n += len(turns[i].Parts)
	}
	return n
}

func isText(p *llm.Part) bool { return p.Kind == llm.Text || p.Kind == llm.Refusal }

// isEmptyPart reports whether a part has no place in this style: empty text, and reasoning without a signature.
func isEmptyPart(p *llm.Part) bool {
	switch p.Kind {
	case llm.Text, llm.Refusal:
		return p.Text == ""
	case llm.Reasoning:
		return p.Signature == ""
	}
	return false
}

// lacksThoughts reports whether the conversation is in the middle of a turn with tool calls that began without reasoning. The turns must
// be arranged, with results first.
func lacksThoughts(turns []llm.Turn) bool {
	i := len(turns) - 1
	for i > 1 && turns[i].Parts[0].Kind == llm.Result {
		i -= 2
	}
	return i < len(turns)-1 && turns[i+1].Parts[0].Kind != llm.Reasoning
}

func (e *requestEncoder) encodeSystem(systems []llm.Turn) {
	n := 0
	for i := range systems {
		var words []string
		for j := range systems[i].Parts {
			p := &systems[i].Parts[j]
			if p.Text != "" {
				words = append(words, p.Text)
			}
		}
		text := strings.Join(words, "\n\n")
		if strings.TrimSpace(text) == "" {
			continue
		}
		e.dst = append(e.dst, separator(n, `,"system":[`)...)
		e.dst = appendText(e.dst, text)
		n++
	}
	if n > 0 {
		e.dst = append(e.dst, ']')
	}
}

func appendText(dst []byte, s string) []byte {
	dst = append(dst, `{"type":"text","text":`...)
	return append(llm.Quote(dst, s), '}')
}

func (e *requestEncoder) encodeTurns(turns []llm.Turn) {
	e.dst = append(e.dst, `,"messages":[`...)
	for i := range turns {
		if i > 0 {
			e.dst = append(e.dst, ',')
		}
		role := `{"role":"user","content":[`
		if turns[i].Role == llm.Assistant {
			role = `{"role":"assistant","content":[`
		}
		for j := range turns[i].Parts {
			e.dst = append(e.dst, separator(j, role)...)
			e.encodePart(&turns[i].Parts[j])
		}
		e.dst = append(e.dst, "]}"...)
	}
	e.dst = append(e.dst, ']')
}

func (e *requestEncoder) encodePart(p *llm.Part) {
	switch p.Kind {
	case llm.Text, llm.Refusal:
		e.dst = appendText(e.dst, p.Text)
	case llm.Image:
		e.encodeImage(p)
	case llm.File:
		e.encodeFile(p)
	case llm.Reasoning:
		e.dst = appendThinking(e.dst, p)
	case llm.Call:
		e.encodeCall(p)
	case llm.Result:
		e.encodeResult(&p.Result)
	default:
		e.refuse(p, "The provider of this model takes neither sound nor films.")
	}
}

func appendThinking(dst []byte, p *llm.Part) []byte {
	if p.Redacted && p.Text == "" {
		dst = append(dst, `{"type":"redacted_thinking","data":`...)
		return append(llm.Quote(dst, p.Signature), '}')
	}
	dst = append(dst, `{"type":"thinking","thinking":`...)
	dst = llm.Quote(dst, p.Text)
	dst = append(dst, `,"signature":`...)
	return append(llm.Quote(dst, p.Signature), '}')
}

func (e *requestEncoder) encodeCall(p *llm.Part) {
	c := &p.Call
	e.dst = append(e.dst, `{"type":"tool_use","id":`...)
	e.dst = llm.Quote(e.dst, llm.FitID(c.ID, idMax))
	e.dst = append(e.dst, `,"name":`...)
	e.dst = llm.Quote(e.dst, c.Name)
	e.dst = append(e.dst, `,"input":`...)
	input := strings.TrimSpace(c.Arguments)
	switch {
	// The style has no block for free text.
	case c.Custom:
		e.dst = append(e.dst, `{"input":`...)
		e.dst = append(llm.Quote(e.dst, c.Arguments), '}')
	case input == "":
		e.dst = append(e.dst, "{}"...)
	case input[0] != '{' || !e.raw([]byte(input)):
		e.refuse(p, "The arguments of the call of the tool %q must be a JSON object for the provider of this model.", c.Name)
	}
	e.dst = append(e.dst, '}')
}

func (e *requestEncoder) encodeResult(r *llm.ToolResult) {
	e.dst = append(e.dst, `{"type":"tool_result","tool_use_id":`...)
	e.dst = llm.Quote(e.dst, llm.FitID(r.CallID, idMax))
	n := 0
	for i := range r.Parts {
		p := &r.Parts[i]
		if isEmptyPart(p) {
			continue
		}
		e.dst = append(e.dst, separator(n, `,"content":[`)...)
		e.encodePart(p)
		n++
	}
	if n > 0 {
		e.dst = append(e.dst, ']')
	}
	if r.Error {
		e.dst = append(e.dst, `,"is_error":true`...)
	}
	e.dst = append(e.dst, '}')
}

// imagePrefixes has the first characters of image formats in base64.
var imagePrefixes = []struct{ prefix, mediaType string }{
	{"iVBORw0KGgo", "image/png"}, {"/9j/", "image/jpeg"}, {"R0lGOD", "image/gif"}, {"UklGR", "image/webp"},
}

func (e *requestEncoder) encodeImage(p *llm.Part) {
	m := &p.Media
	e.dst = append(e.dst, `{"type":"image","source":`...)
	if !e.encodeElsewhere(m) {
		kind := strings.ToLower(m.Type)
		for _, known := range imagePrefixes {
			if kind == "" && strings.HasPrefix(m.Data, known.prefix) {
				kind = known.mediaType
			}
		}
		switch kind {
		case "image/jpg":
			kind = "image/jpeg"
		case "image/png", "image/jpeg", "image/gif", "image/webp":
		default:
			e.refuse(p, "Images must be PNG, JPEG, GIF or WebP for the provider of this model, not %q.", m.Type)
		}
		e.encodeData(kind, m.Data)
	}
	e.dst = append(e.dst, '}')
}

// encodeElsewhere writes the source of media with an address or a file id. It reports false for media whose data is in the request.
func (e *requestEncoder) encodeElsewhere(m *llm.Media) bool {
	switch {
	case m.FileID != "":
		e.dst = append(e.dst, `{"type":"file","file_id":`...)
		e.dst = llm.Quote(e.dst, m.FileID)
	case m.URL != "":
		e.dst = append(e.dst, `{"type":"url","url":`...)
		e.dst = llm.Quote(e.dst, m.URL)
	default:
		return false
	}
	e.dst = append(e.dst, '}')
	return true
}

func (e *requestEncoder) encodeData(mediaType, data string) {
	e.dst = append(e.dst, `{"type":"base64","media_type":`...)
	e.dst = llm.Quote(e.dst, mediaType)
	e.dst = append(e.dst, `,"data":`...)
	e.dst = append(llm.Quote(e.dst, data), '}')
}

const (
	pdfType = "application/pdf"
	// pdfMagic begins every PDF in base64.
	pdfMagic = "JVBERi0"
)

// encodeFile writes a document. The style takes PDF and plain text, so any other text file is sent as plain text.
func (e *requestEncoder) encodeFile(p *llm.Part) {
	m := &p.Media
	if m.Data != "" && strings.HasPrefix(m.Type, "image/") {
		e.encodeImage(p)
		return
	}
	e.dst = append(e.dst, `{"type":"document","source":`...)
	switch {
	case e.encodeElsewhere(m):
	case m.Data != "" && (m.Type == pdfType || strings.HasPrefix(m.Data, pdfMagic)):
		e.encodeData(pdfType, m.Data)
	default:
		words, ok := m.Text, true
		if m.Data != "" {
			words, ok = plainText(m.Data)
		}
		if !ok {
			e.refuse(p, "Files must be PDF or text for the provider of this model, not %q.", m.Type)
		}
		e.dst = append(e.dst, `{"type":"text","media_type":"text/plain","data":`...)
		e.dst = append(llm.Quote(e.dst, words), '}')
	}
	if m.Name != "" {
		e.dst = append(e.dst, `,"title":`...)
		e.dst = llm.Quote(e.dst, m.Name)
	}
	e.dst = append(e.dst, '}')
}

// plainText decodes a text file from base64. It reports false when the file is not text.
func plainText(data string) (string, bool) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		raw, err = base64.RawStdEncoding.DecodeString(data)
	}
	return string(raw), err == nil && utf8.Valid(raw) && bytes.IndexByte(raw, 0) < 0
}

// isJSONOrBlank reports whether the arguments of a call are JSON or empty.
func isJSONOrBlank(arguments string) bool {
	return strings.TrimSpace(arguments) == "" || jsontext.Value(arguments).IsValid(llm.Lenient)
}
