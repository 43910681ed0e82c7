package responses

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// tools reads definitions. The tools of a namespace keep its name as their group.
func (r *requestDecoder) tools(list []tool, path, group string) {
	for i := range list {
		t := &list[i]
		if t.Name == "" && (t.Type == "" || t.Type == "function" || t.Type == "custom" || t.Type == "namespace") {
			r.refuse("missing_required_parameter", llm.ElementPath(path, i)+".name", "%s.name is required.", llm.ElementPath(path, i))
			return
		}
		switch t.Type {
		case "function", "":
			r.rest("tools.", t.Rest)
			r.out.Tools = append(r.out.Tools, llm.Tool{
				Name: t.Name, Group: group, Description: t.Description, Parameters: llm.ValueOrNil(t.Parameters), Strict: t.Strict,
			})
		case "custom":
			r.rest("tools.", t.Rest)
			r.out.Tools = append(r.out.Tools, llm.Tool{
				Name: t.Name, Group: group, Description: t.Description, Parameters: llm.ValueOrNil(t.Format), Custom: true,
			})
		case "namespace":
			if group != "" {
				r.refuse(invalidValue, llm.ElementPath(path, i), "A namespace cannot stand inside another one.")
				return
			}
			if t.Description != "" {
				r.out.Drop(llm.ElementPath(path, i) + ".description")
			}
			r.tools(t.Tools, llm.ElementPath(path, i)+".tools", t.Name)
		default:
			r.toolDropped = true
			r.out.Drop(llm.ElementPath(path, i) + " (" + t.Type + ")")
		}
	}
}

// choice reads tool_choice.
func (r *requestDecoder) choice(v jsontext.Value) {
	if llm.IsNull(v) {
		return
	}
	if v.Kind() == '"' {
		var mode string
		// The body was parsed before, so this cannot fail.
		_ = json.Unmarshal(v, &mode, checked)
		r.mode(mode)
		return
	}
	var c choice
	if err := json.Unmarshal(v, &c, checked); err != nil {
		r.refuse(invalidValue, "tool_choice", "tool_choice must be none, auto, required or an object that names tools.")
		return
	}
	if c.Type == "allowed_tools" {
		r.mode(c.Mode)
		for i := range c.Tools {
			r.name(&c.Tools[i])
		}
		return
	}
	r.out.Choice.Mode = llm.ChooseRequired
	r.name(&c)
}

func (r *requestDecoder) mode(mode string) {
	switch mode {
	case "auto":
		r.out.Choice.Mode = llm.ChooseAuto
	case "none":
		r.out.Choice.Mode = llm.ChooseNone
	case "required":
		r.out.Choice.Mode = llm.ChooseRequired
		if r.toolDropped && len(r.out.Tools) == 0 {
			r.refuse(unsupported, "tool_choice", "tool_choice asks for a tool call, but none of the tools can be carried to the provider "+
				"of this model because only the vendor of this style runs them; offer a tool of type function.")
		}
	default:
		r.refuse(invalidValue, "tool_choice", "tool_choice must be none, auto, required or an object that names tools.")
	}
}

// name adds a tool to the choice.
func (r *requestDecoder) name(c *choice) {
	switch c.Type {
	case "function", "custom":
		if c.Name == "" {
			r.refuse("missing_required_parameter", "tool_choice.name", "tool_choice must say the name of a tool.")
			return
		}
		r.out.Choice.Names = append(r.out.Choice.Names, c.Name)
	default:
		r.refuse(unsupported, "tool_choice", "tool_choice names a tool of type %q, which cannot be carried to the provider of this model "+
			"because only the vendor of this style runs it; name a tool of type function.", c.Type)
	}
}
