// Package prompt keeps what people have prepared in the playground: prompts with versions, links that show one of them to
// others, and files to take them along. It knows what a prompt consists of and which places in it are filled with values.
// It does not know how a prompt is sent to a model, nor how it is drawn.
package prompt

import (
	"regexp"
	"slices"

	"umg/app"
)

// These limits apply to variables.
const (
	variablesMax   = 100     // A prompt has at most this many distinct variables.
	filledBytesMax = 4 << 20 // A text with its values has at most this many bytes.
	nameForm       = `[A-Za-z][A-Za-z0-9_]{0,39}`
)

var (
	variable     = regexp.MustCompile(`\{\{(` + nameForm + `)\}\}`)
	variableName = regexp.MustCompile(`^` + nameForm + `$`)
)

// Variables are the names of the places {{name}} in a text, each once, in the order in which they appear first. Beyond a
// hundred they are not told; Fill then says which it misses.
func Variables(text string) []string {
	var names []string
	for _, m := range variable.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
		if len(names) == variablesMax {
			break
		}
	}
	return names
}

// Fill puts the values into the places. What a value brings with it is never filled again, so that no text of a user can
// pull in another's. An error names the variable that has no value.
func Fill(text string, values map[string]string) (string, error) {
	var filled []byte
	last := 0
	for _, at := range variable.FindAllStringSubmatchIndex(text, -1) {
		name := text[at[2]:at[3]]
		value, ok := values[name]
		if !ok {
			return "", app.Errorf(app.Invalid, "variable_missing", "The variable {{%s}} has no value. Enter one, or take it out of the text.", name).
				At("var_" + name)
		}
		filled = append(append(filled, text[last:at[0]]...), value...)
		if len(filled) > filledBytesMax {
			break
		}
		last = at[1]
	}
	if len(filled)+len(text)-last > filledBytesMax {
		return "", app.Errorf(app.TooLarge, "request_too_large",
			"With its variables filled in, a text is larger than %d MB. Use shorter values.", filledBytesMax>>20)
	}
	if filled == nil {
		return text, nil
	}
	return string(append(filled, text[last:]...)), nil
}
