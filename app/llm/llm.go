// Package llm is the one in-memory form of a text call: requests, answers, the events of a stream, the tokens used,
// and the codec that each wire format supplies. It knows what the four text protocols have in common and which
// features each of them can name. It does not know any wire format, HTTP, the clock, a logger or prices.
package llm

// Style is one of the four text protocols.
type Style string

// The four styles, named as in service.md.
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
