package apidocs

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"umg/app/jsonschema"
	"umg/app/jsontree"

	"github.com/go-json-experiment/json/jsontext"
)

// fieldWriter writes a table for each object of a request.
type fieldWriter struct {
	text *bytes.Buffer
	doc  *jsontree.Value
	// notes are further sentences about fields, by their paths.
	notes map[string]string

	// known are the definitions that are explained or are in the queue.
	known map[string]bool
	queue []definitionUse
	// refused and hints are fields of the current table that the model does not support. Hints are left out.
	refused, hints []string
}

// definitionUse is a definition and the first path at which a request uses it.
type definitionUse struct{ name, path string }

// writeAll writes the members of a request and the definitions that they use.
func (w *fieldWriter) writeAll() {
	w.known = map[string]bool{}
	w.table("", "", w.doc)
	for len(w.queue) > 0 {
		next := w.queue[0]
		w.queue = w.queue[1:]
		w.definition(next)
	}
}

func (w *fieldWriter) definition(p definitionUse) {
	s := w.doc.Get("$defs").Get(p.name)
	fmt.Fprintf(w.text, "\n#### `%s`\n\nIn `%s`.", p.name, p.path)
	if d := s.GetString("description"); d != "" {
		fmt.Fprintf(w.text, " %s", d)
	}
	if s.Get("properties") != nil {
		w.text.WriteString("\n\n")
		w.table("", p.path, s)
		return
	}
	if types := w.types(s, p.path); types != "object" {
		fmt.Fprintf(w.text, " One of: %s.", strings.ReplaceAll(types, " or ", ", "))
	}
	w.text.WriteString("\n")
	for _, form := range formsOf(s) {
		if form.Get("properties") == nil {
			continue
		}
		fmt.Fprintf(w.text, "\nWith %s", formLabel(form))
		if d := form.GetString("description"); d != "" {
			fmt.Fprintf(w.text, ": %s", strings.TrimSuffix(d, "."))
		}
		w.text.WriteString(":\n\n")
		w.table("", p.path, form)
	}
}

// formsOf returns the branches of a choice. A schema without a choice is its only branch.
func formsOf(s *jsontree.Value) []*jsontree.Value {
	for _, word := range []string{"anyOf", "oneOf"} {
		if choice := s.Get(word); choice != nil && s.Get("properties") == nil {
			return choice.Items
		}
	}
	return []*jsontree.Value{s}
}

// formLabel names an object of a choice by the value that distinguishes it.
func formLabel(form *jsontree.Value) string {
	props := form.Get("properties")
	for _, name := range append(form.GetStrings("required"), "type") {
		p := props.Get(name)
		if values := literalWords(p); len(values) > 0 {
			return "`" + name + "` " + strings.Join(values, " or ")
		}
		if p.Get("not") != nil {
			return "any other `" + name + "`"
		}
	}
	return "these members"
}

// literalWords returns the values of an enum or a const as JSON, without null.
func literalWords(s *jsontree.Value) []string {
	var items []*jsontree.Value
	if e := s.Get("enum"); e != nil {
		items = e.Items
	}
	if v := s.Get("const"); v != nil {
		items = append(items, v)
	}
	var words []string
	for _, v := range items {
		if v.Kind != jsontext.KindNull {
			words = append(words, "`"+string(v.AppendTo(nil))+"`")
		}
	}
	return words
}

func (w *fieldWriter) table(prefix, path string, s *jsontree.Value) {
	w.text.WriteString("| field | type | allowed | default | meaning |\n| --- | --- | --- | --- | --- |\n")
	w.rows(prefix, path, s)
	if len(w.hints) > 0 {
		fmt.Fprintf(w.text, "\nHints that this model does not take: %s. They are left out and listed in `x-gateway-dropped`. A strict key is "+
			"refused instead, unless the value is null or changes nothing.\n", strings.Join(w.hints, ", "))
	}
	if len(w.refused) > 0 {
		fmt.Fprintf(w.text, "\nNot supported by this model, and refused unless null or a value that changes nothing: %s.\n",
			strings.Join(w.refused, ", "))
	}
	w.hints, w.refused = nil, nil
}

// rows writes the members of an object, the required ones first, each followed by the members of what it holds.
func (w *fieldWriter) rows(prefix, path string, s *jsontree.Value) {
	props, required := s.Get("properties"), s.GetStrings("required")
	if pairs := s.Get("allOf"); pairs != nil {
		for _, p := range pairs.Items {
			if ways := p.Get("anyOf"); ways != nil {
				required = append(required, ways.Items[0].GetStrings("required")...)
			}
		}
	}
	for _, first := range []bool{true, false} {
		for i, name := range props.Names {
			member := props.Items[i]
			switch {
			case slices.Contains(required, name) != first, member.GetString(jsonschema.KeywordSameAs) != "":
			case member.GetString(jsonschema.KeywordUnsupported) != "" &&
				member.GetString(jsonschema.KeywordUnsupported) != jsonschema.UnsupportedState:
				w.addUnsupported(prefix+name, member)
			default:
				w.row(prefix, strings.TrimPrefix(path+"."+name, "."), name, member, s, first)
			}
		}
	}
}

// addUnsupported adds a field that the model does not support to the hints, which are left out, or to the refused fields, with the
// values of it that have no effect.
func (w *fieldWriter) addUnsupported(name string, member *jsontree.Value) {
	list, text := &w.refused, "`"+name+"`"
	if member.GetString(jsonschema.KeywordHint) != "" {
		list = &w.hints
	}
	if values := w.allowed(member); simple(member) && len(values) > 0 {
		text += " (" + strings.Join(values, ", ") + ")"
	}
	*list = append(*list, text)
}

