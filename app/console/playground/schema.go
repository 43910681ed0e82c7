package playground

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app/jsontree"
	"umg/views/format"
	modelpages "umg/views/models"
)

const (
	schemaDepthMax = 6
	boundDigitsMax = 9 // A bound with more digits is a limit of the integer type.
)

// A contract marks members that the model does not support, and those of them that requests leave out.
const (
	unsupportedMark = "x-unsupported"
	hintMark        = "x-hint"
)

// schemaReader turns a contract into what people read of it.
type schemaReader struct{ root *jsontree.Value }

// FieldsOf are the members of a request that a contract names, the required ones first. Of those that the model does not support,
// hints are left out of requests, and without are refused.
func FieldsOf(schema []byte) (fields []modelpages.Field, hints, without []string) {
	root := jsontree.ParseFirst(schema)
	r := schemaReader{root}
	if properties := root.Get("properties"); properties != nil {
		for i, name := range properties.Names {
			switch {
			case !r.unsupported(properties.Items[i]):
			case properties.Items[i].Get(hintMark) != nil:
				hints = append(hints, name)
			default:
				without = append(without, name)
			}
		}
	}
	return r.members(root, nil), hints, without
}

func (r schemaReader) unsupported(n *jsontree.Value) bool { return n.Get(unsupportedMark) != nil }

// resolve follows a reference. What stands beside it wins.
func (r schemaReader) resolve(n *jsontree.Value) (resolved *jsontree.Value, name string) {
	ref := n.Get("$ref").Word()
	name, found := strings.CutPrefix(ref, "#/$defs/")
	if !found {
		return n, ""
	}
	target := r.root.Get("$defs").Get(name)
	if target == nil {
		return n, ""
	}
	merged := &jsontree.Value{Kind: target.Kind, Names: slices.Clone(target.Names), Items: slices.Clone(target.Items)}
	for i, member := range n.Names {
		if member != "$ref" {
			merged.Set(member, n.Items[i])
		}
	}
	return merged, name
}

// members are the fields of an object. Within holds the definitions that it is in, which are not opened again.
func (r schemaReader) members(n *jsontree.Value, within []string) []modelpages.Field {
	properties := n.Get("properties")
	if properties == nil || len(within) > schemaDepthMax {
		return nil
	}
	required := n.Get("required").Words()
	var first, rest []modelpages.Field
	for i, name := range properties.Names {
		if r.unsupported(properties.Items[i]) {
			continue
		}
		f := r.field(name, properties.Items[i], within)
		if f.Required = slices.Contains(required, name); f.Required {
			first = append(first, f)
		} else {
			rest = append(rest, f)
		}
	}
	return append(first, rest...)
}

func (r schemaReader) field(name string, n *jsontree.Value, within []string) modelpages.Field {
	n, definition := r.resolve(n)
	if definition == "" {
		definition = name
	} else if slices.Contains(within, definition) {
		return modelpages.Field{Name: name, Types: "object", Text: "As above."}
	}
	within = append(slices.Clone(within), definition)
	f := modelpages.Field{
		Name: name, Types: strings.Join(r.types(n), " or "), Default: n.Get("default").Word(), Allowed: allowed(n),
		Text: n.Get("description").Word(),
	}
	if f.Default == "null" {
		f.Default = ""
	}
	switch {
	case r.composed(n) != nil:
		f.Fields = r.variants(n, within)
	case n.Get("properties") != nil:
		f.Fields = r.members(n, within)
	case n.Get("items") != nil:
		f.Fields = r.itemFields(n.Get("items"), within)
	}
	return f
}

// itemFields are the members of an array's items, or their forms.
func (r schemaReader) itemFields(items *jsontree.Value, within []string) []modelpages.Field {
	items, definition := r.resolve(items)
	if definition != "" {
		if slices.Contains(within, definition) {
			return nil
		}
		within = append(slices.Clone(within), definition)
	}
	if r.composed(items) != nil {
		return r.variants(items, within)
	}
	return r.members(items, within)
}

// composed are the forms that a value may take, when there are several in addition to null. A rule about which members go
// together is none: its forms have no type.
func (r schemaReader) composed(n *jsontree.Value) []*jsontree.Value {
	for _, word := range []string{"oneOf", "anyOf"} {
		var forms []*jsontree.Value
		for _, form := range n.Get(word).List() {
			form, _ = r.resolve(form)
			if form.Get("type").Word() == "null" || n.Get("type") != nil && form.Get("type") == nil {
				continue
			}
			forms = append(forms, form)
		}
		if len(forms) > 0 {
			return forms
		}
	}
	return nil
}

