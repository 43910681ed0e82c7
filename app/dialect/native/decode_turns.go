package native

import (
	"bytes"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// decodeContents reads the conversation, and then settles the ids of its calls. What the model has said is read like
// an answer, since it comes back in the pieces in which it was streamed.
func (d *requestReader) decodeContents(in *request) error {
	var model decoder
	var said []llm.Event
	for i := range in.Contents {
		c := &in.Contents[i]
		d.drop(c.Rest)
		field := fmt.Sprintf("contents[%d]", i)
		switch c.Role {
		case "", "user", "function":
			said = d.endModel(&model, said)
			if err := d.decodeUser(c, field); err != nil {
				return err
			}
		case "model":
			for j := range c.Parts {
				p := &c.Parts[j]
				d.drop(p.Rest)
				if err := modelPart(p, fmt.Sprintf("%s.parts[%d]", field, j)); err != nil {
					return err
				}
				said = model.piece(said, &p.piece)
			}
		default:
			return invalid(field+".role", "must be user or model.")
		}
	}
	d.endModel(&model, said)
	matchIDs(d.out.Turns)
	return nil
}

// endModel adds what the model has said as one turn. What is empty says nothing.
func (d *requestReader) endModel(model *decoder, said []llm.Event) []llm.Event {
	said = model.close(said, "")
	if parts := llm.Fold(said).Parts; len(parts) > 0 {
		d.out.Turns = append(d.out.Turns, llm.Turn{Role: llm.Assistant, Parts: parts})
	}
	return said[:0]
}

// modelPart refuses what the turn of a model cannot hold.
func modelPart(p *part, field string) error {
	switch {
	case p.Response != nil:
		return invalid(field+".functionResponse", "must be in a turn of the user.")
	case p.Inline != nil:
		return unsupported(field+".inlineData", "its models say only text")
	case p.File != nil:
		return unsupported(field+".fileData", "its models say only text")
	case p.Call == nil:
		return nil
	case p.Call.Name == "":
		return invalid(field+".functionCall.name", "is required.")
	}
	if _, ok := p.Call.arguments(); !ok {
		return invalid(field+".functionCall.args", "must be an object.")
	}
	return nil
}

// decodeUser reads what the user says, in one turn with what the user has said right before.
func (d *requestReader) decodeUser(c *content, field string) error {
	var parts []llm.Part
	for j := range c.Parts {
		d.drop(c.Parts[j].Rest)
		p, err := d.decodePart(&c.Parts[j], fmt.Sprintf("%s.parts[%d]", field, j))
		if err != nil {
			return err
		}
		if p.Kind != 0 {
			parts = append(parts, p)
		}
	}
	if n := len(d.out.Turns); n > 0 && d.out.Turns[n-1].Role == llm.User {
		d.out.Turns[n-1].Parts = append(d.out.Turns[n-1].Parts, parts...)
	} else if len(parts) > 0 {
		d.out.Turns = append(d.out.Turns, llm.Turn{Role: llm.User, Parts: parts})
	}
	return nil
}

// decodePart reads one part of a user's turn. An empty one has no kind.
func (d *requestReader) decodePart(p *part, field string) (llm.Part, error) {
	switch {
	case p.Call != nil:
		return llm.Part{}, invalid(field+".functionCall", "must be in a turn of the model.")
	case p.Response != nil:
		return d.decodeResult(p.Response, field+".functionResponse")
	case p.Inline != nil || p.File != nil:
		return d.decodeMedia(p, field)
	}
	if text := p.text(); text != "" {
		return llm.Part{Kind: llm.Text, Text: text}, nil
	}
	return llm.Part{}, nil
}

// text is what a part says in words. The code that a model has run, and what came out, are fenced.
func (p *piece) text() string {
	switch {
	case p.Code != nil:
		return fenced(strings.ToLower(p.Code.Language), p.Code.Code)
	case p.Output != nil:
		return fenced("", p.Output.Output)
	}
	return p.Text
}

func fenced(language, text string) string {
	return "\n```" + language + "\n" + strings.TrimSuffix(text, "\n") + "\n```\n"
}

func (d *requestReader) decodeMedia(p *part, field string) (llm.Part, error) {
	var m llm.Media
	if p.Inline != nil {
		if p.Inline.Data == "" {
			return llm.Part{}, invalid(field+".inlineData.data", "must not be empty.")
		}
		d.drop(p.Inline.Rest)
		m = llm.Media{Type: p.Inline.Type, Data: standard(p.Inline.Data), Name: p.Inline.Name}
	} else {
		d.drop(p.File.Rest)
		m = llm.Media{Type: p.File.Type, URL: p.File.URI, Name: p.File.Name}
		if !strings.HasPrefix(m.URL, "https://") {
			return llm.Part{}, unsupported(field+".fileData", "it names a file that another provider keeps")
		}
	}
	kind := mediaKind(m.Type)
	if kind != llm.File {
		m.Name = ""
	}
	return llm.Part{Kind: kind, Media: m}, nil
}

func mediaKind(mediaType string) llm.PartKind {
	switch kind, _, _ := strings.Cut(strings.ToLower(mediaType), "/"); kind {
	case "image":
		return llm.Image
	case "audio":
		return llm.Audio
	case "video":
		return llm.Video
	}
	return llm.File
}

// decodeResult reads what a tool said. Its one member output or error is the text; otherwise the whole object is.
func (d *requestReader) decodeResult(f *functionResponse, field string) (llm.Part, error) {
	d.drop(f.Rest)
	r := llm.ToolResult{CallID: f.ID, Name: f.Name}
	if isSaid(f.Response) {
		text := f.Response
		count := 0
		for name, value := range members(f.Response) {
			count++
			switch name {
			case "error":
				r.Error = value.Kind() != 'n'
				text = value
			case "output":
				text = value
			}
		}
		if count != 1 {
			text = f.Response
		}
		if said := plain(text); said != "" {
			r.Parts = append(r.Parts, llm.Part{Kind: llm.Text, Text: said})
		}
	}
	for i := range f.Parts {
		p := &f.Parts[i]
		d.drop(p.Rest)
		if p.Inline == nil && p.File == nil {
			continue
		}
		media, err := d.decodeMedia(p, fmt.Sprintf("%s.parts[%d]", field, i))
		if err != nil {
			return llm.Part{}, err
		}
		r.Parts = append(r.Parts, media)
	}
	return llm.Part{Kind: llm.Result, Result: r}, nil
}

// plain is the text of a value: its own when it is one, and otherwise its JSON.
func plain(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		return unquote(bytes.TrimSpace(v))
	case 'n':
		return ""
	}
	return string(compact(v))
}

