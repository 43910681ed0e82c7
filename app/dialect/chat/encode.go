package chat

import (
	"cmp"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/llm"
)

// resultErrorPrefix tells the model that a tool failed, because the style has no member for that.
const resultErrorPrefix = "Error: "

// EncodeRequest writes a request. It asks for the usage of a stream, because the answer is charged by it.
func (Codec) EncodeRequest(r *llm.Request) ([]byte, error) {
	w := request{
		Model: r.Model, Stream: r.Stream, Stop: r.Stop, LogProbs: r.LogProbs, Verbosity: r.Verbosity, Metadata: r.Metadata,
		User:        llm.FitEndUser(r.EndUser, endUserCharsMax),
		Temperature: number(r.Sampling.Temperature), TopP: number(r.Sampling.TopP), Seed: number(r.Sampling.Seed),
		PresencePenalty: number(r.Sampling.PresencePenalty), FrequencyPenalty: number(r.Sampling.FrequencyPenalty),
		MaxCompletionTokens: whole(r.MaxOutput), ReasoningEffort: string(r.Reasoning.NamedEffort()), ResponseFormat: encodeFormat(&r.Format),
		Messages: make([]message, 0, len(r.Turns)),
	}
	if r.Stream {
		w.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if r.Choices > 1 {
		w.N = whole(r.Choices)
	}
	encodeTools(&w, r)
	for i := range r.Turns {
		if err := encodeTurn(&w, &r.Turns[i]); err != nil {
			return nil, err
		}
	}
	body, err := json.Marshal(&w, verbatim)
	if err != nil {
		return nil, cannot(nil, "a number or a schema in it is not valid JSON").Because(err)
	}
	return body, nil
}

// cannot returns the error for a request that the style cannot express. The part is nil when the error is not about one.
func cannot(p *llm.Part, why string) *app.Error {
	return p.Refuse("unsupported_parameter", &traits, "The request cannot be carried to the provider of this model, because %s.", why)
}

// whole writes a number. Zero is left out.
func whole(n int64) number {
	if n == 0 {
		return ""
	}
	return number(strconv.FormatInt(n, 10))
}

func encodeFormat(f *llm.Format) *format {
	switch f.Kind {
	case llm.FormatText:
		return &format{Type: "text"}
	case llm.FormatJSON:
		return &format{Type: "json_object"}
	case llm.FormatSchema:
		s := &jsonSchema{Name: f.Name, Description: f.Description, Schema: f.Schema, Strict: f.Strict}
		if s.Name == "" {
			// The name is required in this style and does not exist in others.
			s.Name = "response"
		}
		return &format{Type: "json_schema", JSONSchema: s}
	}
	return nil
}

// encodeTools writes the tools and their settings. Upstreams refuse the settings without tools.
func encodeTools(w *request, r *llm.Request) {
	if len(r.Tools) == 0 {
		return
	}
	w.ParallelToolCalls = r.Parallel
	custom := map[string]bool{}
	for i := range r.Tools {
		t := &r.Tools[i]
		custom[t.Name] = t.Custom
		if t.Custom {
			w.Tools = append(w.Tools, tool{Type: "custom", Custom: customTool{
				Name: str(t.Name), Description: str(t.Description), Format: nestGrammar(t.Parameters),
			}})
			continue
		}
		w.Tools = append(w.Tools, tool{Type: "function", Function: function{
			Name: str(t.Name), Description: str(t.Description), Parameters: t.Parameters, Strict: t.Strict,
		}})
	}
	w.ToolChoice = encodeChoice(&r.Choice, custom)
}

func encodeChoice(c *llm.ToolChoice, custom map[string]bool) jsontext.Value {
	var mode string
	switch c.Mode {
	case llm.ChooseAuto:
		mode = "auto"
	case llm.ChooseNone:
		return jsontext.Value(`"none"`)
	case llm.ChooseRequired:
		mode = "required"
	default:
		return nil
	}
	switch {
	case len(c.Names) == 0:
		return llm.Quote(nil, mode)
	case len(c.Names) == 1 && c.Mode == llm.ChooseRequired:
		return appendNamed(nil, c.Names[0], custom)
	}
	dst := append([]byte(`{"type":"allowed_tools","allowed_tools":{"mode":"`), mode...)
	dst = append(dst, `","tools":[`...)
	for i, name := range c.Names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendNamed(dst, name, custom)
	}
	return append(dst, "]}}"...)
}

func appendNamed(dst []byte, name string, custom map[string]bool) []byte {
	if custom[name] {
		dst = append(dst, `{"type":"custom","custom":{"name":`...)
	} else {
		dst = append(dst, `{"type":"function","function":{"name":`...)
	}
	return append(llm.Quote(dst, name), "}}"...)
}

// encodeTurn writes a turn as one message. Each tool result is a message before it, because results must follow their calls.
func encodeTurn(w *request, t *llm.Turn) error {
	switch t.Role {
	case llm.Assistant:
		w.Messages = append(w.Messages, encodeAssistant(t))
		return nil
	case llm.System:
		c, err := encodeParts(t.Parts, "a system message")
		w.Messages = append(w.Messages, message{Role: "system", Name: t.Name, Content: c})
		return err
	}
	var seen, rest []llm.Part
	for i := range t.Parts {
		if t.Parts[i].Kind != llm.Result {
			rest = append(rest, t.Parts[i])
			continue
		}
		m, media, err := encodeResult(&t.Parts[i].Result)
		if err != nil {
			return err
		}
		w.Messages = append(w.Messages, m)
		seen = append(seen, media...)
	}
	rest = append(seen, rest...)
	if len(rest) == 0 && len(t.Parts) > 0 {
		return nil
	}
	c, err := encodeParts(rest, "a user's message")
	w.Messages = append(w.Messages, message{Role: "user", Name: t.Name, Content: c})
	return err
}

