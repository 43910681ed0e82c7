package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"umg/app/llm"
)

// groupMark stands between the namespace of a tool and its name where a style has no namespaces.
const groupMark = "__"

// names are the tools whose names had to change: under the name that goes upstream, the one the client knows.
type names map[string]toolName

type toolName struct{ group, name string }

// rename gives every tool a name that the upstream's style takes, wherever the request mentions it.
func (t *translation) rename(style *llm.Traits) {
	r := t.request
	r.Tools = slices.Clone(r.Tools)
	for i := range r.Tools {
		tool := &r.Tools[i]
		tool.Name, tool.Group = t.nameFor(style, tool.Group, tool.Name), ""
	}
	r.Choice.Names = slices.Clone(r.Choice.Names)
	for i, name := range r.Choice.Names {
		group := ""
		for j := range t.original.Tools {
			if t.original.Tools[j].Name == name {
				group = t.original.Tools[j].Group
			}
		}
		r.Choice.Names[i] = t.nameFor(style, group, name)
	}
	r.Turns = slices.Clone(r.Turns)
	for i := range r.Turns {
		parts := slices.Clone(r.Turns[i].Parts)
		for j := range parts {
			switch p := &parts[j]; p.Kind {
			case llm.Call:
				p.Call.Name, p.Call.Group = t.nameFor(style, p.Call.Group, p.Call.Name), ""
			case llm.Result:
				p.Result.Name = t.resultName(style, p.Result)
			}
		}
		r.Turns[i].Parts = parts
	}
}

// resultName is the name of the tool a result belongs to, by the call it answers.
func (t *translation) resultName(style *llm.Traits, result llm.ToolResult) string {
	for i := range t.original.Turns {
		for j := range t.original.Turns[i].Parts {
			if p := &t.original.Turns[i].Parts[j]; p.Kind == llm.Call && p.Call.ID == result.CallID {
				return t.nameFor(style, p.Call.Group, p.Call.Name)
			}
		}
	}
	return t.nameFor(style, "", result.Name)
}

// nameFor is a name that the style takes, and the same for the same tool. It notes how to undo it.
func (t *translation) nameFor(style *llm.Traits, group, name string) string {
	full := name
	if group != "" {
		full = group + groupMark + name
	}
	if full == "" || full == name && style.TakesName(full) {
		return full
	}
	fit := full
	if !style.TakesName(full) {
		sum := sha256.Sum256([]byte(full))
		mark := "_" + hex.EncodeToString(sum[:4])
		fit = "t_" + strings.Map(func(r rune) rune {
			if r < 0x80 && style.TakesName("a"+string(r)) {
				return r
			}
			return '_'
		}, full)
		fit = fit[:min(len(fit), style.NameMax-len(mark))] + mark
	}
	if t.names == nil {
		t.names = names{}
	}
	t.names[fit] = toolName{group, name}
	return fit
}

// restore puts the client's name of the tool into a call.
func (n names) restore(c *llm.ToolCall) {
	if known, ok := n[c.Name]; ok {
		c.Group, c.Name = known.group, known.name
	}
}
