// Package jsontree holds JSON values whose objects keep the order of their members. Read and Parse make a Tree, and its methods look up,
// change and print it.
package jsontree

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Tree is one JSON value. The members of an object stay in the order in which they were read or set. A nil Tree has no members, so
// that look-ups chain.
type Tree struct {
	Kind  jsontext.Kind
	Text  string   // decoded text of a string, or a number as it was written
	Names []string // names of the members of an object
	Items []*Tree  // values of the members, or items of an array
}

// Parse reads the first JSON value of b. It returns nil when there is none.
func Parse(b []byte) *Tree {
	t, err := Read(jsontext.NewDecoder(bytes.NewReader(b)))
	if err != nil {
		return nil
	}
	return t
}

// Read reads one JSON value.
func Read(dec *jsontext.Decoder) (*Tree, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	t := &Tree{Kind: token.Kind()}
	if t.Kind == jsontext.KindString || t.Kind == jsontext.KindNumber {
		t.Text = token.String()
	}
	if t.Kind != jsontext.KindBeginObject && t.Kind != jsontext.KindBeginArray {
		return t, nil
	}
	for dec.PeekKind() != jsontext.KindEndObject && dec.PeekKind() != jsontext.KindEndArray {
		if t.Kind == jsontext.KindBeginObject {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			t.Names = append(t.Names, name.String())
		}
		item, err := Read(dec)
		if err != nil {
			return nil, err
		}
		t.Items = append(t.Items, item)
	}
	_, err = dec.ReadToken()
	return t, err
}

// Get returns the member of an object by name, or nil.
func (t *Tree) Get(name string) *Tree {
	if t == nil {
		return nil
	}
	for i, n := range t.Names {
		if n == name {
			return t.Items[i]
		}
	}
	return nil
}

// List returns the items of an array, and nothing for other values.
func (t *Tree) List() []*Tree {
	if t == nil || t.Kind != jsontext.KindBeginArray {
		return nil
	}
	return t.Items
}

// Word returns the text of a string or number, or "true", "false" or "null". It returns an empty string for nil, objects and arrays.
func (t *Tree) Word() string {
	switch {
	case t == nil:
		return ""
	case t.Kind == jsontext.KindString || t.Kind == jsontext.KindNumber:
		return t.Text
	case t.Kind == jsontext.KindTrue || t.Kind == jsontext.KindFalse || t.Kind == jsontext.KindNull:
		return t.Kind.String()
	}
	return ""
}

// Words returns the words of the items of an array. For another value it returns the word of that value.
func (t *Tree) Words() []string {
	if t == nil {
		return nil
	}
	if t.Kind != jsontext.KindBeginArray {
		return []string{t.Word()}
	}
	words := make([]string, len(t.Items))
	for i, item := range t.Items {
		words[i] = item.Word()
	}
	return words
}

// Put sets the member at a path such as reasoning.effort, and makes the objects on the way.
func (t *Tree) Put(path string, value *Tree) {
	name, rest, nested := strings.Cut(path, ".")
	if !nested {
		t.Set(name, value)
		return
	}
	inner := t.Get(name)
	if inner == nil || inner.Kind != jsontext.KindBeginObject {
		inner = &Tree{Kind: jsontext.KindBeginObject}
		t.Set(name, inner)
	}
	inner.Put(rest, value)
}

// Set replaces the member of that name, or adds it at the end.
func (t *Tree) Set(name string, value *Tree) {
	for i, n := range t.Names {
		if n == name {
			t.Items[i] = value
			return
		}
	}
	t.Names, t.Items = append(t.Names, name), append(t.Items, value)
}

// Append appends the value as compact JSON.
func (t *Tree) Append(dst []byte) []byte {
	switch t.Kind {
	case jsontext.KindString:
		return appendText(dst, t.Text)
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		closing := byte('}')
		if t.Kind == jsontext.KindBeginArray {
			closing = ']'
		}
		dst = append(dst, byte(t.Kind))
		for i, item := range t.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			if len(t.Names) > 0 {
				dst = append(appendText(dst, t.Names[i]), ':')
			}
			dst = item.Append(dst)
		}
		return append(dst, closing)
	}
	return append(dst, t.Word()...)
}

// appendText appends a JSON string. Bytes that are not UTF-8 become the replacement character; no other error can happen.
func appendText(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// NewText returns a string.
func NewText(s string) *Tree { return &Tree{Kind: jsontext.KindString, Text: s} }

// NewBool returns true or false.
func NewBool(b bool) *Tree {
	if b {
		return &Tree{Kind: jsontext.KindTrue}
	}
	return &Tree{Kind: jsontext.KindFalse}
}