// variants are the forms worth opening: those with members of their own.
func (r schemaReader) variants(n *jsontree.Value, within []string) []modelpages.Field {
	var fields []modelpages.Field
	for _, form := range r.composed(n) {
		inner := r.members(form, within)
		if form.Get("items") != nil {
			inner = r.itemFields(form.Get("items"), within)
		}
		if r.composed(form) != nil && len(inner) == 0 {
			fields = append(fields, r.variants(form, within)...)
			continue
		}
		if len(inner) == 0 {
			continue
		}
		fields = append(fields, modelpages.Field{
			Name: formName(form), Variant: true, Types: strings.Join(r.types(form), " or "), Text: form.Get("description").Word(), Fields: inner,
		})
	}
	if len(fields) == 1 && strings.HasPrefix(fields[0].Types, "array") {
		return fields[0].Fields
	}
	return fields
}

// formName is what tells a form from the others: the value that its type or role must have.
func formName(form *jsontree.Value) string {
	for _, name := range []string{"type", "role"} {
		p := form.Get("properties").Get(name)
		if word := p.Get("const").Word(); word != "" {
			return word
		}
		if words := p.Get("enum").Words(); len(words) > 0 {
			return strings.Join(words, ", ")
		}
	}
	if names := form.Get("required").Words(); len(names) > 0 {
		return strings.Join(names, ", ")
	}
	return "other"
}

// types are the JSON types that a value may have, without null.
func (r schemaReader) types(n *jsontree.Value) []string {
	var types []string
	add := func(more ...string) {
		for _, t := range more {
			if t != "null" && t != "" && !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
	}
	declared := n.Get("type").Words()
	for _, t := range declared {
		if t == "array" {
			add("array" + r.ofItems(n.Get("items")))
		} else {
			add(t)
		}
	}
	if len(declared) > 0 {
		return types
	}
	for _, v := range append(n.Get("enum").List(), n.Get("const")) {
		if v != nil {
			add(jsonTypes[v.Kind])
		}
	}
	for _, form := range r.composed(n) {
		add(r.types(form)...)
	}
	return types
}

func (r schemaReader) ofItems(items *jsontree.Value) string {
	if items == nil {
		return ""
	}
	items, _ = r.resolve(items)
	if types := r.types(items); len(types) == 1 {
		return " of " + types[0] + "s"
	}
	return ""
}

// jsonTypes are the types of JSON values by their kind, as far as enumerations have them.
var jsonTypes = map[jsontext.Kind]string{'"': "string", '0': "number", 't': "boolean", 'f': "boolean"}

// allowed are the values a field may have, or its bounds in words.
func allowed(n *jsontree.Value) []string {
	var words []string
	for _, v := range append(n.Get("enum").List(), n.Get("const")) {
		if w := v.Word(); w != "" && w != "null" && !slices.Contains(words, w) { // A number may also be sent as a string.
			words = append(words, w)
		}
	}
	if len(words) > 0 {
		return words
	}
	for _, pair := range []struct{ low, high, what string }{
		{"minimum", "maximum", ""}, {"exclusiveMinimum", "exclusiveMaximum", ""},
		{"minLength", "maxLength", " characters"}, {"minItems", "maxItems", " items"}, {"minProperties", "maxProperties", " members"},
	} {
		low, high := bound(n.Get(pair.low)), bound(n.Get(pair.high))
		switch {
		case low != "" && high != "":
			words = append(words, low+" – "+high+pair.what)
		case high != "":
			words = append(words, "at most "+high+pair.what)
		case low != "" && (pair.what == "" || low != "1"):
			words = append(words, "at least "+low+pair.what)
		case low != "":
			words = append(words, "not empty")
		}
	}
	return words
}

func bound(n *jsontree.Value) string {
	word := n.Word()
	if len(strings.TrimPrefix(word, "-")) > boundDigitsMax {
		return ""
	}
	if n, err := strconv.ParseInt(word, 10, 64); err == nil {
		return format.Count(n)
	}
	return strings.Replace(word, "-", "\u2212", 1)
}
