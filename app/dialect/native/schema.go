package native

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// schemaDepthMax bounds how deep a schema of this style may be; providers of it take less.
const schemaDepthMax = 64

// schemaReader turns the schemas of this style, whose types are in capitals, into plain JSON Schema.
type schemaReader struct{ deep, twice bool }

// jsonSchema is the schema in plain words, its members in the same order.
func jsonSchema(raw jsontext.Value, field string) ([]byte, error) {
	var s schemaReader
	out := s.schema(nil, raw, 0)
	switch {
	case s.deep:
		return nil, invalid(field, "is nested deeper than %d levels.", schemaDepthMax)
	case s.twice:
		return nil, invalid(field, "has a member in both spellings; send it once.")
	}
	return out, nil
}

// schema appends one schema. What is none, such as true, stays as it is.
func (s *schemaReader) schema(dst []byte, raw jsontext.Value, depth int) []byte {
	if raw.Kind() != '{' || depth > schemaDepthMax {
		s.deep = s.deep || depth > schemaDepthMax
		return appendValue(dst, raw)
	}
	nullable := false
	seen := map[string]bool{}
	for name, value := range members(raw) {
		nullable = nullable || name == "nullable" && value.Kind() == 't'
		if camel, ok := camels[name]; ok {
			name = camel
		}
		s.twice = s.twice || seen[name]
		seen[name] = true
	}
	dst = append(dst, '{')
	begun := false
	for name, value := range members(raw) {
		if camel, ok := camels[name]; ok {
			name = camel
		}
		if isOmitted(name, value) {
			continue
		}
		if begun {
			dst = append(dst, ',')
		}
		begun = true
		dst = s.member(dst, name, value, depth, nullable)
	}
	return append(dst, '}')
}

// isOmitted reports whether a member says nothing in plain JSON Schema, or is said with another one.
func isOmitted(name string, value jsontext.Value) bool {
	switch name {
	case "nullable", "propertyOrdering", "example":
		return true
	case "type":
		return string(value) == `"TYPE_UNSPECIFIED"`
	case "format":
		return string(value) == `"enum"`
	case "default":
		return false
	}
	return value.Kind() == 'n'
}

// member appends one member of a schema.
func (s *schemaReader) member(dst []byte, name string, value jsontext.Value, depth int, nullable bool) []byte {
	switch name {
	case "defs", "ref":
		dst = append(dst, `"$`+name+`":`...)
	default:
		dst = append(quote(dst, name), ':')
	}
	switch name {
	case "type":
		return appendType(dst, value, nullable)
	case "enum":
		return list(dst, value, textIf(nullable, "null"), appendValue)
	case "anyOf", "oneOf", "allOf", "prefixItems":
		last := textIf(nullable && name == "anyOf", `{"type":"null"}`)
		return list(dst, value, last, func(dst []byte, v jsontext.Value) []byte { return s.schema(dst, v, depth+1) })
	case "items", "additionalProperties", "not":
		return s.schema(dst, value, depth+1)
	case "properties", "defs", "$defs":
		return s.named(dst, value, depth+1)
	case "ref":
		return quote(dst, strings.Replace(textOf(value), "#/defs/", "#/$defs/", 1))
	case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties":
		if n := jsontext.Value(textOf(value)); n.Kind() == '0' && n.IsValid() {
			// The style writes these numbers as strings.
			return append(dst, n...)
		}
	}
	return appendValue(dst, value)
}

// appendValue appends a value that is no schema, or not one of this style.
func appendValue(dst []byte, v jsontext.Value) []byte { return append(dst, compact(v)...) }

func textIf(yes bool, s string) string {
	if yes {
		return s
	}
	return ""
}

// appendType appends a type in small letters, with null beside it when the schema allows that.
func appendType(dst []byte, value jsontext.Value, nullable bool) []byte {
	if value.Kind() != '"' {
		return appendValue(dst, value)
	}
	word := strings.ToLower(unquote(value))
	if !nullable || word == "null" {
		return quote(dst, word)
	}
	dst = quote(append(dst, '['), word)
	return append(dst, `,"null"]`...)
}

// list appends a list of what each of its values becomes, and one more at the end unless it is there.
func list(dst []byte, value jsontext.Value, last string, each func([]byte, jsontext.Value) []byte) []byte {
	if value.Kind() != '[' {
		return appendValue(dst, value)
	}
	dst = append(dst, '[')
	comma := ""
	dec := jsontext.NewDecoder(bytes.NewBuffer(value), lenient)
	_, _ = dec.ReadToken()
	for dec.PeekKind() != ']' {
		one, err := dec.ReadValue()
		if err != nil {
			break
		}
		dst = append(dst, comma...)
		comma = ","
		start := len(dst)
		if dst = each(dst, one); string(dst[start:]) == last {
			last = ""
		}
	}
	if last != "" {
		dst = append(append(dst, comma...), last...)
	}
	return append(dst, ']')
}

// named appends schemas under the caller's own names.
func (s *schemaReader) named(dst []byte, value jsontext.Value, depth int) []byte {
	if value.Kind() != '{' {
		return appendValue(dst, value)
	}
	dst = append(dst, '{')
	begun := false
	for name, one := range members(value) {
		if begun {
			dst = append(dst, ',')
		}
		begun = true
		dst = append(quote(dst, name), ':')
		dst = s.schema(dst, one, depth)
	}
	return append(dst, '}')
}
