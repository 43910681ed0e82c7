// Package jsontree reads JSON into a tree whose objects keep the order of their members. Parse makes a tree, the methods of Value
// read and change it, and AppendTo prints it.
package jsontree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Value is one JSON value. Its members keep their order, so that a document that is made of parts reads in the order in which
// the parts were written, and has the same hash on every replica.
type Value struct {
	// Kind is the kind of the first token of the value, so that an object has KindBeginObject.
	Kind jsontext.Kind
	// Text is a string with its escapes resolved, or a number as it was written. Other values have none.
	Text string
	// Names are the names of the members of an object, in their order.
	Names []string
	// Items are the values of Names, or the items of an array.
	Items []*Value
}

// Parse reads one JSON value. It returns an error when b is not JSON, names a member twice or has more than one value.
func Parse(b []byte) (*Value, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(b))
	v, err := Read(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return v, nil
}

// ParseFirst reads the first JSON value of b and nothing behind it. It returns nil when there is none.
func ParseFirst(b []byte) *Value {
	v, err := Read(jsontext.NewDecoder(bytes.NewReader(b)))
	if err != nil {
		return nil
	}
	return v
}

// MustParse is Parse for documents that the program itself has made or carries. It panics when raw is not JSON.
func MustParse(raw []byte) *Value {
	v, err := Parse(raw)
	if err != nil {
		panic("jsontree: a document of the program is not JSON: " + err.Error())
	}
	return v
}

