package simulator

import (
	"encoding/json"
	"maps"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// schemaDepthMax bounds the nesting of made-up values, as a schema may refer to itself.
const schemaDepthMax = 16

// schemaNodesMax bounds the size of made-up values, as a schema may multiply at every level.
const schemaNodesMax = 10_000

// hints are what a prompt offers for made-up values: "city=Rome" names one, and words with a capital serve any text.
type hints struct {
	named map[string]string
	words []string
	at    int // At is the index of the next word.
}

func hintsOf(asked string) hints {
	h := hints{named: map[string]string{}}
	for i, field := range strings.Fields(opening(asked)) {
		field = strings.Trim(field, ".,;:!?\"'()")
		if name, value, ok := strings.Cut(field, "="); ok && name != "" && value != "" {
			h.named[name] = value
			continue
		}
		if r := []rune(field); i > 0 && len(r) > 1 && unicode.IsUpper(r[0]) {
			h.words = append(h.words, field)
		}
	}
	return h
}

// next takes another word than h, so that two calls of one tool differ.
func (h hints) next() hints {
	h.at++
	return h
}

func (h hints) word(standard string) string {
	if len(h.words) == 0 {
		return standard
	}
	return h.words[h.at%len(h.words)]
}

// instance makes a small value that a JSON schema accepts: required members only, or all when none is required. It understands what tool
// definitions use; patterns and conditions it does not. The result is compact JSON, its members sorted, an empty object for no schema.
func instance(schema json.RawMessage, h hints) string {
	var root any
	if len(schema) == 0 || json.Unmarshal(schema, &root) != nil {
		return "{}"
	}
	m := &maker{root: root, hints: h}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m.value(root, "", 0)); err != nil {
		return "{}"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

type maker struct {
	root  any
	hints hints
	nodes int
}

func (m *maker) value(node any, name string, depth int) any {
	s, ok := node.(map[string]any)
	m.nodes++
	if !ok || depth > schemaDepthMax || m.nodes > schemaNodesMax {
		return nil
	}
	if fixed, ok := given(s); ok {
		return fixed
	}
	if ref, ok := s["$ref"].(string); ok {
		return m.value(m.lookup(ref), name, depth+1)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := s[key].([]any); ok && len(list) > 0 {
			return m.value(list[0], name, depth+1)
		}
	}
	if list, ok := s["allOf"].([]any); ok && len(list) > 0 {
		return m.value(merge(s, list), name, depth+1)
	}
	switch typeOf(s) {
	case "object":
		return m.object(s, depth)
	case "array":
		return m.array(s, name, depth)
	case "string":
		return m.text(s, name)
	case "integer":
		return m.number(s, name, true)
	case "number":
		return m.number(s, name, false)
	case "boolean":
		return m.hints.named[name] != "false"
	}
	return nil
}

// given is a value that the schema itself names.
func given(s map[string]any) (any, bool) {
	for _, key := range []string{"const", "default"} {
		if v, ok := s[key]; ok && v != nil {
			return v, true
		}
	}
	for _, key := range []string{"enum", "examples"} {
		if list, ok := s[key].([]any); ok && len(list) > 0 {
			return list[0], true
		}
	}
	return nil, false
}

// typeOf is the first type that is not null, in lower case, guessed from the members when the schema has none.
func typeOf(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return strings.ToLower(t)
	case []any:
		for _, one := range t {
			if word, ok := one.(string); ok && !strings.EqualFold(word, "null") {
				return strings.ToLower(word)
			}
		}
	}
	switch {
	case s["properties"] != nil:
		return "object"
	case s["items"] != nil:
		return "array"
	case s["type"] == nil:
		return "string"
	}
	return "null"
}

// lookup follows a reference inside the schema, like "#/$defs/Place".
func (m *maker) lookup(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	node := m.root
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if step == "" {
			continue
		}
		members, ok := node.(map[string]any)
		if !ok {
			return nil
		}
		node = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	return node
}

// merge puts the branches of allOf into one schema, as far as objects go.
func merge(s map[string]any, list []any) map[string]any {
	merged := map[string]any{}
	properties := map[string]any{}
	var required []any
	for _, branch := range append([]any{any(s)}, list...) {
		members, ok := branch.(map[string]any)
		if !ok {
			continue
		}
		for key, v := range members {
			switch key {
			case "allOf":
			case "properties":
				if more, ok := v.(map[string]any); ok {
					maps.Copy(properties, more)
				}
			case "required":
				if more, ok := v.([]any); ok {
					required = append(required, more...)
				}
			default:
				merged[key] = v
			}
		}
	}
	if len(properties) > 0 {
		merged["properties"] = properties
	}
	if required != nil {
		merged["required"] = required
	}
	return merged
}

func (m *maker) object(s map[string]any, depth int) any {
	properties, _ := s["properties"].(map[string]any)
	made := map[string]any{}
	required, listed := s["required"].([]any)
	if !listed {
		for name, property := range properties {
			made[name] = m.value(property, name, depth+1)
		}
		return made
	}
	for _, one := range required[:min(len(required), schemaNodesMax)] {
		if name, ok := one.(string); ok {
			made[name] = m.value(properties[name], name, depth+1)
		}
	}
	return made
}

func (m *maker) array(s map[string]any, name string, depth int) any {
	n := 1
	if least, ok := s["minItems"].(float64); ok {
		n = int(min(max(least, 1), 100))
	}
	made := make([]any, n)
	for i := range made {
		made[i] = m.value(s["items"], name, depth+1)
	}
	return made
}

// formats are example texts of the formats that schemas use.
var formats = map[string]string{
	"date":      "2026-01-02",
	"date-time": "2026-01-02T03:04:05Z",
	"time":      "03:04:05Z",
	"email":     "person@example.com",
	"uri":       "https://example.com/",
	"uuid":      "00000000-0000-4000-8000-000000000001",
	"hostname":  "example.com",
	"ipv4":      "192.0.2.1",
	"ipv6":      "2001:db8::1",
}

func (m *maker) text(s map[string]any, name string) string {
	format, _ := s["format"].(string)
	made, ok := formats[format]
	if !ok {
		if made, ok = m.hints.named[name]; !ok {
			made = m.hints.word("example")
		}
	}
	if least, ok := s["minLength"].(float64); ok {
		for float64(len([]rune(made))) < min(least, 10_000) {
			made += "x"
		}
	}
	if most, ok := s["maxLength"].(float64); ok && float64(len([]rune(made))) > most {
		made = string([]rune(made)[:int(max(most, 0))])
	}
	return made
}

func (m *maker) number(s map[string]any, name string, whole bool) any {
	made := 1.0
	if v, err := strconv.ParseFloat(m.hints.named[name], 64); err == nil {
		made = v
	}
	if least, ok := s["minimum"].(float64); ok {
		made = max(made, least)
	}
	if above, ok := s["exclusiveMinimum"].(float64); ok && made <= above {
		made = above + 1
	}
	if most, ok := s["maximum"].(float64); ok {
		made = min(made, most)
	}
	if below, ok := s["exclusiveMaximum"].(float64); ok && made >= below {
		made = below - 1
	}
	if step, ok := s["multipleOf"].(float64); ok && step > 0 {
		made = math.Ceil(made/step) * step
	}
	if whole {
		return int64(math.Ceil(made))
	}
	return made
}