// encodeResult writes the result of a tool. The style allows only text there. It returns images and files, which follow in the message of
// the user under the id of the call.
func encodeResult(r *llm.ToolResult) (m message, media []llm.Part, err error) {
	id := llm.FitID(r.CallID, callIDCharsMax)
	parts := make([]llm.Part, 0, len(r.Parts)+1)
	for i := range r.Parts {
		if r.Parts[i].Kind == llm.Text {
			parts = append(parts, r.Parts[i])
		} else {
			media = append(media, r.Parts[i])
		}
	}
	if len(media) > 0 {
		text := joined(parts, llm.Text, "\n") + "\n[" + strconv.Itoa(len(media)) + " attached to the next message, as the result of " + id + "]"
		parts = []llm.Part{{Kind: llm.Text, Text: strings.TrimPrefix(text, "\n")}}
		media = append([]llm.Part{{Kind: llm.Text, Text: "[The result of " + id + "]"}}, media...)
	}
	if r.Error && !strings.HasPrefix(joined(parts, llm.Text, ""), resultErrorPrefix) {
		parts = append([]llm.Part{{Kind: llm.Text, Text: resultErrorPrefix}}, parts...)
		if len(parts) == 2 {
			parts = []llm.Part{{Kind: llm.Text, Text: resultErrorPrefix + parts[1].Text}}
		}
	}
	c, err := encodeParts(parts, "a tool's result")
	return message{Role: "tool", ToolCallID: str(id), Content: c}, media, err
}

// encodeAssistant writes a turn of the assistant as one message, with its calls last. In several messages, results would not directly
// follow their calls.
func encodeAssistant(t *llm.Turn) message {
	m := message{Role: "assistant", Name: t.Name}
	m.ReasoningContent = str(joined(t.Parts, llm.Reasoning, reasoningGap))
	m.Refusal = str(joined(t.Parts, llm.Refusal, ""))
	var texts []llm.Part
	signature := ""
	for i := range t.Parts {
		switch p := &t.Parts[i]; p.Kind {
		case llm.Text:
			texts = append(texts, *p)
		case llm.Reasoning:
			if p.Signature != "" && !p.Redacted {
				signature = p.Signature
			}
		case llm.Call:
			c := toolCall{ID: str(llm.FitID(p.Call.ID, callIDCharsMax))}
			if p.Call.Custom {
				input := str(p.Call.Arguments)
				c.Type, c.Custom = "custom", customTool{Name: str(p.Call.Name), Input: &input}
			} else {
				c.Type, c.Function = "function", function{Name: str(p.Call.Name), Arguments: arguments(argumentsOf(&p.Call))}
			}
			c.Extra.Google.ThoughtSignature = str(signature)
			signature = ""
			m.ToolCalls = append(m.ToolCalls, c)
		}
	}
	if len(texts) > 0 || len(m.ToolCalls) == 0 && m.Refusal == "" {
		// Text parts cannot fail.
		m.Content, _ = encodeParts(texts, "an answer")
	}
	return m
}

// encodeParts writes content. A single text becomes a string, which every upstream accepts.
func encodeParts(parts []llm.Part, where string) (content, error) {
	if len(parts) == 0 || len(parts) == 1 && parts[0].Kind == llm.Text {
		c := content{isSet: true}
		if len(parts) == 1 {
			c.text = parts[0].Text
		}
		return c, nil
	}
	c := content{isSet: true, parts: make([]part, 0, len(parts))}
	for i := range parts {
		p, why := encodePart(&parts[i])
		if why != "" {
			return c, cannot(&parts[i], where+" can hold no "+why)
		}
		c.parts = append(c.parts, p)
	}
	return c, nil
}

// encodePart writes a part. Why names the kinds of content that the style cannot express, and is empty otherwise.
func encodePart(p *llm.Part) (w part, why string) {
	m := &p.Media
	switch p.Kind {
	case llm.Text, llm.Refusal:
		text := str(p.Text)
		return part{Type: "text", Text: &text}, ""
	case llm.Image, llm.File, llm.Audio:
		if m.FileID != "" {
			return part{Type: "file", File: &file{FileID: m.FileID}}, ""
		}
	default:
		return part{}, "video, call or reasoning"
	}
	if p.Kind == llm.Image {
		detail := m.Detail
		if detail == "original" {
			detail = "high"
		}
		return part{Type: "image_url", ImageURL: &imageURL{URL: encodeURL(m), Detail: detail}}, ""
	}
	if m.URL != "" {
		return part{}, "sound or file by its address"
	}
	if p.Kind == llm.Audio {
		format := strings.TrimPrefix(m.Type, "audio/")
		return part{Type: "input_audio", InputAudio: &inputAudio{Data: m.Data, Format: cmp.Or(audioFormats[format], format)}}, ""
	}
	name := "document.txt"
	if m.Type == "application/pdf" {
		name = "document.pdf"
	}
	return part{Type: "file", File: &file{FileData: encodeURL(m), Filename: cmp.Or(m.Name, name)}}, "" // A name is required beside the data.
}

// audioFormats has the formats of audio whose media type has another name.
var audioFormats = map[string]string{"mpeg": "mp3", "mpeg3": "mp3", "x-mp3": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav"}

// encodeURL writes an address, or the data as a data URL.
func encodeURL(m *llm.Media) string {
	switch {
	case m.URL != "":
		return m.URL
	case m.Text != "":
		return "data:" + cmp.Or(m.Type, "text/plain") + ";base64," + base64.StdEncoding.EncodeToString([]byte(m.Text))
	}
	return "data:" + m.Type + ";base64," + m.Data
}
