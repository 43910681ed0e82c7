// Package llm is the canonical form of a text call: requests, answers, the events of a stream and the tokens used. A Codec for each
// style reads and writes it.
package llm

// Style is one of the four text protocols.
type Style string

// The four styles.
const (
	Chat      Style = "chat"
	Messages  Style = "messages"
	Responses Style = "responses"
	Native    Style = "native"
)

// Styles lists all four, in the order they are shown.
func Styles() []Style { return []Style{Chat, Messages, Responses, Native} }

// ParseStyle reports whether s names a style.
func ParseStyle(s string) (Style, bool) {
	for _, style := range Styles() {
		if string(style) == s {
			return style, true
		}
	}
	return "", false
}
