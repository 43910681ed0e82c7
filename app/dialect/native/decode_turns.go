package native

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// decodeContents reads the conversation, and then matches the ids of its calls. It reads turns of the model like an answer, because
// they come back in the pieces in which they were streamed.
func (d *requestDecoder) decodeContents(in *request) error {
	var model decoder
	var events []llm.Event
	for i := range in.Contents {
		c := &in.Contents[i]
		d.drop(c.Rest)
		field := fmt.Sprintf("contents[%d]", i)
		switch c.Role {
		case "", "user", "function":
			events = d.endModel(&model, events)
			if err := d.decodeUser(c, field); err != nil {
				return err
			}
		case "model":
			d.model = cmp.Or(d.model, field)
			for j := range c.Parts {
				p := &c.Parts[j]
				d.drop(p.Rest)
				if err := d.modelPart(p, fmt.Sprintf("%s.parts[%d]", field, j)); err != nil {
					return err
				}
				events = model.piece(events, &p.piece)
			}
		default:
			return invalid(field+".role", "must be user or model.")
		}
	}
	d.endModel(&model, events)
	matchIDs(d.out.Turns)
	return nil
}

// endModel adds the turn of the model from its events, unless it is empty. It returns the buffer of the events.
func (d *requestDecoder) endModel(model *decoder, events []llm.Event) []llm.Event {
	events = model.close(events, "")
	if parts := llm.Fold(events).Parts; len(parts) > 0 {
		n := 0
		for i := range parts {
			// In this style, a part holds a whole call.
			if parts[i].Place.Path = d.model; parts[i].Kind == llm.Call {
				parts[i].Place = d.calls[n]
				n++
			}
		}
		d.out.Turns = append(d.out.Turns, llm.Turn{Role: llm.Assistant, Parts: parts})
	}
	d.model, d.calls = "", d.calls[:0]
	return events[:0]
}

// modelPart refuses a part that a turn of the model cannot have.
func (d *requestDecoder) modelPart(p *part, field string) error {
	call := field + "." + d.clientName("functionCall")
	switch {
	case p.Response != nil:
		return invalid(field+"."+d.clientName("functionResponse"), "must be in a turn of the user.")
	case p.Inline != nil:
		return unsupported(field+"."+d.clientName("inlineData"), "its models say only text")
	case p.File != nil:
		return unsupported(field+"."+d.clientName("fileData"), "its models say only text")
	case p.Call == nil:
		return d.checkOneKind(p, field)
	case p.Call.Name == "":
		return invalid(call+".name", "is required.")
	}
	if _, ok := p.Call.arguments(); !ok {
		return invalid(call+".args", "must be an object.")
	}
	if err := d.checkOneKind(p, field); err != nil {
		return err
	}
	d.calls = append(d.calls, placeOf(call, p.Call.ID))
	return nil
}

// placeOf returns the place of a call or of a response, which is the path of its id if it has one.
func placeOf(field, id string) llm.Place {
	if id != "" {
		field += ".id"
	}
	return llm.Place{Path: field, ID: id}
}

// clientName returns the name of a member in the spelling of the client.
func (d *requestDecoder) clientName(name string) string {
	if own, ok := d.snake[name]; ok {
		return own
	}
	return name
}

// decodeUser adds the parts of the user. Consecutive contents of the user are one turn.
func (d *requestDecoder) decodeUser(c *content, field string) error {
	var parts []llm.Part
	for j := range c.Parts {
		p, err := d.decodePart(&c.Parts[j], fmt.Sprintf("%s.parts[%d]", field, j))
		if err != nil {
			return err
		}
		if p.Kind != 0 {
			parts = append(parts, p)
		}
	}
	d.out.AddTurn(llm.User, parts...)
	return nil
}

// decodePart reads one part of a user's turn. The kind of an empty part is zero.
func (d *requestDecoder) decodePart(p *part, field string) (llm.Part, error) {
	if err := d.checkPart(p, field); err != nil {
		return llm.Part{}, err
	}
	switch {
	case p.Call != nil:
		return llm.Part{}, invalid(field+"."+d.clientName("functionCall"), "must be in a turn of the model.")
	case p.Response != nil:
		return d.decodeResult(p.Response, field+"."+d.clientName("functionResponse"))
	case p.Inline != nil || p.File != nil:
		return d.decodeMedia(p, field)
	}
	if text := p.text(); text != "" {
		return llm.TextPart(text, field), nil
	}
	return llm.Part{}, nil
}

