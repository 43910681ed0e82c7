package playground

import (
	"cmp"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/dialect"
	"umg/app/jsontree"
	"umg/app/llm"
	playpages "umg/views/playground"
)

const (
	messagesOutput = 4096 // SDKs of the messages style require max_tokens, so requests without one get this value.
	maxKey         = "max"
)

// body returns the request in the chosen style: the conversation as the codec of the style writes it, and the parameters at the places
// that the contract names.
func (s *pane) body(turns []playpages.Turn, stream bool) ([]byte, error) {
	codec, err := CodecOf(s.style)
	if err != nil {
		return nil, err
	}
	r, err := s.request(turns, stream)
	if err != nil {
		return nil, err
	}
	raw, err := codec.EncodeRequest(r)
	if err != nil {
		return nil, err
	}
	t := jsontree.ParseFirst(raw)
	if t == nil {
		return nil, app.Errorf(app.Internal, "internal_error", "The request could not be written.")
	}
	for _, p := range s.view.Params {
		value, err := paramValue(p, p.Value)
		if err != nil {
			return nil, err
		}
		if value != nil {
			t.Put(p.Path, value)
		}
	}
	return t.AppendTo(nil), nil
}

// CodecOf returns the codec of a style.
func CodecOf(style llm.Style) (llm.Codec, error) {
	d, ok := dialect.Of(style)
	if !ok || d.Codec == nil {
		return nil, app.Errorf(app.NotFound, "not_found", "The %s style is not served.", style)
	}
	return d.Codec, nil
}

// request returns the request of the form in the common form of all styles.
func (s *pane) request(turns []playpages.Turn, stream bool) (r *llm.Request, err error) {
	f, traits := &s.view.Form, dialect.Traits(s.style)
	r, s.filledBytes = &llm.Request{Model: s.model.ID, Stream: stream}, 0
	if r.Tools, err = readTools(f.Tools, traits); err != nil {
		return nil, err
	}
	if r.Choice, err = readChoice(f.ToolChoice, r.Tools); err != nil {
		return nil, err
	}
	if r.Format, err = readFormat(f, traits); err != nil {
		return nil, err
	}
	if err = checkTurns(turns); err != nil {
		return nil, err
	}
	system, err := s.fillVariables(strings.TrimSpace(f.System))
	if err != nil {
		return nil, err
	}
	if system != "" {
		r.Turns = append(r.Turns, llm.Turn{Role: llm.System, Parts: []llm.Part{{Kind: llm.Text, Text: system}}})
	}
	names := map[string]string{}
	for i, t := range turns {
		turn, err := s.turn(i, t, names)
		if err != nil {
			return nil, err
		}
		if len(turn.Parts) == 0 {
			continue
		}
		// Two results of tools follow each other, or the answer between them was lost.
		if n := len(r.Turns); n > 0 && r.Turns[n-1].Role == turn.Role {
			r.Turns[n-1].Parts = append(r.Turns[n-1].Parts, turn.Parts...)
			continue
		}
		r.Turns = append(r.Turns, turn)
	}
	if s.style == llm.Messages {
		r.MaxOutput = s.outputMax()
	}
	return r, nil
}

// turn returns one turn of the request. An empty turn has no parts. The names are those of the tools by the ids of their calls.
func (s *pane) turn(number int, t playpages.Turn, names map[string]string) (turn llm.Turn, err error) {
	if t.CallID != "" {
		result := llm.ToolResult{CallID: t.CallID, Name: names[t.CallID], Parts: []llm.Part{{Kind: llm.Text, Text: t.Text}}}
		if strings.TrimSpace(t.Text) == "" {
			return turn, turnError(number,
				"The result of %s is empty. Write what the tool has returned, such as {} when that is nothing.", result.Name)
		}
		turn.Parts = append(turn.Parts, llm.Part{Kind: llm.Result, Result: result})
		return turn, nil
	}
	text := t.Text
	if t.Answer {
		turn.Role = llm.Assistant
	} else if text, err = s.fillVariables(text); err != nil {
		return turn, err
	}
	if t.Image != "" {
		image, ok := imagePart(t.Image)
		if !ok {
			return turn, turnError(number, "The image of this turn is neither a PNG, JPEG, WebP or GIF image nor an https:// address.")
		}
		turn.Parts = append(turn.Parts, image)
	}
	if strings.TrimSpace(text) != "" {
		turn.Parts = append(turn.Parts, llm.Part{Kind: llm.Text, Text: text})
	}
	for _, c := range t.Calls {
		names[c.ID] = c.Name
		turn.Parts = append(turn.Parts, llm.Part{Kind: llm.Call, Call: llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments}})
	}
	return turn, nil
}

// outputMax returns the output limit that the form asks for, or the standard one.
func (s *pane) outputMax() int64 {
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

// variants returns the request in every style of the model.
func (s *pane) variants(turns []playpages.Turn, stream bool) []playpages.Variant {
	var variants []playpages.Variant
	for _, style := range s.view.Model.Styles {
		other := *s
		other.setStyle(style)
		v := playpages.Variant{Style: style}
		body, err := other.body(turns, stream)
		if contract, ok := s.model.Contract(other.style); ok && err == nil {
			err = contract.Check(body)
		}
		if err == nil && style == s.view.Style {
			err = s.formErr
		}
		if err != nil {
			v.Refusal = app.AsError(err).Message
		} else {
			v.Body = withShortImages(body)
		}
		variants = append(variants, v)
	}
	return variants
}

const (
	longTextBytes = 4096
	base64Shown   = 48
)

// withShortImages replaces the data of images by its beginning, because code with a whole image is unreadable.
func withShortImages(body []byte) []byte {
	t := jsontree.ParseFirst(body)
	if t == nil {
		return body
	}
	shortenBase64(t)
	return t.AppendTo(nil)
}

// shortenBase64 cuts long texts of base64, such as images, in a value and its members.
func shortenBase64(t *jsontree.Value) {
	if data, at := t.Text, strings.LastIndexByte(t.Text, ','); t.Kind == '"' && len(data) > longTextBytes {
		prefix := ""
		if strings.HasPrefix(data, "data:") && at > 0 {
			prefix, data = data[:at+1], data[at+1:]
		}
		if !strings.ContainsAny(data[:longTextBytes/2], " \n") {
			t.Text = prefix + data[:base64Shown] + "…"
		}
	}
	for _, item := range t.Items {
		shortenBase64(item)
	}
}
