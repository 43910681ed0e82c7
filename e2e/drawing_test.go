package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// drawing makes bodies out of a published contract: its examples, and each of them with one member changed to what
// the member's schema says or forbids.
type drawing struct{ document map[string]any }

// wrongKinds are values of every kind; most members take one or two kinds.
var wrongKinds = []string{`"no such word"`, `7.5`, `-1`, `true`, `{}`, `[]`, `[null]`, `null`}

// bodies are the requests that are drawn for a path.
func (d drawing) bodies(t *testing.T, path string) []string {
	t.Helper()
	content := at(d.document, "paths", path, "post", "requestBody", "content", "application/json")
	examples, _ := at(content, "examples").(map[string]any)
	if len(examples) < 3 {
		t.Fatalf("%d examples for %s", len(examples), path)
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		body, _ := at(examples[name], "value").(map[string]any)
		all = append(all, written(t, body))
		for member := range body {
			less := maps.Clone(body)
			delete(less, member)
			all = append(all, written(t, less))
		}
	}
	least, _ := at(examples[slices.Sorted(maps.Keys(examples))[0]], "value").(map[string]any)
	if at(examples, "least") != nil {
		least, _ = at(examples, "least", "value").(map[string]any)
	}
	d.vary(t, at(content, "schema"), 0, func(member string, value json.RawMessage) {
		changed := maps.Clone(least)
		changed[member] = value
		all = append(all, written(t, changed))
	})
	return all
}

// vary gives every member of an object's schema values that it should take and values that it should not, one at a
// time. Members of members are varied inside an object of their own.
func (d drawing) vary(t *testing.T, schema any, depth int, use func(member string, value json.RawMessage)) {
	t.Helper()
	properties, _ := at(d.resolve(schema), "properties").(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		of := d.resolve(properties[name])
		// The parameter changes the form of the answer, and has checklist lines of its own.
		if name == "stream" {
			continue
		}
		for _, value := range d.values(t, of) {
			use(name, json.RawMessage(value))
		}
		if depth < 1 && at(of, "properties") != nil && at(of, "required") == nil {
			d.vary(t, of, depth+1, func(member string, value json.RawMessage) {
				use(name, json.RawMessage(fmt.Sprintf(`{%q:%s}`, member, value)))
			})
		}
	}
}

// values are what a schema says of its bounds and words, and just beyond them, and values of other kinds.
func (d drawing) values(t *testing.T, schema any) []string {
	t.Helper()
	var all []string
	for _, name := range []string{"minimum", "maximum"} {
		if n, isNumber := at(schema, name).(json.Number); isNumber {
			whole, err := n.Int64()
			if err != nil {
				t.Fatalf("the %s %s is no whole number", name, n)
			}
			all = append(all, fmt.Sprint(whole), fmt.Sprint(whole-1), fmt.Sprint(whole+1))
		}
	}
	words, _ := at(schema, "enum").([]any)
	for _, w := range words {
		all = append(all, written(t, w))
	}
	if fixed := at(schema, "default"); fixed != nil {
		all = append(all, written(t, fixed))
	}
	all = append(all, wrongKinds...)
	slices.Sort(all)
	return slices.Compact(all)
}

// resolve follows references inside the document.
func (d drawing) resolve(schema any) any {
	for range 8 {
		ref, isRef := at(schema, "$ref").(string)
		if !isRef {
			break
		}
		schema = at(d.document, "components", "schemas", strings.TrimPrefix(ref, "#/components/schemas/"))
	}
	return schema
}

func written(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
