package chat

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// grammar is the format of a tool that takes free text. This style has its two members in an object of their own; the
// form has them beside the type.
type grammar struct {
	Type       string         `json:"type"`
	Syntax     string         `json:"syntax,omitzero"`
	Definition string         `json:"definition,omitzero"`
	Grammar    *grammarRules  `json:"grammar,omitzero"`
	Rest       jsontext.Value `json:",embed"`
}

type grammarRules struct {
	Syntax     string `json:"syntax"`
	Definition string `json:"definition"`
}

// flattenGrammar takes the members of a grammar out of their object. Other formats stay as they are.
func flattenGrammar(format []byte) []byte {
	return reformat(format, func(g *grammar) bool {
		if g.Grammar == nil {
			return false
		}
		g.Syntax, g.Definition, g.Grammar = g.Grammar.Syntax, g.Grammar.Definition, nil
		return true
	})
}

// nestGrammar undoes flatFormat.
func nestGrammar(format []byte) []byte {
	return reformat(format, func(g *grammar) bool {
		if g.Type != "grammar" || g.Definition == "" {
			return false
		}
		g.Grammar = &grammarRules{Syntax: g.Syntax, Definition: g.Definition}
		g.Syntax, g.Definition = "", ""
		return true
	})
}

func reformat(format []byte, change func(*grammar) bool) []byte {
	var g grammar
	if len(format) == 0 || json.Unmarshal(format, &g, llm.Lenient) != nil || !change(&g) {
		return format
	}
	out, err := json.Marshal(&g, verbatim)
	if err != nil {
		return format
	}
	return out
}
