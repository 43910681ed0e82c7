package catalog

import (
	"slices"
	"strings"

	"umg/app/jsonschema"
	"umg/app/jsontree"
)

// addSnakeCase adds to every object of a schema the snake case spellings of its members, because the JSON form of protocol buffers allows
// both. A body may use one of the two, as providers differ in which one they read.
func addSnakeCase(s *jsontree.Value) {
	for i, name := range s.Names {
		switch child := s.Items[i]; name {
		case "properties", "$defs", "anyOf", "oneOf":
			for _, item := range child.Items {
				addSnakeCase(item)
			}
		case "items", "additionalProperties", jsonschema.KeywordStyle:
			addSnakeCase(child)
		}
	}
	props := s.Get("properties")
	if props == nil {
		return
	}
	both := jsontree.Object()
	var pairs []*jsontree.Value
	for i, name := range props.Names {
		member := props.Items[i]
		both.Set(name, member)
		other := snake(name)
		if other == name {
			continue
		}
		twin := member.Clone()
		twin.Delete("description")
		twin.Set(jsonschema.KeywordSameAs, jsontree.Text(name))
		both.Set(other, twin)
		pairs = append(pairs, spellingRules(s, name, other)...)
	}
	if len(pairs) > 0 {
		s.Set("properties", both)
		s.Set("allOf", jsontree.Array(pairs...))
	}
}

// spellingRules returns the rules for two spellings of a member: a body has at most one of them, and at least one when the member is
// required. It removes the member from the required ones.
func spellingRules(t *jsontree.Value, name, other string) []*jsontree.Value {
	both := jsontree.Object("type", jsontree.Text("object"))
	both.Set("required", jsontree.Texts([]string{name, other}))
	rules := []*jsontree.Value{jsontree.Object("not", both)}
	if !slices.Contains(t.GetStrings("required"), name) {
		return rules
	}
	required := t.Get("required")
	required.Items = slices.DeleteFunc(required.Items, func(r *jsontree.Value) bool { return r.Text == name })
	if len(required.Items) == 0 {
		t.Delete("required")
	}
	return append(rules, jsontree.Object("anyOf", jsontree.Array(
		jsontree.Object("required", jsontree.Texts([]string{name})), jsontree.Object("required", jsontree.Texts([]string{other})))))
}

// snake spells maxOutputTokens as max_output_tokens.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
