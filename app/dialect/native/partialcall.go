package native

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

const (
	// partialBytesMax bounds the arguments of a call that comes in pieces.
	partialBytesMax = 4 << 20
	// partialDepthMax bounds the depth of such arguments.
	partialDepthMax = 64
)

// partialCall has the arguments of a call that comes in pieces. Each piece has a path and a value at that path.
type partialCall struct {
	arguments argument
	// bytes is what the pieces have so far.
	bytes int
}

// argument is a value among the arguments of a call: an object, a list, a string or another value. The zero value is an empty object.
type argument struct {
	kind argumentKind
	// names are those of the values of an object.
	names  []string
	values []argument
	// text is a string, or another value as JSON.
	text []byte
	// continues means that the next piece of the string is added to it.
	continues bool
}

type argumentKind uint8

const (
	objectArgument argumentKind = iota
	listArgument
	stringArgument
	otherArgument
)

// partialArgument is a piece of the arguments.
type partialArgument struct {
	Path   string         `json:"jsonPath"`
	String *string        `json:"stringValue"`
	Number jsontext.Value `json:"numberValue"`
	Bool   *bool          `json:"boolValue"`
	Null   jsontext.Value `json:"nullValue"`
	More   bool           `json:"willContinue"`
}

// add adds the pieces of a frame. It reports false when they are not pieces of an object, or too much.
func (p *partialCall) add(pieces jsontext.Value) bool {
	if llm.IsNull(pieces) {
		return true
	}
	p.bytes += len(pieces)
	var list []partialArgument
	if p.bytes > partialBytesMax || json.Unmarshal(pieces, &list, llm.Lenient) != nil {
		return false
	}
	for i := range list {
		at, ok := p.arguments.find(list[i].Path)
		if !ok || !at.set(&list[i]) {
			return false
		}
	}
	return true
}

// find returns the value at a path such as $.a.b[0]['c'], and adds what is missing on the way.
func (a *argument) find(path string) (at *argument, ok bool) {
	rest, ok := strings.CutPrefix(path, "$")
	if !ok || rest == "" {
		return nil, false
	}
	at = a
	for range partialDepthMax {
		if rest == "" {
			return at, true
		}
		var name string
		index, isIndex := 0, false
		switch {
		case strings.HasPrefix(rest, "['"), strings.HasPrefix(rest, `["`):
			name, rest, ok = strings.Cut(rest[2:], rest[1:2]+"]")
		case rest[0] == '[':
			name, rest, ok = strings.Cut(rest[1:], "]")
			number, err := strconv.Atoi(name)
			index, isIndex, ok = number, true, ok && err == nil
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[") + 1
			if end == 0 {
				end = len(rest)
			}
			name, rest, ok = rest[1:end], rest[end:], end > 1
		default:
			ok = false
		}
		if !ok {
			return nil, false
		}
		if isIndex {
			at = at.element(index)
		} else {
			at = at.member(name)
		}
		if at == nil {
			return nil, false
		}
	}
	return nil, false
}

// element returns an element of a list, which may be the next one. It returns nil when the value is no list.
func (a *argument) element(index int) *argument {
	if a.kind == objectArgument && len(a.values) == 0 {
		a.kind = listArgument
	}
	if a.kind != listArgument || index < 0 || index > len(a.values) {
		return nil
	}
	if index == len(a.values) {
		a.values = append(a.values, argument{})
	}
	return &a.values[index]
}

// member returns a member of an object. It returns nil when the value is no object.
func (a *argument) member(name string) *argument {
	if a.kind != objectArgument {
		return nil
	}
	for i := range a.names {
		if a.names[i] == name {
			return &a.values[i]
		}
	}
	a.names, a.values = append(a.names, name), append(a.values, argument{})
	return &a.values[len(a.values)-1]
}

// set sets the value to that of a piece, or adds the piece to the string.
func (a *argument) set(p *partialArgument) bool {
	switch {
	case len(a.values) > 0:
		return false
	case p.String != nil:
		if a.kind != stringArgument || !a.continues {
			a.text = a.text[:0]
		}
		a.kind, a.text, a.continues = stringArgument, append(a.text, *p.String...), p.More
		return true
	case p.Number.Kind() == '0':
		a.text = p.Number.Clone()
	case p.Bool != nil:
		a.text = strconv.AppendBool(nil, *p.Bool)
	case !llm.IsNull(p.Null):
		a.text = []byte("null")
	default:
		return p.More // The value comes with the next piece.
	}
	a.kind = otherArgument
	return true
}

// append appends the value as JSON.
func (a *argument) append(dst []byte) []byte {
	switch a.kind {
	case stringArgument:
		return llm.Quote(dst, strings.ToValidUTF8(string(a.text), "\ufffd"))
	case otherArgument:
		return append(dst, a.text...)
	case listArgument:
		return append(a.appendValues(append(dst, '[')), ']')
	case objectArgument:
	}
	return append(a.appendValues(append(dst, '{')), '}')
}

func (a *argument) appendValues(dst []byte) []byte {
	for i := range a.values {
		if i > 0 {
			dst = append(dst, ',')
		}
		if a.kind == objectArgument {
			dst = append(llm.Quote(dst, strings.ToValidUTF8(a.names[i], "\ufffd")), ':')
		}
		dst = a.values[i].append(dst)
	}
	return dst
}