func (w *fieldWriter) row(prefix, path, name string, member, in *jsontree.Value, required bool) {
	names := []string{"`" + prefix + name + "`"}
	for i, p := range in.Get("properties").Items {
		if p.GetString(jsonschema.KeywordSameAs) == name {
			names = append(names, "`"+in.Get("properties").Names[i]+"`")
		}
	}
	shown := strings.Join(names, " or ")
	meaning := w.plain(member).GetString("description")
	if d := member.GetString("description"); d != "" {
		meaning = d
	}
	if required {
		meaning = strings.TrimSpace("Required. " + meaning)
	}
	if note := w.notes[path]; note != "" {
		meaning = strings.TrimSpace(meaning + " " + note)
	}
	usual := ""
	if d := w.plain(member).Get("default"); d != nil {
		usual = string(d.AppendTo(nil))
	}
	fmt.Fprintf(w.text, "| %s | %s | %s | %s | %s |\n", shown,
		cell(w.types(member, path)), cell(strings.Join(w.allowed(member), ", ")), cell(usual), cell(meaning))
	w.inner(prefix+name, path, member)
}

// inner writes the rows of objects inside a member that have no definition of their own.
func (w *fieldWriter) inner(prefix, path string, s *jsontree.Value) {
	for _, form := range formsOf(s) {
		if items := form.Get("items"); items != nil {
			w.inner(prefix+"[]", path+"[]", items)
		}
		if form.Get("properties") == nil {
			continue
		}
		next := prefix + "."
		if len(formsOf(s)) > 1 {
			if values := literalWords(form.Get("properties").Get("type")); len(values) > 0 {
				next = prefix + " (" + strings.ReplaceAll(strings.Join(values, ", "), "`", "") + ")."
			}
		}
		w.rows(next, path, form)
	}
}

// plain returns the definition that a reference points to.
func (w *fieldWriter) plain(s *jsontree.Value) *jsontree.Value {
	if name, ok := strings.CutPrefix(s.GetString("$ref"), jsonschema.RefPrefix); ok {
		return w.doc.Get("$defs").Get(name)
	}
	return s
}

// simple reports whether a schema needs no section of its own.
func simple(s *jsontree.Value) bool {
	return s.Get("properties") == nil && s.Get("items") == nil && s.Get("anyOf") == nil && s.Get("oneOf") == nil
}

// types returns the type of a value. Definitions are named, and explained later.
func (w *fieldWriter) types(s *jsontree.Value, path string) string {
	if name, ok := strings.CutPrefix(s.GetString("$ref"), jsonschema.RefPrefix); ok {
		if target := w.plain(s); simple(target) {
			return w.types(target, path)
		}
		if !w.known[name] {
			w.known[name] = true
			w.queue = append(w.queue, definitionUse{name, path})
		}
		return "`" + name + "`"
	}
	var all []string
	add := func(t string) {
		if t != "" && t != "null" && !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	names := s.GetStrings("type")
	if t := s.GetString("type"); t != "" {
		names = []string{t}
	}
	for _, t := range names {
		if items := s.Get("items"); t == "array" && items != nil {
			t = "array of " + w.types(items, path+"[]")
		}
		add(t)
	}
	if len(names) == 0 {
		for _, v := range append(s.GetItems("enum"), s.Get("const")) {
			add(kindWord(v))
		}
		for _, form := range formsOf(s) {
			if form != s {
				add(w.types(form, path))
			}
		}
	}
	return strings.Join(all, " or ")
}

func kindWord(v *jsontree.Value) string {
	switch {
	case v == nil, v.Kind == jsontext.KindNull:
		return ""
	case v.Kind == jsontext.KindString:
		return "string"
	case v.Kind == jsontext.KindNumber:
		return "number"
	default:
		return "boolean"
	}
}

// limitWords are the words for the limits of a schema.
var limitWords = []struct{ keyword, text, unit string }{
	{"minimum", "at least ", ""}, {"maximum", "at most ", ""}, {"exclusiveMinimum", "more than ", ""}, {"exclusiveMaximum", "less than ", ""},
	{"minItems", "at least ", " items"}, {"maxItems", "at most ", " items"}, {"minLength", "at least ", " characters"},
	{"maxLength", "at most ", " characters"}, {"maxProperties", "at most ", " members"},
}

// singular makes 1 items an item; every unit ends in s.
func singular(s string) string {
	if head, unit, ok := strings.Cut(s, " 1 "); ok {
		return head + " 1 " + strings.TrimSuffix(unit, "s")
	}
	return s
}

// allowed returns the values or the range of a schema, and of the simple branches of a choice.
func (w *fieldWriter) allowed(s *jsontree.Value) []string {
	if s.Get("$ref") != nil {
		target := w.plain(s)
		if !simple(target) {
			return nil
		}
		s = target
	}
	words := literalWords(s)
	for _, l := range limitWords {
		if v := s.Get(l.keyword); v != nil {
			words = append(words, singular(l.text+v.Text+l.unit))
		}
	}
	if p := s.GetString("pattern"); p != "" {
		words = append(words, "matching `"+p+"`")
	}
	if items := s.Get("items"); items != nil && simple(w.plain(items)) {
		words = append(words, w.allowed(items)...)
	}
	for _, form := range formsOf(s) {
		if form != s && form.Get("properties") == nil {
			words = append(words, w.allowed(form)...)
		}
	}
	return words
}

// cell escapes a text for one cell of a table.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "\r", " ").Replace(s)
}
