package meter

import (
	"math"
	"strconv"
)

// nouns are what the meters count that do not count tokens, as one and as many.
var nouns = map[Meter][2]string{
	Images: {"image", "images"}, Seconds: {"second", "seconds"}, Characters: {"character", "characters"}, Requests: {"request", "requests"},
	WebSearches: {"web search", "web searches"}, WebSearchPreviews: {"preview web search", "preview web searches"},
	SocialSearches: {"search of posts", "searches of posts"}, GroundedPrompts: {"grounded prompt", "grounded prompts"},
	GroundedQueries: {"grounding query", "grounding queries"}, WebFetches: {"page fetch", "page fetches"},
	FileSearches: {"file search", "file searches"}, CodeSessions: {"code session", "code sessions"},
	ContainerSeconds: {"second of a container", "seconds of a container"}, MCPCalls: {"MCP call", "MCP calls"},
	InputSeconds: {"second of input", "seconds of input"}, Megapixels: {"megapixel", "megapixels"},
	SearchUnits: {"search unit", "search units"}, ToolCalls: {"tool call", "tool calls"},
}

// Nouns are what the meter counts, as one and as many, such as token and tokens.
func (m Meter) Nouns() (one, many string) {
	if n, ok := nouns[m]; ok {
		return n[0], n[1]
	}
	return "token", "tokens"
}

// Price lists quote prices for these quantities.
const (
	thousand = 1_000
	million  = 1_000_000
)

// QuotedQuantity is the quantity for which price lists quote the price of the meter: a million tokens, a thousand searches, one second.
func (m Meter) QuotedQuantity() int64 {
	switch info := m.Info(); {
	case info.Unit == UnitToken || info.Unit == UnitCharacter:
		return million
	case info.Side == SideFee && info.Unit == UnitEach && m != Requests:
		return thousand
	}
	return 1
}

// Quote converts a price of a quantity, in units of the meter, to the quantity for which price lists quote it, such as 1M tokens. A
// price that is not exact there, or that an amount cannot hold, stays as it is.
func (m Meter) Quote(amount, per int64) (quoted int64, quantity string) {
	if usual := m.QuotedQuantity(); per > 0 {
		switch {
		case usual%per == 0 && amount <= math.MaxInt64/(usual/per):
			amount, per = amount*(usual/per), usual
		case per%usual == 0 && amount%(per/usual) == 0:
			amount, per = amount/(per/usual), usual
		}
	}
	one, many := m.Nouns()
	switch per {
	case 1:
		return amount, one
	case thousand:
		return amount, "1,000 " + many
	case million:
		return amount, "1M " + many
	}
	return amount, strconv.FormatInt(per, 10) + " " + many
}
