package translate

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"umg/app/dialect"
	"umg/app/llm"
)

// groupMark stands between the namespace of a tool and its name where a style has no namespaces.
const groupMark = "__"

// names are the tools whose names had to change: under the name that goes upstream, the one the client knows.
type names map[string]toolName

type toolName struct{ group, name string }

// rename gives every tool a name that the upstream's style takes, wherever the request mentions it. The turns are
// this translation's own.
func (t *translation) rename(style *llm.Traits) {
	r := t.request
	n := namer{style: style, flat: map[string]bool{}, fits: map[toolName]string{}}
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

// namer makes names, the same for the same tool, and notes how to undo them.
type namer struct {
	style *llm.Traits
	// flat are the names of tools without a namespace. No other tool may get them.
	flat  map[string]bool
	fits  map[toolName]string
	names names
}

// fit is a name that the style takes.
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
		n.names = names{}
	}
	n.names[fit], n.fits[tool] = tool, fit
	return fit
}

// allowBare lets a tool be known by its name alone, as some models call it, where only one can be meant.
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

// restore gives a call of an answer the names that the client knows, and another id where its history has this one for
// another call.
func (t *translation) restore(c *llm.ToolCall, a *dialect.Ask) {
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

// restore puts the client's name of the tool into a call.
func (n names) restore(c *llm.ToolCall) {
	if known, ok := n[c.Name]; ok {
		c.Group, c.Name = known.group, known.name
	}
}