// kinds returns the members of a part that say what it is. A valid part has one.
func (p *part) kinds() []string {
	var list []string
	for _, one := range [...]struct {
		name  string
		isSet bool
	}{
		{"text", p.Text != ""}, {"functionCall", p.Call != nil}, {"functionResponse", p.Response != nil}, {"inlineData", p.Inline != nil},
		{"fileData", p.File != nil}, {"executableCode", p.Code != nil}, {"codeExecutionResult", p.Output != nil},
	} {
		if one.isSet {
			list = append(list, one.name)
		}
	}
	return list
}

// checkPart refuses a part that is several things at once, and a part of an unknown kind, because only one of the things or nothing
// would be carried.
func (d *requestDecoder) checkPart(p *part, field string) error {
	if err := d.checkOneKind(p, field); err != nil {
		return err
	}
	if len(p.kinds()) == 0 {
		for name, value := range members(p.Rest) {
			if value.Kind() != 'n' && !partMetadata[name] {
				return unsupported(field+"."+name, "it has no place in other styles")
			}
		}
	}
	d.drop(p.Rest)
	return nil
}

// checkOneKind refuses a part that is several things at once.
func (d *requestDecoder) checkOneKind(p *part, field string) error {
	kinds := p.kinds()
	if len(kinds) < 2 {
		return nil
	}
	return invalid(field+"."+d.clientName(kinds[1]), "stands beside %s; a part is one of the two, so send each in a part of its own.",
		d.clientName(kinds[0]))
}

// partMetadata are the members that describe a part and mean nothing alone.
var partMetadata = map[string]bool{
	"videoMetadata": true, "video_metadata": true, "mediaResolution": true, "media_resolution": true, "partMetadata": true,
	"part_metadata": true, "speechMetadata": true, "speech_metadata": true,
}

// text returns the text of a part. Code that the provider ran and its output become fenced code.
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

func (d *requestDecoder) decodeMedia(p *part, field string) (llm.Part, error) {
	var m llm.Media
	inline, file := field+"."+d.clientName("inlineData"), field+"."+d.clientName("fileData")
	at := file
	if p.Inline != nil {
		at = inline
		if p.Inline.Data == "" {
			return llm.Part{}, invalid(inline+".data", "must not be empty.")
		}
		d.drop(p.Inline.Rest)
		m = llm.Media{Type: p.Inline.Type, Data: standard(p.Inline.Data), Name: p.Inline.Name}
	} else {
		d.drop(p.File.Rest)
		m = llm.Media{Type: p.File.Type, URL: p.File.URI, Name: p.File.Name}
		if !strings.HasPrefix(m.URL, "https://") {
			return llm.Part{}, unsupported(file, "it names a file that another provider keeps")
		}
	}
	kind := mediaKind(m.Type)
	if kind != llm.File {
		m.Name = ""
	}
	return llm.Part{Kind: kind, Media: m, Place: llm.Place{Path: at}}, nil
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

// decodeResult reads the result of a tool. The text is the value of its only member output or error, and otherwise the whole object.
func (d *requestDecoder) decodeResult(f *functionResponse, field string) (llm.Part, error) {
	d.drop(f.Rest)
	r := llm.ToolResult{CallID: f.ID, Name: f.Name}
	if !llm.IsNull(f.Response) {
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
		if plain := textOf(text); plain != "" {
			r.Parts = append(r.Parts, llm.TextPart(plain, field+".response"))
		}
	}
	for i := range f.Parts {
		p, at := &f.Parts[i], fmt.Sprintf("%s.parts[%d]", field, i)
		part, err := d.decodePart(p, at)
		switch {
		case err != nil:
			return llm.Part{}, err
		case part.Kind == llm.Result:
			return llm.Part{}, invalid(at+"."+d.clientName("functionResponse"), "cannot stand inside of another one.")
		case part.Kind != 0:
			r.Parts = append(r.Parts, part)
		}
	}
	return llm.Part{Kind: llm.Result, Result: r, Place: placeOf(field, f.ID)}, nil
}

// textOf returns a string, or the JSON of another value.
func textOf(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		return unquote(bytes.TrimSpace(v))
	case 'n':
		return ""
	}
	return string(compact(v))
}

// members returns the names and the values of an object. A value is valid until the next one. Other values have no members.
func members(v jsontext.Value) iter.Seq2[string, jsontext.Value] {
	return func(yield func(string, jsontext.Value) bool) {
		if v.Kind() != '{' {
			return
		}
		dec := jsontext.NewDecoder(bytes.NewBuffer(v), llm.Lenient)
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

// matchIDs gives an id to each call without one, and to each result the id of its call. Without ids, this style matches results by the name
// of the tool and by order.
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
	// open has the calls of the last turn with calls.
	open := newOpenCalls(nil)
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

// openCalls are the calls of a turn, by what a result may name. The empty name has all of them.
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

// take matches a result with the first call under a key that has no result. It reports false when there is none.
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