// Read reads the next value of dec.
func Read(dec *jsontext.Decoder) (*Value, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	v := &Value{Kind: token.Kind()}
	switch v.Kind {
	case jsontext.KindString, jsontext.KindNumber:
		v.Text = token.String()
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		for dec.PeekKind() != closing(v.Kind) {
			if v.Kind == jsontext.KindBeginObject {
				name, err := dec.ReadToken()
				if err != nil {
					return nil, err
				}
				v.Names = append(v.Names, name.String())
			}
			item, err := Read(dec)
			if err != nil {
				return nil, err
			}
			v.Items = append(v.Items, item)
		}
		if _, err := dec.ReadToken(); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func closing(open jsontext.Kind) jsontext.Kind {
	if open == jsontext.KindBeginObject {
		return jsontext.KindEndObject
	}
	return jsontext.KindEndArray
}

// Text is a JSON string.
func Text(s string) *Value { return &Value{Kind: jsontext.KindString, Text: s} }

// Number is a JSON number as it is written.
func Number(s string) *Value { return &Value{Kind: jsontext.KindNumber, Text: s} }

// Null is the JSON null.
func Null() *Value { return &Value{Kind: jsontext.KindNull} }

// Bool is true or false.
func Bool(b bool) *Value {
	if b {
		return &Value{Kind: jsontext.KindTrue}
	}
	return &Value{Kind: jsontext.KindFalse}
}

// Array is an array of items.
func Array(items ...*Value) *Value { return &Value{Kind: jsontext.KindBeginArray, Items: items} }

// Texts is an array of strings.
func Texts(texts []string) *Value {
	v := Array()
	for _, s := range texts {
		v.Items = append(v.Items, Text(s))
	}
	return v
}

// Object is an object of names and values in turn. A value is a string, a bool, a []string or a *Value; members whose *Value is
// nil are left out.
func Object(pairs ...any) *Value {
	o := &Value{Kind: jsontext.KindBeginObject}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		switch v := pairs[i+1].(type) {
		case string:
			o.Set(name, Text(v))
		case bool:
			o.Set(name, Bool(v))
		case []string:
			o.Set(name, Texts(v))
		case *Value:
			if v != nil {
				o.Set(name, v)
			}
		}
	}
	return o
}

// Get returns the member called name, or nil. A nil value has no members, so that look-ups chain.
func (v *Value) Get(name string) *Value {
	if v == nil {
		return nil
	}
	if i := slices.Index(v.Names, name); i >= 0 {
		return v.Items[i]
	}
	return nil
}

// GetString returns the member called name when it is a string, else the empty string.
func (v *Value) GetString(name string) string {
	if m := v.Get(name); m != nil && m.Kind == jsontext.KindString {
		return m.Text
	}
	return ""
}

// GetStrings returns the strings in the array called name. Items that are not strings are left out.
func (v *Value) GetStrings(name string) []string {
	var texts []string
	if m := v.Get(name); m != nil {
		for _, item := range m.Items {
			if item.Kind == jsontext.KindString {
				texts = append(texts, item.Text)
			}
		}
	}
	return texts
}

// GetItems returns the items of the array called name, or the values of the object called name. The caller may change the list.
func (v *Value) GetItems(name string) []*Value {
	if m := v.Get(name); m != nil {
		return slices.Clone(m.Items)
	}
	return nil
}

// List returns the items of an array, and nothing for other values.
func (v *Value) List() []*Value {
	if v == nil || v.Kind != jsontext.KindBeginArray {
		return nil
	}
	return v.Items
}

// Word returns the text of a string or number, or "true", "false" or "null". It returns an empty string for nil, objects and arrays.
func (v *Value) Word() string {
	switch {
	case v == nil:
		return ""
	case v.Kind == jsontext.KindString || v.Kind == jsontext.KindNumber:
		return v.Text
	case v.Kind == jsontext.KindTrue || v.Kind == jsontext.KindFalse || v.Kind == jsontext.KindNull:
		return v.Kind.String()
	}
	return ""
}

// Words returns the words of the items of an array. For another value it returns the word of that value.
func (v *Value) Words() []string {
	if v == nil {
		return nil
	}
	if v.Kind != jsontext.KindBeginArray {
		return []string{v.Word()}
	}
	words := make([]string, len(v.Items))
	for i, item := range v.Items {
		words[i] = item.Word()
	}
	return words
}

// Put sets the member at a path such as reasoning.effort, and makes the objects on the way.
func (v *Value) Put(path string, value *Value) {
	name, rest, nested := strings.Cut(path, ".")
	if !nested {
		v.Set(name, value)
		return
	}
	inner := v.Get(name)
	if inner == nil || inner.Kind != jsontext.KindBeginObject {
		inner = &Value{Kind: jsontext.KindBeginObject}
		v.Set(name, inner)
	}
	inner.Put(rest, value)
}

// Set gives the member called name a value. A new member comes last.
func (v *Value) Set(name string, value *Value) {
	if i := slices.Index(v.Names, name); i >= 0 {
		v.Items[i] = value
		return
	}
	v.Names, v.Items = append(v.Names, name), append(v.Items, value)
}

// Delete removes the member called name, if there is one.
func (v *Value) Delete(name string) {
	if i := slices.Index(v.Names, name); i >= 0 {
		v.Names, v.Items = slices.Delete(v.Names, i, i+1), slices.Delete(v.Items, i, i+1)
	}
}

// Clone returns a copy of the value and of everything inside it.
func (v *Value) Clone() *Value {
	c := *v
	c.Names, c.Items = slices.Clone(v.Names), slices.Clone(v.Items)
	for i, item := range c.Items {
		c.Items[i] = item.Clone()
	}
	return &c
}

// AppendTo appends the value as compact JSON.
func (v *Value) AppendTo(dst []byte) []byte {
	switch v.Kind {
	case jsontext.KindString:
		return AppendQuoted(dst, v.Text)
	case jsontext.KindNumber:
		return append(dst, v.Text...)
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		dst = append(dst, byte(v.Kind))
		for i, item := range v.Items {
			if i > 0 {
				dst = append(dst, ',')
			}
			if v.Kind == jsontext.KindBeginObject {
				dst = append(AppendQuoted(dst, v.Names[i]), ':')
			}
			dst = item.AppendTo(dst)
		}
		return append(dst, byte(closing(v.Kind)))
	case jsontext.KindTrue:
		return append(dst, "true"...)
	case jsontext.KindFalse:
		return append(dst, "false"...)
	default:
		return append(dst, "null"...)
	}
}

// AppendQuoted appends s as a JSON string. Bytes that are not UTF-8 become the replacement character.
func AppendQuoted(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, s) // The only error says that bytes were replaced.
	return dst
}
