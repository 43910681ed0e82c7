package jsonschema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
)

const (
	// excerptCharactersMax bounds what an error repeats of the body.
	excerptCharactersMax = 40
	// paramBytesMax bounds the path in an error; names in it come from the body.
	paramBytesMax = 256

	codeInvalid     = "invalid_request_error"
	codeInvalidJSON = "invalid_json"
)

// fail returns the error for the value read last, or for a member of it. The message starts with the path.
func (c *checker) fail(at, format string, args ...any) *app.Error {
	if !c.dec.isExact {
		return &c.stopped
	}
	subject := at
	if subject == "" {
		subject = "The body"
	}
	e := app.Errorf(app.Invalid, codeInvalid, "%s %s", subject, fmt.Sprintf(format, args...)).At(at)
	e.Doc = c.about.Doc
	return e
}

func (c *checker) invalidJSON(offset int64, reason string) *app.Error {
	if !c.dec.isExact {
		return &c.stopped
	}
	before := c.body[:min(int(offset), len(c.body))]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	e := app.Errorf(app.Invalid, codeInvalidJSON, "The body is not valid JSON: %s at byte %d (line %d, column %d).",
		strings.ToValidUTF8(reason, "?"), offset, line, column)
	e.Doc = c.about.Doc
	return e
}

// notAnObject returns the error for an empty body, for broken JSON or for a JSON value of another type.
func (c *checker) notAnObject() *app.Error {
	if !c.dec.isExact {
		return &c.stopped
	}
	kind := c.dec.PeekKind()
	if e := c.skip(kind); e != nil {
		if len(bytes.TrimSpace(c.body)) == 0 {
			return c.invalidJSON(int64(len(c.body)), "it is empty")
		}
		return e
	}
	if err := c.dec.ReadEnd(); !errors.Is(err, io.EOF) {
		return c.syntax(err)
	}
	return c.fail("", "must be a JSON object, not %s.", kindName(kind))
}

func (c *checker) notANumber(raw []byte) *app.Error {
	return c.invalidJSON(c.dec.InputOffset()-int64(len(raw)),
		fmt.Sprintf("the number %s is outside the range of a 64-bit float", Excerpt(raw)))
}

// refuse returns the error for a value that the schema does not allow. For a member that the model does not support it returns that
// error instead.
func (c *checker) refuse(n *Schema, format string, args ...any) *app.Error {
	if n.unsupported != "" {
		return c.notSupported(n)
	}
	return c.fail(c.path(), format, args...)
}

func (c *checker) wrongType(n *Schema, kind jsontext.Kind, raw []byte) *app.Error {
	found := kindName(kind)
	if kind != jsontext.KindNull && raw != nil {
		found += " (" + Excerpt(raw) + ")"
	}
	return c.refuse(n, "must be %s, not %s.", n.allowed(), found)
}

func (c *checker) notListed(n *Schema, raw []byte) *app.Error {
	return c.refuse(n, "must be %s, not %s.", n.allowed(), Excerpt(raw))
}

func (c *checker) notSupported(n *Schema) *app.Error {
	advice := "Leave it out"
	if allowed := n.allowed(); allowed != "null" {
		advice += ", or send " + allowed
	}
	switch {
	case n.notOffered != "" && n.instead != "":
		return c.fail(c.path(), "asks for %s, which this gateway does not offer for any model. %s", n.notOffered, n.instead)
	case n.notOffered != "":
		return c.fail(c.path(), "asks for %s, which this gateway does not offer for any model. %s.", n.notOffered, advice)
	case n.unsupported == UnsupportedStyle:
		return c.fail(c.path(), "cannot be used with the model %s in this style: none of its providers can carry it. %s.",
			c.about.Model, advice)
	}
	return c.fail(c.path(), "is not supported by the model %s. %s.", c.about.Model, advice)
}

// missing returns the error for a required member that the object read last does not have.
func (c *checker) missing(o *object, i int) *app.Error {
	m, must := o.members[i], "."
	if !m.schema.free {
		must = "; it must be " + m.schema.allowed() + "."
	}
	e := c.fail(under(c.path(), m.name), "is required%s", must)
	e.Missing = true
	return e
}

