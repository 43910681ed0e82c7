package codesample

import (
	"bytes"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// notation is how a language writes JSON values.
type notation struct {
	null, yes, no string
	key           func(name string) string
}

var (
	jsonNotation   = notation{"null", "true", "false", func(name string) string { return Quote(name) + ": " }}
	pythonNotation = notation{"None", "True", "False", func(name string) string { return Quote(name) + ": " }}
	scriptNotation = notation{"null", "true", "false", func(name string) string {
		if plainName(name) {
			return name + ": "
		}
		return Quote(name) + ": "
	}}
)

func plainName(s string) bool {
	for i, r := range s {
		if r > unicode.MaxASCII || r != '_' && !unicode.IsLetter(r) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != ""
}

// literalLineMax is the length, in characters, up to which an object or array is written on one line.
const literalLineMax = 64

// member is one member of a JSON object, with its value as raw JSON.
type member struct {
	name  string
	value jsontext.Value
}

// membersOf are the members of a JSON object in their order; none when it is no object.
func membersOf(object []byte) []member {
	dec := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowDuplicateNames(true))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != jsontext.KindBeginObject {
		return nil
	}
	var members []member
	for dec.PeekKind() == jsontext.KindString {
		name, err := dec.ReadToken()
		if err != nil {
			return members
		}
		m := member{name: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			return members
		}
		m.value = value.Clone()
		members = append(members, m)
	}
	return members
}

func itemsOf(array []byte) []jsontext.Value {
	dec := jsontext.NewDecoder(bytes.NewReader(array))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != jsontext.KindBeginArray {
		return nil
	}
	var items []jsontext.Value
	for dec.PeekKind() != jsontext.KindEndArray {
		v, err := dec.ReadValue()
		if err != nil {
			return items
		}
		items = append(items, v.Clone())
	}
	return items
}

// literal writes a JSON value in a language, broken into lines where one would be long. The first line goes where the
// caller stands; the others are indented by depth steps.
func (n notation) literal(value jsontext.Value, depth int, step string) string {
	switch value.Kind() {
	case jsontext.KindNull:
		return n.null
	case jsontext.KindTrue:
		return n.yes
	case jsontext.KindFalse:
		return n.no
	case jsontext.KindNumber:
		return string(value)
	case jsontext.KindString:
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return `""`
		}
		return Quote(string(text))
	}
	opening, closing := "{", "}"
	var parts []string
	if value.Kind() == jsontext.KindBeginArray {
		opening, closing = "[", "]"
		for _, item := range itemsOf(value) {
			parts = append(parts, n.literal(item, depth+1, step))
		}
	} else {
		for _, m := range membersOf(value) {
			parts = append(parts, n.key(m.name)+n.literal(m.value, depth+1, step))
		}
	}
	return wrapped(opening, closing, parts, depth, step)
}

// wrapped puts parts on one line, or each on a line of its own.
func wrapped(opening, closing string, parts []string, depth int, step string) string {
	line := strings.Join(parts, ", ")
	if len(parts) == 0 || len(line) <= literalLineMax && !strings.Contains(line, "\n") {
		if opening == "{" && len(parts) > 0 && !strings.HasPrefix(line, `"`) {
			return "{ " + line + " }"
		}
		return opening + line + closing
	}
	inner := "\n" + strings.Repeat(step, depth+1)
	return opening + inner + strings.Join(parts, ","+inner) + "\n" + strings.Repeat(step, depth) + closing
}

// Pretty is a JSON value over several lines.
func Pretty(value []byte, step string) string {
	return jsonNotation.literal(jsontext.Value(bytes.TrimSpace(value)), 0, step)
}

// goText writes text as a Go string, raw where that is possible.
func goText(s string) string {
	if strings.ContainsRune(s, '`') || !strconv.CanBackquote(strings.NewReplacer("\n", "", "\t", "").Replace(s)) {
		return strconv.Quote(s)
	}
	return "`" + s + "`"
}

// ShellText writes text between single quotes.
func ShellText(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// keywords writes the members of a request as keyword arguments of a Python call.
func keywords(body []byte) string {
	var b strings.Builder
	var rest []string
	for _, m := range membersOf(body) {
		value := pythonNotation.literal(m.value, 1, "    ")
		if plainName(m.name) && !pythonWords[m.name] {
			b.WriteString("    " + m.name + "=" + value + ",\n")
		} else {
			rest = append(rest, Quote(m.name)+": "+value)
		}
	}
	if len(rest) > 0 {
		b.WriteString("    extra_body={" + strings.Join(rest, ", ") + "},\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// pythonWords cannot name an argument.
var pythonWords = map[string]bool{"from": true, "class": true, "import": true, "is": true, "in": true, "and": true, "or": true, "not": true}
