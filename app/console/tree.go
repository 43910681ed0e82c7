package console

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// tree is one JSON value that keeps the order of its members: contracts are shown in the order they were written in,
// and requests are sent in the order they are shown in. A nil tree has no members, so that look-ups chain.
type tree struct {
	kind  jsontext.Kind
	text  string // a string decoded, or a number as it was written
	names []string
	items []*tree
}

// parseTree reads one JSON value, nil when it is none.
func parseTree(b []byte) *tree {
	t, err := readTree(jsontext.NewDecoder(bytes.NewReader(b)))
	if err != nil {
		return nil
	}
	return t
}

func readTree(dec *jsontext.Decoder) (*tree, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	t := &tree{kind: token.Kind()}
	if t.kind == jsontext.KindString || t.kind == jsontext.KindNumber {
		t.text = token.String()
	}
	if t.kind != jsontext.KindBeginObject && t.kind != jsontext.KindBeginArray {
		return t, nil
	}
	for dec.PeekKind() != jsontext.KindEndObject && dec.PeekKind() != jsontext.KindEndArray {
		if t.kind == jsontext.KindBeginObject {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			t.names = append(t.names, name.String())
		}
		item, err := readTree(dec)
		if err != nil {
			return nil, err
		}
		t.items = append(t.items, item)
	}
	_, err = dec.ReadToken()
	return t, err
}

// get is the member called name, or nil.
func (t *tree) get(name string) *tree {
	if t == nil {
		return nil
	}
	for i, n := range t.names {
		if n == name {
			return t.items[i]
		}
	}
	return nil
}

// list are the items of an array; none of anything else.
func (t *tree) list() []*tree {
	if t == nil || t.kind != jsontext.KindBeginArray {
		return nil
	}
	return t.items
}

// word is the text of a string or a number, or the word of a boolean or null; empty for nil, objects and arrays.
func (t *tree) word() string {
	switch {
	case t == nil:
		return ""
	case t.kind == jsontext.KindString || t.kind == jsontext.KindNumber:
		return t.text
	case t.kind == jsontext.KindTrue || t.kind == jsontext.KindFalse || t.kind == jsontext.KindNull:
		return t.kind.String()
	}
	return ""
}

// words are those of an array's items, or the one of a value that is no array.
func (t *tree) words() []string {
	if t == nil {
		return nil
	}
	if t.kind != jsontext.KindBeginArray {
		return []string{t.word()}
	}
	words := make([]string, len(t.items))
	for i, item := range t.items {
		words[i] = item.word()
	}
	return words
}

// put sets the member at a path such as reasoning.effort, making the objects on the way.
func (t *tree) put(path string, value *tree) {
	name, rest, nested := strings.Cut(path, ".")
	if !nested {
		t.set(name, value)
		return
	}
	inner := t.get(name)
	if inner == nil || inner.kind != jsontext.KindBeginObject {
		inner = &tree{kind: jsontext.KindBeginObject}
		t.set(name, inner)
	}
	inner.put(rest, value)
}

func (t *tree) set(name string, value *tree) {
	for i, n := range t.names {
		if n == name {
			t.items[i] = value
			return
		}
	}
	t.names, t.items = append(t.names, name), append(t.items, value)
}

// append prints the value as compact JSON.
func (t *tree) append(dst []byte) []byte {
	switch t.kind {
	case jsontext.KindString:
		return appendText(dst, t.text)
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		closing := byte('}')
		if t.kind == jsontext.KindBeginArray {
			closing = ']'
		}
		dst = append(dst, byte(t.kind))
		for i, item := range t.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			if len(t.names) > 0 {
				dst = append(appendText(dst, t.names[i]), ':')
			}
			dst = item.append(dst)
		}
		return append(dst, closing)
	}
	return append(dst, t.word()...)
}

// appendText prints a JSON string. Bytes that are not UTF-8 become the replacement character, which is the only error
// there is.
func appendText(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

func textTree(s string) *tree { return &tree{kind: jsontext.KindString, text: s} }

func boolTree(b bool) *tree {
	if b {
		return &tree{kind: jsontext.KindTrue}
	}
	return &tree{kind: jsontext.KindFalse}
}
