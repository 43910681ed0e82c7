package translate

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"umg/app/llm"
)

// groupMark joins the namespace of a tool and its name in styles without namespaces.
const groupMark = "__"

// names maps the name of a tool for the provider to its name for the client, when the two differ.
type names map[string]toolName

type toolName struct{ group, name string }

// rename gives every tool a name that the style of the provider accepts, everywhere in the request. The turns are this translation's
// own copy.
func (t *translation) rename(style *llm.Traits) {
	r := t.request
	n := namer{style: style}
	if len(r.Tools) > 0 {
		n.flat = make(map[string]bool, len(r.Tools))
	}
	// groups are the namespaces of tools, by the names of the tools.
	groups := map[string]string{}
	for i := range r.Tools {
		if tool := &r.Tools[i]; tool.Group == "" {
			n.flat[tool.Name] = true
		} else {
			groups[tool.Name] = tool.Group
		}
	}
	r.Tools = slices.Clone(r.Tools)
	for i := range r.Tools {
		tool := &r.Tools[i]
		tool.Name, tool.Group = n.fit(toolName{tool.Group, tool.Name}), ""
	}
	n.allowBare(t.original.Tools)
	r.Choice.Names = slices.Clone(r.Choice.Names)
	for i, name := range r.Choice.Names {
		group := groups[name]
		if n.flat[name] {
			group = ""
		}
		r.Choice.Names[i] = n.fit(toolName{group, name})
	}
	// called is the name of the tool, by the id of the call.
	called := map[string]string{}
	for i := range r.Turns {
		parts := r.Turns[i].Parts
		for j := range parts {
			switch p := &parts[j]; p.Kind {
			case llm.Call:
				p.Call.Name, p.Call.Group = n.fit(toolName{p.Call.Group, p.Call.Name}), ""
				called[p.Call.ID] = p.Call.Name
			case llm.Result:
				name, known := called[p.Result.CallID]
				if !known {
					name = n.fit(toolName{name: p.Result.Name})
				}
				p.Result.Name = name
			}
		}
	}
	t.names = n.names
}

// namer makes the same name for the same tool, and records how to undo it.
type namer struct {
	style *llm.Traits
	// flat are the names of tools without a namespace. No other tool may get them.
	flat  map[string]bool
	fits  map[toolName]string
	names names
}

// fit returns a name that the style accepts.
func (n *namer) fit(tool toolName) string {
	if tool.group == "" && (tool.name == "" || n.style.TakesName(tool.name)) {
		return tool.name
	}
	if fit, known := n.fits[tool]; known {
		return fit
	}
	full := tool.name
	if tool.group != "" {
		full = tool.group + groupMark + tool.name
	}
	fit := full
	if _, taken := n.names[full]; taken || n.flat[full] || !n.style.TakesName(full) {
		sum := sha256.Sum256([]byte(tool.group + "\n" + tool.name))
		mark := "_" + hex.EncodeToString(sum[:4])
		fit = "t_" + strings.Map(func(r rune) rune {
			if r < 0x80 && n.style.TakesName("a"+string(r)) {
				return r
			}
			return '_'
		}, full)
		fit = fit[:min(len(fit), n.style.NameMax-len(mark))] + mark
	}
	if n.names == nil {
		n.names, n.fits = names{}, map[toolName]string{}
	}
	n.names[fit], n.fits[tool] = tool, fit
	return fit
}

// allowBare accepts the name of a tool without its namespace, as some models call it, when the name is unique.
func (n *namer) allowBare(tools []llm.Tool) {
	meant := map[string]int{}
	for i := range tools {
		meant[tools[i].Name]++
	}
	for i := range tools {
		tool := toolName{tools[i].Group, tools[i].Name}
		if _, taken := n.names[tool.name]; tool.group != "" && meant[tool.name] == 1 && !taken {
			n.names[tool.name] = tool
		}
	}
}

// restore gives a call of an answer the name that the client knows, and another id when the history uses this one for another call.
func (t *translation) restore(c *llm.ToolCall, a *llm.ResponseOptions) {
	c.Custom = c.Custom || t.freeText[c.Name]
	t.names.restore(c)
	if t.used == nil {
		t.used = map[string]bool{}
		for i := range t.request.Turns {
			for j := range t.request.Turns[i].Parts {
				if p := &t.request.Turns[i].Parts[j]; p.Kind == llm.Call {
					t.used[p.Call.ID] = true
				}
			}
		}
	}
	if t.used[c.ID] {
		c.ID += "_" + a.MintID("", 0)
	}
}

// restore replaces the name of a call by the name that the client knows.
func (n names) restore(c *llm.ToolCall) {
	if known, ok := n[c.Name]; ok {
		c.Group, c.Name = known.group, known.name
	}
}
