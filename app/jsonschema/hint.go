package jsonschema

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/jsontree"
)

// Hint is a setting in a request that the style takes and the model does not take, and without which the request still makes
// sense. Clients send such settings to every model alike.
type Hint struct {
	// Field is the path of the member, as in errors.
	Field string
	// At is the index in the body at which its value begins.
	At int
	// Value is the JSON value that the client sent.
	Value string
	// Instead is the JSON value to send in its place. It is empty when the member is to be left out.
	Instead string
	// Bound means that the member bounds the output.
	Bound bool
	// Thinking means that the member asks for thinking in a form that the model does not take. The rest of the request decides what
	// replaces it.
	Thinking bool
}

// Listed returns the hint as the list of dropped members shows it: its field, and both values where it has another.
func (h *Hint) Listed() string {
	if h.Instead == "" {
		return h.Field
	}
	return h.Field + "=" + strings.Trim(h.Value, `"`) + "->" + strings.Trim(h.Instead, `"`)
}

// effortNone is the effort that means no thinking. It is never the nearest to another effort.
const effortNone = "none"

// hint is the rule for a value that is checked twice: it must follow the schema of the style, and is a Hint when it does not
// follow the schema of the model.
type hint struct {
	style, model *Schema
	bound        bool
	thinking     bool
}

// hintSchema compiles both schemas of a hint.
func (c *compiler) hintSchema(s, base *jsontree.Value) (*Schema, error) {
	own := *s
	own.Names, own.Items = slices.Clone(s.Names), slices.Clone(s.Items)
	own.Delete(KeywordStyle)
	model, err := c.schema(&own)
	if err != nil {
		return nil, err
	}
	style, err := c.schema(base)
	if err != nil {
		return nil, err
	}
	n := *model
	n.hint = &hint{style: style, model: model, bound: s.GetString(KeywordHint) == HintBound, thinking: s.GetString(KeywordHint) == HintConvert}
	return &n, nil
}

// hint checks the value of a hint. It adds a Hint to the list when the model does not take the value.
func (c *checker) hint(h *hint) *app.Error {
	if !c.lenient {
		return c.value(h.model)
	}
	from := valueAt(c.body, c.dec.InputOffset())
	if e := c.value(h.style); e != nil {
		return e
	}
	value := c.body[from:c.dec.InputOffset()]
	if h.model.accepts(c.about, value) {
		return nil
	}
	c.hints = append(c.hints, Hint{
		Field: c.path(), At: from, Value: string(value), Instead: h.nearest(value), Bound: h.bound, Thinking: h.thinking,
	})
	return nil
}

// valueAt returns the index of the value that follows a name or an element.
func valueAt(body []byte, at int64) int {
	for at < int64(len(body)) {
		switch body[at] {
		case ' ', '\t', '\r', '\n', ':', ',':
			at++
		default:
			return int(at)
		}
	}
	return int(at)
}

// accepts reports whether a value that is correct JSON follows the schema.
func (s *Schema) accepts(about Subject, value []byte) bool {
	c := newChecker()
	defer c.release()
	return c.checkTwice(about, value, func() *app.Error { return c.value(s) }) == nil
}

// nearest returns the value that the model takes in place of another one, or the empty string when there is none.
func (h *hint) nearest(value []byte) string {
	switch kind := jsontext.Value(value).Kind(); {
	case h.model.unsupported != "":
		return ""
	case kind == jsontext.KindNumber:
		return h.nearestNumber(value)
	case kind == jsontext.KindString:
		return h.nearestString(value)
	}
	return ""
}

// nearestNumber returns the maximum of the model for a number above it.
func (h *hint) nearestNumber(value []byte) string {
	r := h.model.rules[typeNumber]
	if r == nil || r.maximum == nil {
		return ""
	}
	if exact, ok := parseDecimal(value); !ok || exact.compare(r.maximum.exact) <= 0 {
		return ""
	}
	return r.maximum.text
}

// nearestString returns the string that the model takes which is nearest to another one in the order of the style, and the lower of
// two that are equally near.
func (h *hint) nearestString(value []byte) string {
	all, some := h.style.rules[typeString], h.model.rules[typeString]
	if all == nil || some == nil {
		return ""
	}
	isAsked := func(l literal) bool { return l.kind == jsontext.KindString && `"`+l.text+`"` == string(value) }
	asked, best := slices.IndexFunc(all.literals, isAsked), -1
	if asked < 0 {
		return ""
	}
	for i := range all.literals {
		word := all.literals[i].text
		silent := word == effortNone || strings.HasSuffix(word, UnspecifiedSuffix)
		if all.literals[i].kind != jsontext.KindString || !some.lists(jsontext.KindString, []byte(word)) || silent && i != asked {
			continue
		}
		if best < 0 || max(i-asked, asked-i) < max(best-asked, asked-best) {
			best = i
		}
	}
	if best < 0 {
		return ""
	}
	return `"` + all.literals[best].text + `"`
}
