package translate

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"umg/app/dialect/rawjson"
	"umg/app/llm"
)

const (
	freeTextMember     = "input"
	freeTextParameters = `{"type":"object","properties":{"input":{"type":"string","description":"The input of the tool, as plain text."}},` +
		`"required":["input"],"additionalProperties":false}`
)

// wrapFreeText replaces tools that take free text by functions with one string parameter, for styles without such tools. The grammar of
// the text becomes a part of the description. The turns are this translation's own copy.
func (t *translation) wrapFreeText() {
	r := t.request
	for i := range r.Tools {
		tool := &r.Tools[i]
		if !tool.Custom {
			continue
		}
		if t.freeText == nil {
			t.freeText = map[string]bool{}
		}
		t.freeText[tool.Name] = true
		var format struct {
			Type       string `json:"type"`
			Syntax     string `json:"syntax"`
			Definition string `json:"definition"`
		}
		if json.Unmarshal(tool.Parameters, &format) == nil && format.Type == "grammar" && format.Definition != "" {
			tool.Description = strings.TrimPrefix(tool.Description+paragraph, paragraph) +
				"The " + freeTextMember + " follows this grammar (" + format.Syntax + "):\n" + format.Definition
		}
		tool.Custom, tool.Parameters = false, []byte(freeTextParameters)
	}
	for i := range r.Turns {
		for j := range r.Turns[i].Parts {
			switch p := &r.Turns[i].Parts[j]; {
			case p.Kind == llm.Result:
				p.Result.Custom = false
			case p.Kind == llm.Call && p.Call.Custom:
				p.Call.Custom, p.Call.Arguments = false, `{"`+freeTextMember+`":`+rawjson.Quote(p.Call.Arguments)+`}`
			}
		}
	}
}

// unwrapFreeText returns the text in the arguments of such a function. Arguments in another form stay as they are.
func unwrapFreeText(arguments string) string {
	var members map[string]jsontext.Value
	if json.Unmarshal([]byte(arguments), &members, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
		return arguments
	}
	value, ok := members[freeTextMember]
	// Some models give the parameter another name.
	if !ok && len(members) == 1 {
		for _, value = range members {
			ok = true
		}
	}
	if !ok || value.Kind() != '"' {
		return arguments
	}
	return rawjson.String(value)
}
