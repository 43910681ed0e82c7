package docs

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"umg/app/library"
	"umg/app/llm"
	"umg/app/preset"
)

// presetsMark stands for the table of all presets.
const presetsMark = "{{presets}}"

var (
	// presetMark is the line in whose place the tables of one preset are put.
	presetMark = regexp.MustCompile(`(?m)^\{\{preset ([a-z0-9-]*)\}\}$`)
	// presetPart is a field or a variable in a template of a preset.
	presetPart = regexp.MustCompile(`\{[a-z_]+\}`)
)

// withPresets puts tables in place of the marks of presets, so that a page never differs from the presets of the program. A mark with an
// unknown preset is an error.
func withPresets(text string) (string, error) {
	var unknown string
	text = presetMark.ReplaceAllStringFunc(text, func(mark string) string {
		id := presetMark.FindStringSubmatch(mark)[1]
		p, ok := preset.Find(id)
		if !ok {
			unknown = id
			return mark
		}
		return presetMarkdown(p)
	})
	if unknown != "" {
		return "", fmt.Errorf("there is no preset %q", unknown)
	}
	return strings.Replace(text, presetsMark, presetListMarkdown(), 1), nil
}

// presetListMarkdown is a table with a row for each preset, which leads to the section with the name of the provider.
func presetListMarkdown() string {
	rows := []string{"| provider | preset | variables of the environment | protocols |", "| --- | --- | --- | --- |"}
	for _, p := range preset.All() {
		var variables, protocols []string
		for i := range p.Fields {
			if env := p.Fields[i].Env; env != "" {
				variables = append(variables, code(env))
			}
		}
		for _, style := range stylesOf(p) {
			protocols = append(protocols, code(string(style)))
		}
		anchor := strings.ReplaceAll(strings.ToLower(p.Name), " ", "-")
		rows = append(rows, row("["+p.Name+"](#"+anchor+")", code(p.ID), listOr(variables, "none"), listOr(protocols, "any")))
	}
	return strings.Join(rows, "\n")
}

// presetMarkdown is what the program knows about a preset: its fields, its protocols with their addresses, and its list of models.
func presetMarkdown(p *preset.Preset) string {
	rows := []string{"| field | what to enter | needed | variable |", "| --- | --- | --- | --- |"}
	for i := range p.Fields {
		f := &p.Fields[i]
		rows = append(rows, row(code(f.ID), fieldWords(f), neededWords(f), cmp.Or(code(f.Env), "–")))
	}
	if len(p.Styles) > 0 {
		rows = append(rows, "", "| protocol | address | compared with recorded answers |", "| --- | --- | --- |")
		for _, style := range stylesOf(p) {
			s := p.Styles[style]
			checked := "yes"
			if s.Checked != preset.Recorded {
				checked = "no, never with a real answer"
			}
			rows = append(rows, row(code(string(style)), code(addressOf(p, s.Base, s.Path)), checked))
		}
	} else {
		rows = append(rows, "", "This preset has no protocol of its own: choose one for each route.")
	}
	rows = append(rows, "")
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		v := p.Variables[name]
		for _, value := range slices.Sorted(maps.Keys(v.Values)) {
			rows = append(rows, fmt.Sprintf("- With `%s: %s`, the host is `%s`.", v.By, value, v.Values[value]))
		}
	}
	rows = append(rows, "- "+listWords(p), "- "+libraryWords(p))
	if len(p.Limits) > 0 {
		headers := slices.Sorted(maps.Values(p.Limits))
		rows = append(rows, "- What is left of the provider's limits is read from "+strings.Join(codeEach(headers), " and ")+".")
	}
	if p.Docs != "" {
		rows = append(rows, "- Documentation of the provider: ["+strings.TrimPrefix(p.Docs, "https://")+"]("+p.Docs+")")
	}
	return strings.Join(rows, "\n")
}

// stylesOf are the styles of a preset: first those of clients in their usual order, then those of providers alone.
func stylesOf(p *preset.Preset) []llm.Style {
	order := llm.Styles()
	place := func(s llm.Style) int {
		if at := slices.Index(order, s); at >= 0 {
			return at
		}
		return len(order)
	}
	return slices.SortedFunc(maps.Keys(p.Styles), func(a, b llm.Style) int { return cmp.Or(place(a)-place(b), cmp.Compare(a, b)) })
}

// fieldWords say what the value of a field is.
func fieldWords(f *preset.Field) string {
	switch {
	case len(f.Options) > 0:
		return f.Label + ": " + strings.Join(codeEach(f.Options), " or ") + "; " + code(f.Options[0]) + " if you leave it out"
	case f.Example != "":
		return f.Label + ", such as " + code(f.Example)
	}
	return f.Label
}

// neededWords say when a field must be filled in.
func neededWords(f *preset.Field) string {
	words := "no"
	if f.Required {
		words = "yes"
	}
	for _, id := range slices.Sorted(maps.Keys(f.When)) {
		words += ", with " + code(id+": "+f.When[id])
		if !f.Required {
			words = "no, only with " + code(id+": "+f.When[id])
		}
	}
	if f.Secret {
		words += "; secret"
	}
	return words
}

// listWords say how the gateway gets the names of the provider's models.
func listWords(p *preset.Preset) string {
	list := p.Models
	if list == nil && len(p.Styles) > 0 {
		return "The gateway has no address of a model list: name the models yourself."
	}
	if list == nil {
		usual := preset.UsualList()
		list = &usual
	}
	addresses := []string{listAddress(p, list)}
	for i := range list.Further {
		addresses = append(addresses, listAddress(p, &list.Further[i]))
	}
	words := "The model list is read from " + strings.Join(addresses, " and ") + "."
	if list.Context != "" {
		words += " It has the context length of each model."
	}
	if list.Open {
		words += " It answers without a key too, so it does not show whether the key is right."
	}
	return words
}

// libraryWords say how many models of the provider the library of the program has.
func libraryWords(p *preset.Preset) string {
	models, priced := library.Embedded().Choices(p.ID, nil), 0
	for i := range models {
		if models[i].Priced {
			priced++
		}
	}
	if len(models) == 0 {
		return "The model library of this version has none of its models: set the price of each one before you publish it."
	}
	return fmt.Sprintf("The model library of this version has %d of its models, and the cost of %d.", len(models), priced)
}

// listAddress is the address of a list without its query.
func listAddress(p *preset.Preset, list *preset.ModelList) string {
	path, _, _ := strings.Cut(list.Path, "?")
	return code(addressOf(p, list.Base, path))
}

// addressOf is a template of an address in which variables have their usual values.
func addressOf(p *preset.Preset, base, path string) string {
	return presetPart.ReplaceAllStringFunc(cmp.Or(base, p.Base)+path, func(part string) string {
		if v, ok := p.Variables[strings.Trim(part, "{}")]; ok {
			return v.Else
		}
		return part
	})
}

func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |" }

// code is a text in the type of code; empty for an empty text.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func codeEach(texts []string) []string {
	all := make([]string, len(texts))
	for i, text := range texts {
		all[i] = code(text)
	}
	return all
}

func listOr(texts []string, none string) string { return cmp.Or(strings.Join(texts, ", "), none) }
