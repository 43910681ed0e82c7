package responses

import (
	"slices"

	"umg/app/llm"
)

// appendTools writes consecutive tools of one group as a namespace.
func appendTools(dst []byte, tools []llm.Tool) []byte {
	dst = append(dst, '[')
	group := ""
	for i := range tools {
		t := &tools[i]
		if t.Group != group {
			if group != "" {
				dst = append(dst, "]}"...)
			}
			if group = t.Group; group != "" {
				dst = textMember(append(next(dst), `{"type":"namespace"`...), "name", group)
				dst = append(dst, `,"description":"","tools":[`...)
			}
		}
		dst = appendTool(next(dst), t)
	}
	if group != "" {
		dst = append(dst, "]}"...)
	}
	return append(dst, ']')
}

func appendTool(dst []byte, t *llm.Tool) []byte {
	if t.Custom {
		dst = textMember(append(dst, `{"type":"custom"`...), "name", t.Name)
		dst = optional(dst, "description", t.Description)
		if t.Parameters != nil {
			dst = raw(key(dst, "format"), t.Parameters, `{"type":"text"}`)
		}
		return append(dst, '}')
	}
	dst = textMember(append(dst, `{"type":"function"`...), "name", t.Name)
	dst = optional(dst, "description", t.Description)
	dst = raw(key(dst, "parameters"), t.Parameters, emptySchema)
	if t.Strict == nil {
		return append(dst, `,"strict":null}`...)
	}
	return append(flagMember(dst, "strict", *t.Strict), '}')
}

// modes has the mode of each choice.
var modes = map[llm.Choosing]string{
	llm.ChooseUnset: "auto", llm.ChooseAuto: "auto", llm.ChooseNone: "none", llm.ChooseRequired: "required",
}

func appendChoice(dst []byte, r *llm.Request) []byte {
	c := &r.Choice
	if len(c.Names) == 0 || c.Mode == llm.ChooseNone {
		return llm.Quote(dst, modes[c.Mode])
	}
	custom := map[string]bool{}
	for i := range r.Tools {
		custom[r.Tools[i].Name] = custom[r.Tools[i].Name] || r.Tools[i].Custom
	}
	if c.Mode == llm.ChooseRequired && len(c.Names) == 1 {
		return appendName(dst, c.Names[0], custom)
	}
	dst = append(dst, `{"type":"allowed_tools"`...)
	dst = textMember(dst, "mode", modes[c.Mode])
	dst = append(key(dst, "tools"), '[')
	for _, name := range c.Names {
		dst = appendName(next(dst), name, custom)
	}
	return append(dst, "]}"...)
}

// appendName names a tool, with its type.
func appendName(dst []byte, name string, custom map[string]bool) []byte {
	kind := "function"
	if custom[name] {
		kind = "custom"
	}
	dst = textMember(append(dst, '{'), "type", kind)
	return append(textMember(dst, "name", name), '}')
}

func appendText(dst []byte, r *llm.Request) []byte {
	dst = append(dst, '{')
	f := &r.Format
	switch f.Kind {
	case llm.FormatText:
		dst = append(dst, `"format":{"type":"text"}`...)
	case llm.FormatJSON:
		dst = append(dst, `"format":{"type":"json_object"}`...)
	case llm.FormatSchema:
		name := f.Name
		if name == "" {
			name = "response"
		}
		dst = textMember(append(dst, `"format":{"type":"json_schema"`...), "name", name)
		dst = optional(dst, "description", f.Description)
		dst = raw(key(dst, "schema"), f.Schema, "{}")
		if f.Strict != nil {
			dst = flagMember(dst, "strict", *f.Strict)
		}
		dst = append(dst, '}')
	}
	dst = optional(dst, "verbosity", r.Verbosity)
	return append(dst, '}')
}

// summaryModes are the words for how much of the reasoning an answer contains.
var summaryModes = []string{"auto", "concise", "detailed"}

// reasoningOf returns the reasoning options of the style, which has no budgets.
func reasoningOf(r *llm.Request) (effort, show string) {
	effort = string(r.Reasoning.NamedEffort())
	if slices.Contains(summaryModes, r.Reasoning.Show) {
		show = r.Reasoning.Show
	}
	return effort, show
}

func appendMetadata(dst []byte, pairs []llm.Pair) []byte {
	dst = append(dst, '{')
	for i, p := range pairs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(llm.Quote(dst, p.Key), ':')
		dst = llm.Quote(dst, p.Value)
	}
	return append(dst, '}')
}
