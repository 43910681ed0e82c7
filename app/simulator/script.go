package simulator

import (
	"encoding/json"
	"strings"
)

// scripted are the calls that the prompt spells out, one a line, as "call: NAME ARGUMENTS". Nothing of the arguments
// is read or changed, so that a test knows every byte of them.
func scripted(asked string) []call {
	var calls []call
	for line := range strings.Lines(asked) {
		rest, ok := strings.CutPrefix(line, "call: ")
		if !ok {
			continue
		}
		name, arguments, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if strings.HasPrefix(arguments, "{") && json.Valid([]byte(arguments)) {
			calls = append(calls, call{name, arguments})
		}
	}
	return calls
}