// members are the names of an object and their values, which are valid until the next. What is no object has none.
func members(v jsontext.Value) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		if v.Kind() != '{' {
			return
		}
		dec := jsontext.NewDecoder(bytes.NewBuffer(v), lenient)
		_, _ = dec.ReadToken()
		for dec.PeekKind() == '"' {
			raw, err := dec.ReadValue()
			if err != nil {
				return
			}
			name := unquote(raw)
			value, err := dec.ReadValue()
			if err != nil || !yield(name, value) {
				return
			}
		}
	}
}

// matchIDs gives an id to each call that has none, and to each result the id of its call: by the name of the tool and
// by order, as this wire does where the two have no id.
func matchIDs(turns []llm.Turn) {
	taken := map[string]bool{}
	for _, c := range calls(turns) {
		taken[c.ID] = true
	}
	n := 0
	mint := func() string {
		for {
			n++
			if id := "call_" + strconv.Itoa(n); !taken[id] {
				return id
			}
		}
	}
	open := newOpenCalls(nil) // of the last turn that has calls
	for i := range turns {
		asked := calls(turns[i : i+1])
		for _, c := range asked {
			if c.ID == "" {
				c.ID = mint()
			}
		}
		if len(asked) > 0 {
			open = newOpenCalls(asked)
		}
		var unmatched []*llm.ToolResult
		for j := range turns[i].Parts {
			p := &turns[i].Parts[j]
			if p.Kind == llm.Result && !open.take(&p.Result, open.byID, p.Result.CallID) {
				unmatched = append(unmatched, &p.Result)
			}
		}
		for _, r := range unmatched {
			if !open.take(r, open.byName, r.Name) && r.CallID == "" {
				r.CallID = mint()
			}
		}
	}
}

// openCalls are calls of which some have no result yet, in order, under what a result may say of them. Under no name
// are all of them.
type openCalls struct {
	byID, byName map[string][]*llm.ToolCall
	answered     map[*llm.ToolCall]bool
}

func newOpenCalls(all []*llm.ToolCall) *openCalls {
	o := &openCalls{byID: map[string][]*llm.ToolCall{}, byName: map[string][]*llm.ToolCall{"": all}, answered: map[*llm.ToolCall]bool{}}
	for _, c := range all {
		o.byID[c.ID] = append(o.byID[c.ID], c)
		o.byName[c.Name] = append(o.byName[c.Name], c)
	}
	return o
}

// take gives a result to the first call under a key that has none. It reports false when there is no such call.
func (o *openCalls) take(r *llm.ToolResult, by map[string][]*llm.ToolCall, key string) bool {
	left := by[key]
	for len(left) > 0 && o.answered[left[0]] {
		left = left[1:]
	}
	by[key] = left
	if len(left) == 0 {
		return false
	}
	o.answered[left[0]] = true
	r.CallID, r.Name = left[0].ID, left[0].Name
	return true
}

// calls lists the calls of some turns.
func calls(turns []llm.Turn) []*llm.ToolCall {
	var list []*llm.ToolCall
	for i := range turns {
		for j := range turns[i].Parts {
			if p := &turns[i].Parts[j]; p.Kind == llm.Call {
				list = append(list, &p.Call)
			}
		}
	}
	return list
}
