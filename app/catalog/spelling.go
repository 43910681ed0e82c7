package catalog

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// spell adds to every object of a schema the snake case spellings of its members, as the JSON form of protocol buffers
// allows both. A body may use one of the two: what reads it later might look at the other.
func spell(s *tree) {
	for i, name := range s.names {
		switch child := s.items[i]; name {
		case "properties", "$defs", "anyOf", "oneOf":
			for _, item := range child.items {
				spell(item)
			}
		case "items", "additionalProperties", wordStyle:
			spell(child)
		}
	}
	props := s.get("properties")
	if props == nil {
		return
	}
	both := &tree{kind: jsontext.KindBeginObject}
	var pairs []*tree
	for i, name := range props.names {
		member := props.items[i]
		both.set(name, member)
		other := snake(name)
		if other == name {
			continue
		}
		twin := member.clone()
		twin.drop("description")
		twin.set(wordSameAs, textTree(name))
		both.set(other, twin)
		pairs = append(pairs, pairOf(s, name, other)...)
	}
	if len(pairs) > 0 {
		s.set("properties", both)
		s.set("allOf", arrayTree(pairs...))
	}
}

// pairOf says that a body has one spelling of a member at most, and when the member was required, one at least.
func pairOf(t *tree, name, other string) []*tree {
	both := members("type", textTree("object"))
	both.set("required", textsTree([]string{name, other}))
	rules := []*tree{members("not", both)}
	if !slices.Contains(t.words("required"), name) {
		return rules
	}
	required := t.get("required")
	required.items = slices.DeleteFunc(required.items, func(r *tree) bool { return r.text == name })
	if len(required.items) == 0 {
		t.drop("required")
	}
	return append(rules, members("anyOf", arrayTree(
		members("required", textsTree([]string{name})), members("required", textsTree([]string{other})))))
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