// unmet returns the error for a condition. It lists what the alternatives require; the first of them gives the path.
func (c *checker) unmet(o *object, cond condition, states *[membersMax]byte) *app.Error {
	var alternatives []string
	subject, missing := "", false
	for _, a := range cond {
		var conditions []string
		for _, s := range a.types {
			name := o.members[s.member].name
			if subject == "" {
				subject, missing = name, states[s.member] == stateAbsent && len(a.types) == 1
			}
			conditions = append(conditions, name+" ("+statesName(s.states)+")")
		}
		alternatives = append(alternatives, strings.Join(conditions, " and "))
	}
	if missing && len(alternatives) > 1 {
		e := c.fail(under(c.path(), subject), "is required: the object needs %s.", anyOf(alternatives))
		e.Missing = true
		return e
	}
	return c.fail(under(c.path(), subject), "does not go with the other fields of its object. Needed is %s.", anyOf(alternatives))
}

// path is the path of the value read last, such as messages[2].content[0].type.
func (c *checker) path() string { return c.pathOf(c.dec.StackPointer()) }

func (c *checker) pathOf(p jsontext.Pointer) string {
	var b strings.Builder
	level := 0
	for token := range p.Tokens() {
		level++
		kind := jsontext.KindBeginObject
		if level <= c.dec.StackDepth() {
			kind = c.dec.StackKind(level)
		}
		if kind == jsontext.KindBeginArray {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(strings.ToValidUTF8(token, "?"))
		if b.Len() > paramBytesMax {
			return app.Truncate(b.String(), paramBytesMax)
		}
	}
	return b.String()
}

func under(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// allowed describes all values that the schema allows.
func (n *Schema) allowed() string {
	var alternatives []string
	for _, s := range [...]jsonType{typeString, typeNumber, typeBool, typeArray, typeObject, typeNull} {
		r := n.rules[s]
		switch {
		case r == nil:
		case r.literals != nil:
			for _, l := range r.literals {
				if l.kind == jsontext.KindString {
					alternatives = append(alternatives, strconv.Quote(l.text))
				} else {
					alternatives = append(alternatives, l.text)
				}
			}
		case s == typeNumber:
			alternatives = append(alternatives, r.numberName()+r.span())
		case s == typeArray && r.lengthMax == 0:
			alternatives = append(alternatives, "an empty array")
		default:
			alternatives = append(alternatives, typeNames[s])
		}
	}
	return anyOf(alternatives)
}

var typeNames = [typeCount]string{"null", "a boolean", "a number", "a string", "an array", "an object"}

func kindName(k jsontext.Kind) string { return typeNames[typeOf(k)] }

func statesName(states string) string {
	var names []string
	switch states {
	case "t":
		return "true"
	case "f":
		return "false"
	}
	for _, s := range strings.Replace(states, "tf", "t", 1) {
		if s != stateEmptyArray {
			names = append(names, kindName(jsontext.Kind(s)))
		}
	}
	return anyOf(names)
}

func (r *typeRule) numberName() string {
	if r.integer {
		return "an integer"
	}
	return "a number"
}

// span describes the range of a number, with a space before it.
func (r *typeRule) span() string {
	switch {
	case r.minimum != nil && r.maximum != nil:
		return " from " + r.minimum.text + " to " + r.maximum.text
	case r.minimum != nil:
		return " of at least " + r.minimum.text
	case r.maximum != nil:
		return " of at most " + r.maximum.text
	case r.above != nil && r.below != nil:
		return " between " + r.above.text + " and " + r.below.text
	case r.above != nil:
		return " greater than " + r.above.text
	case r.below != nil:
		return " less than " + r.below.text
	default:
		return ""
	}
}

func countSpan(r *typeRule, unit string) string {
	switch {
	case r.lengthMax < 0:
		return "at least " + plural(r.lengthMin, unit)
	case r.lengthMin <= 0:
		return "at most " + plural(r.lengthMax, unit)
	default:
		return strconv.Itoa(r.lengthMin) + " to " + plural(r.lengthMax, unit)
	}
}

func plural(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return strconv.Itoa(n) + " " + unit + "s"
}

// QuotedList joins quoted values for a sentence: "a", "b" or "c".
func QuotedList(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = strconv.Quote(v)
	}
	return anyOf(quoted)
}

// anyOf joins alternatives for a sentence: a, b or c.
func anyOf(alternatives []string) string {
	if len(alternatives) < 2 {
		return strings.Join(alternatives, "")
	}
	last := len(alternatives) - 1
	return strings.Join(alternatives[:last], ", ") + " or " + alternatives[last]
}

// Excerpt returns the beginning of a value for an error message.
func Excerpt(raw []byte) string {
	return strings.ToValidUTF8(app.Truncate(string(raw[:min(len(raw), 4*excerptCharactersMax+1)]), excerptCharactersMax), "?")
}
