package native

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// schemaDepthMax bounds the depth of a schema. Providers of this style allow less.
const schemaDepthMax = 64

// schemaReader converts schemas of this style, whose types are in capitals, to JSON Schema.
type schemaReader struct {
	tooDeep bool
	// duplicate means that a member is there in both spellings.
	duplicate bool
}

// jsonSchema converts a schema, with its members in the same order.
func jsonSchema(raw jsontext.Value, field string) ([]byte, error) {
	var s schemaReader
	out := s.schema(nil, raw, 0)
	switch {
	case s.tooDeep:
		return nil, invalid(field, "is nested deeper than %d levels.", schemaDepthMax)
	case s.duplicate:
		return nil, invalid(field, "has a member in both spellings; send it once.")
	}
	return out, nil
}

// schema appends one schema. A value that is not an object, such as true, stays unchanged.
func (s *schemaReader) schema(dst []byte, raw jsontext.Value, depth int) []byte {
	if raw.Kind() != '{' || depth > schemaDepthMax {
		s.tooDeep = s.tooDeep || depth > schemaDepthMax
		return appendValue(dst, raw)
	}
	nullable := false
	seen := map[string]bool{}
	for name, value := range members(raw) {
		nullable = nullable || name == "nullable" && value.Kind() == 't'
		if camel, ok := camels[name]; ok {
			name = camel
		}
		s.duplicate = s.duplicate || seen[name]
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
		dst = append(llm.Quote(dst, name), ':')
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
		return llm.Quote(dst, strings.Replace(textOf(value), "#/defs/", "#/$defs/", 1))
	case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties":
		if n := jsontext.Value(textOf(value)); n.Kind() == '0' && n.IsValid() {
			// The style writes these numbers as strings.
			return append(dst, n...)
		}
	}
	return appendValue(dst, value)
}

// appendValue appends a value that is not a schema.
func appendValue(dst []byte, v jsontext.Value) []byte { return append(dst, compact(v)...) }

func textIf(yes bool, s string) string {
	if yes {
		return s
	}
	return ""
}

// appendType appends a type in lower case, together with null when the schema is nullable.
func appendType(dst []byte, value jsontext.Value, nullable bool) []byte {
	if value.Kind() != '"' {
		return appendValue(dst, value)
	}
	word := strings.ToLower(unquote(value))
	if !nullable || word == "null" {
		return llm.Quote(dst, word)
	}
	dst = llm.Quote(append(dst, '['), word)
	return append(dst, `,"null"]`...)
}

// list appends a list with each value converted, and the element last unless the list has it.
func list(dst []byte, value jsontext.Value, last string, each func([]byte, jsontext.Value) []byte) []byte {
	if value.Kind() != '[' {
		return appendValue(dst, value)
	}
	dst = append(dst, '[')
	comma := ""
	dec := jsontext.NewDecoder(bytes.NewBuffer(value), llm.Lenient)
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

// named appends an object of schemas, whose names are the client's own.
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
		dst = append(llm.Quote(dst, name), ':')
		dst = s.schema(dst, one, depth)
	}
	return append(dst, '}')
}
