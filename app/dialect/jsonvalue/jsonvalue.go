// Package jsonvalue has types for members of JSON that providers also send in other forms. A struct of a wire format uses them for its
// members.
package jsonvalue

import (
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// Verbatim are the options for writing a document whose raw values stay as the client wrote them.
var Verbatim = json.JoinOptions(jsontext.PreserveRawStrings(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// String is a string. Any other value reads as the empty string.
type String string

// UnmarshalJSONFrom reads a value.
func (s *String) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*s = ""
	if d.PeekKind() != '"' {
		return d.SkipValue()
	}
	t, err := d.ReadToken()
	if err == nil {
		*s = String(t.String())
	}
	return err
}

// Number is the text of a number. Any other value reads as the empty number, which is left out.
type Number llm.Number

// UnmarshalJSONFrom keeps the digits as they were written.
func (n *Number) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*n = ""
	if d.PeekKind() != '0' {
		return d.SkipValue()
	}
	v, err := d.ReadValue()
	*n = Number(v)
	return err
}

// MarshalJSONTo writes the number as it was read.
func (n Number) MarshalJSONTo(e *jsontext.Encoder) error { return e.WriteValue(jsontext.Value(n)) }

// Whole returns the number as a count. It is zero for a negative number, a fraction and a number above llm.TokensMax.
func (n Number) Whole() int64 {
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil || f < 0 || f > llm.TokensMax || f != float64(int64(f)) {
		return 0
	}
	return int64(f)
}

// Clamp returns the number, or the nearest bound when it is outside of both. It reports false for text that is no number.
func Clamp(n llm.Number, least, most float64) (Number, bool) {
	f, err := strconv.ParseFloat(string(n), 64)
	switch {
	case err != nil || jsontext.Value(n).Kind() != '0' || !jsontext.Value(n).IsValid():
		return "", false
	case f < least:
		return Number(strconv.FormatFloat(least, 'g', -1, 64)), true
	case f > most:
		return Number(strconv.FormatFloat(most, 'g', -1, 64)), true
	}
	return Number(n), true
}

// Object is an object. Any other value reads as the zero value.
type Object[T any] struct{ Value T }

// UnmarshalJSONFrom reads a value.
func (o *Object[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	*o = Object[T]{}
	if d.PeekKind() != '{' {
		return d.SkipValue()
	}
	return json.UnmarshalDecode(d, &o.Value)
}
