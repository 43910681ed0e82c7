package console

import (
	"cmp"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/views"
)

const (
	messagesOutput = 4096 // the bound of a request in the messages style that names none: the style's SDKs insist on one
	maxKey         = "max"
)

// body is the request in the chosen style: the conversation as the style's codec writes it, and the settings where the
// contract has them.
func (s *play) body(turns []views.PlayTurn, stream bool) ([]byte, error) {
	codec, err := codecOf(s.style)
	if err != nil {
		return nil, err
	}
	raw, err := codec.EncodeRequest(s.request(turns, stream))
	if err != nil {
		return nil, err
	}
	t := parseTree(raw)
	if t == nil {
		return nil, app.Errorf(app.Internal, "internal_error", "The request could not be written.")
	}
	for _, p := range s.view.Params {
		value, err := paramValue(p, p.Value)
		if err != nil {
			return nil, err
		}
		if value != nil {
			t.put(p.Path, value)
		}
	}
	return t.append(nil), nil
}

func codecOf(style llm.Style) (llm.Codec, error) {
	d, ok := dialect.Of(style)
	if !ok || d.Codec == nil {
		return nil, app.Errorf(app.NotFound, "not_found", "The %s style is not served.", style)
	}
	return d.Codec, nil
}

func (s *play) request(turns []views.PlayTurn, stream bool) *llm.Request {
	r := &llm.Request{Model: s.model.ID, Stream: stream}
	if text := strings.TrimSpace(s.view.Form.System); text != "" {
		r.Turns = append(r.Turns, llm.Turn{Role: llm.System, Parts: []llm.Part{{Kind: llm.Text, Text: text}}})
	}
	for _, t := range turns {
		turn := llm.Turn{Role: llm.User}
		if t.Answer {
			turn.Role = llm.Assistant
		}
		if image, ok := imagePart(t.Image); ok && !t.Answer {
			turn.Parts = append(turn.Parts, image)
		}
		if t.Text != "" {
			turn.Parts = append(turn.Parts, llm.Part{Kind: llm.Text, Text: t.Text})
		}
		if n := len(r.Turns); n > 0 && r.Turns[n-1].Role == turn.Role { // an answer between them was lost
			r.Turns[n-1].Parts = append(r.Turns[n-1].Parts, turn.Parts...)
			continue
		}
		r.Turns = append(r.Turns, turn)
	}
	if s.style == llm.Messages {
		r.MaxOutput = s.bound()
	}
	return r
}

// bound is the answer's length that the form asks for, or the usual one.
func (s *play) bound() int64 {
	for _, p := range s.view.Params {
		if n, err := strconv.ParseInt(p.Value, 10, 64); p.Key == maxKey && err == nil && n > 0 {
			return n
		}
	}
	return min(cmp.Or(s.model.MaxOutputTokens, messagesOutput), messagesOutput)
}

func imagePart(image string) (llm.Part, bool) {
	if m := imageData.FindStringSubmatch(image); m != nil {
		return llm.Part{Kind: llm.Image, Media: llm.Media{Type: m[1], Data: m[2]}}, true
	}
	if strings.HasPrefix(image, "https://") {
		return llm.Part{Kind: llm.Image, Media: llm.Media{URL: image}}, true
	}
	return llm.Part{}, false
}

// variants are the request in every style that the model answers in, the chosen one first made as it would be sent.
func (s *play) variants(body []byte) []views.PlayVariant {
	own, err := codecOf(s.style)
	if err != nil {
		return nil
	}
	var variants []views.PlayVariant
	for _, style := range s.view.Model.Styles {
		v := views.PlayVariant{Style: style, Body: body}
		if llm.Style(style) != s.style {
			if v.Body, err = inStyle(own, llm.Style(style), body); err != nil {
				v.Refusal = app.AsError(err).Message
			}
		}
		v.Body = withShortImages(v.Body)
		variants = append(variants, v)
	}
	return variants
}

// inStyle says a request in another style.
func inStyle(own llm.Codec, style llm.Style, body []byte) ([]byte, error) {
	other, err := codecOf(style)
	if err != nil {
		return nil, err
	}
	r, err := own.DecodeRequest(body)
	if err != nil {
		return nil, err
	}
	if style == llm.Messages {
		r.MaxOutput = cmp.Or(r.MaxOutput, messagesOutput)
	}
	return other.EncodeRequest(r)
}

const (
	longTextBytes = 4096
	base64Shown   = 48
)

// withShortImages replaces the data of images by its beginning: code with a whole image in it cannot be read.
func withShortImages(body []byte) []byte {
	t := parseTree(body)
	if t == nil {
		return body
	}
	t.shorten()
	return t.append(nil)
}

func (t *tree) shorten() {
	if data, at := t.text, strings.LastIndexByte(t.text, ','); t.kind == '"' && len(data) > longTextBytes {
		prefix := ""
		if strings.HasPrefix(data, "data:") && at > 0 {
			prefix, data = data[:at+1], data[at+1:]
		}
		if !strings.ContainsAny(data[:longTextBytes/2], " \n") {
			t.text = prefix + data[:base64Shown] + "…"
		}
	}
	for _, item := range t.items {
		item.shorten()
	}
}
