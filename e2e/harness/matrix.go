package harness

import (
	"encoding/json"
)

// SameJSON reports whether two texts are the same JSON but for white space between its tokens: every digit, every
// escape and the order of members count.
func SameJSON(a, b string) bool { return withoutSpace(a) == withoutSpace(b) }

func withoutSpace(text string) string {
	raw, err := json.Marshal(json.RawMessage(text))
	if err != nil {
		return "no JSON: " + text
	}
	return string(raw)
}
