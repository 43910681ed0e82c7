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

// Usage is what one text call used, in tokens. Input, CacheRead and CacheWrite are disjoint: each input token is in
// exactly one of them. Reasoning is a part of Output. Wires disagree on both, so each dialect settles it at its edge.
type Usage struct {
	Input      int64
	CacheRead  int64
	CacheWrite int64
	Output     int64
	Reasoning  int64
}

// InputTotal counts every input token, cached or not.
func (u Usage) InputTotal() int64 { return u.Input + u.CacheRead + u.CacheWrite }

// TokensMax bounds every count of tokens that is believed.
const TokensMax = 1 << 31

// Valid reports whether the counts can be true: none negative, none beyond TokensMax, reasoning within the output.
func (u Usage) Valid() bool {
	for _, n := range [...]int64{u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning} {
		if n < 0 || n > TokensMax {
			return false
		}
	}
	return u.InputTotal() <= TokensMax && u.Reasoning <= u.Output
}
