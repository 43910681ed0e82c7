package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// tree is one JSON value that keeps the order of its members, so that an assembled contract reads in the order in
// which its fragment was written and hashes the same on every replica.
type tree struct {
	kind  jsontext.Kind
	text  string // a string decoded, or a number as it was written
	names []string
	items []*tree // the values of names, or the items of an array
}

func parseTree(b []byte) (*tree, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(b))
	t, err := readTree(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return t, nil
}

func readTree(dec *jsontext.Decoder) (*tree, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	t := &tree{kind: token.Kind()}
	switch t.kind {
	case jsontext.KindString, jsontext.KindNumber:
		t.text = token.String()
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		for dec.PeekKind() != closing(t.kind) {
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
		if _, err := dec.ReadToken(); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func closing(open jsontext.Kind) jsontext.Kind {
	if open == jsontext.KindBeginObject {
		return jsontext.KindEndObject
	}
	return jsontext.KindEndArray
}

func textTree(s string) *tree   { return &tree{kind: jsontext.KindString, text: s} }
func numberTree(s string) *tree { return &tree{kind: jsontext.KindNumber, text: s} }

func arrayTree(items ...*tree) *tree { return &tree{kind: jsontext.KindBeginArray, items: items} }

func textsTree(texts []string) *tree {
	t := arrayTree()
	for _, s := range texts {
		t.items = append(t.items, textTree(s))
	}
	return t
}

// get is the member called name, or nil. A nil tree has no members, so that look-ups chain.
func (t *tree) get(name string) *tree {
	if t == nil {
		return nil
	}
	if i := slices.Index(t.names, name); i >= 0 {
		return t.items[i]
	}
	return nil
}

// word is the member called name when it is a string, else "".
func (t *tree) word(name string) string {
	if m := t.get(name); m != nil && m.kind == jsontext.KindString {
		return m.text
	}
	return ""
}

// words is the member called name as strings; members that are no strings are left out.
func (t *tree) words(name string) []string {
	var words []string
	if m := t.get(name); m != nil {
		for _, item := range m.items {
			if item.kind == jsontext.KindString {
				words = append(words, item.text)
			}
		}
	}
	return words
}

func (t *tree) set(name string, value *tree) {
	if i := slices.Index(t.names, name); i >= 0 {
		t.items[i] = value
		return
	}
	t.names, t.items = append(t.names, name), append(t.items, value)
}

func (t *tree) drop(name string) {
	if i := slices.Index(t.names, name); i >= 0 {
		t.names, t.items = slices.Delete(t.names, i, i+1), slices.Delete(t.items, i, i+1)
	}
}

func (t *tree) clone() *tree {
	c := *t
	c.names, c.items = slices.Clone(t.names), slices.Clone(t.items)
	for i, item := range c.items {
		c.items[i] = item.clone()
	}
	return &c
}

// append prints the tree as compact JSON.
func (t *tree) append(dst []byte) []byte {
	switch t.kind {
	case jsontext.KindString:
		return appendQuoted(dst, t.text)
	case jsontext.KindNumber:
		return append(dst, t.text...)
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		dst = append(dst, byte(t.kind))
		for i, item := range t.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			if t.kind == jsontext.KindBeginObject {
				dst = append(appendQuoted(dst, t.names[i]), ':')
			}
			dst = item.append(dst)
		}
		return append(dst, byte(closing(t.kind)))
	case jsontext.KindTrue:
		return append(dst, "true"...)
	case jsontext.KindFalse:
		return append(dst, "false"...)
	default:
		return append(dst, "null"...)
	}
}

// appendQuoted prints s as a JSON string. Bytes that are not UTF-8 become the replacement character, which is the
// only error the encoder knows.
func appendQuoted(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// members makes an object of names and values: texts, truths, lists of texts, or trees. A nil tree is left out.
func members(pairs ...any) *tree {
	t := &tree{kind: jsontext.KindBeginObject}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		switch v := pairs[i+1].(type) {
		case string:
			t.set(name, textTree(v))
		case bool:
			kind := jsontext.KindFalse
			if v {
				kind = jsontext.KindTrue
			}
			t.set(name, &tree{kind: kind})
		case []string:
			t.set(name, textsTree(v))
		case *tree:
			if v != nil {
				t.set(name, v)
			}
		}
	}
	return t
}

// mustParse reads what this package has written or carries.
func mustParse(raw []byte) *tree {
	t, err := parseTree(raw)
	if err != nil {
		panic("catalog: an embedded document cannot be read: " + err.Error())
	}
	return t
}

// children are the values of the member called name: its items, or the values of its members. The caller may change the list.
func (t *tree) children(name string) []*tree {
	if m := t.get(name); m != nil {
		return slices.Clone(m.items)
	}
	return nil
}
