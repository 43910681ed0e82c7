package harness

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// SchemaBodies makes bodies out of a published contract: its examples, and each of them with one member changed to what
// the member's schema says or forbids.
type SchemaBodies struct{ Document map[string]any }

// wrongKinds are values of every kind; most members take one or two kinds.
var wrongKinds = []string{`"no such word"`, `7.5`, `-1`, `true`, `{}`, `[]`, `[null]`, `null`}

// ForPath are the requests that are drawn for a path.
func (d SchemaBodies) ForPath(t *testing.T, path string) []string {
	t.Helper()
	content := Member(d.Document, "paths", path, "post", "requestBody", "content", "application/json")
	examples, _ := Member(content, "examples").(map[string]any)
	if len(examples) < 3 {
		t.Fatalf("%d examples for %s", len(examples), path)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		body, _ := Member(examples[name], "value").(map[string]any)
		all = append(all, EncodeJSON(t, body))
		for member := range body {
			less := maps.Clone(body)
			delete(less, member)
			all = append(all, EncodeJSON(t, less))
		}
	}
	least, _ := Member(examples[slices.Sorted(maps.Keys(examples))[0]], "value").(map[string]any)
	if Member(examples, "least") != nil {
		least, _ = Member(examples, "least", "value").(map[string]any)
	}
	d.vary(t, Member(content, "schema"), 0, func(member string, value json.RawMessage) {
		changed := maps.Clone(least)
		changed[member] = value
		all = append(all, EncodeJSON(t, changed))
	})
	return all
}

// vary gives every member of an object's schema values that it should take and values that it should not, one at a
// time. Members of members are varied inside an object of their own.
func (d SchemaBodies) vary(t *testing.T, schema any, depth int, use func(member string, value json.RawMessage)) {
	t.Helper()
	properties, _ := Member(d.Resolve(schema), "properties").(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		of := d.Resolve(properties[name])
		// The parameter changes the form of the answer, and has checklist lines of its own.
		if name == "stream" {
			continue
		}
		for _, value := range d.values(t, of) {
			use(name, json.RawMessage(value))
		}
		if depth < 1 && Member(of, "properties") != nil && Member(of, "required") == nil {
			d.vary(t, of, depth+1, func(member string, value json.RawMessage) {
				use(name, json.RawMessage(fmt.Sprintf(`{%q:%s}`, member, value)))
			})
		}
	}
}

// values are what a schema says of its bounds and words, and just beyond them, and values of other kinds.
func (d SchemaBodies) values(t *testing.T, schema any) []string {
	t.Helper()
	var all []string
	for _, name := range []string{"minimum", "maximum"} {
		if n, isNumber := Member(schema, name).(json.Number); isNumber {
			whole, err := n.Int64()
			if err != nil {
				t.Fatalf("the %s %s is no whole number", name, n)
			}
			all = append(all, fmt.Sprint(whole), fmt.Sprint(whole-1), fmt.Sprint(whole+1))
		}
	}
	words, _ := Member(schema, "enum").([]any)
	for _, w := range words {
		all = append(all, EncodeJSON(t, w))
	}
	if fixed := Member(schema, "default"); fixed != nil {
		all = append(all, EncodeJSON(t, fixed))
	}
	all = append(all, wrongKinds...)
	slices.Sort(all)
	return slices.Compact(all)
}

// Resolve follows references inside the document.
func (d SchemaBodies) Resolve(schema any) any {
	for range 8 {
		ref, isRef := Member(schema, "$ref").(string)
		if !isRef {
			break
		}
		schema = Member(d.Document, "components", "schemas", strings.TrimPrefix(ref, "#/components/schemas/"))
	}
	return schema
}
