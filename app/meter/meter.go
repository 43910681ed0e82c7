// Package meter has the table of meters: what calls consume and rate cards price. Services count in Counts, and billing prices them.
package meter

import (
	"fmt"
	"strings"
)

// Meter is something a call consumes and a rate card may price. Its number is stored in records and never changes: a new meter gets
// the next number.
type Meter uint8

// Meters of tokens are disjoint: each token is counted by exactly one of them.
const (
	InputTokens Meter = iota
	CacheReadTokens
	CacheWriteTokens
	OutputTokens
	ReasoningTokens
	Images
	Seconds
	Characters
	Requests
	CacheWriteHourTokens
	CacheWriteLongTokens
	InputAudioTokens
	CacheReadAudioTokens
	OutputAudioTokens
	InputImageTokens
	OutputImageTokens
	InputVideoTokens
	WebSearches
	WebSearchPreviews
	SocialSearches
	GroundedPrompts
	GroundedQueries
	WebFetches
	FileSearches
	CodeSessions
	ContainerSeconds
	MCPCalls
	InputSeconds
	Megapixels
	SearchUnits
	CitationTokens
	CacheReadImageTokens
	ToolCalls
	Count // Count is the number of meters and not a meter itself.
)

// Counts are the quantities of one call or of many, by meter.
type Counts [Count]int64

// Unit is what a meter counts.
type Unit string

// Stored quantities are in the smallest unit: milliseconds and thousandths of a megapixel.
const (
	UnitToken     Unit = "token"
	UnitEach      Unit = "each"
	UnitSecond    Unit = "second"
	UnitCharacter Unit = "character"
	UnitMegapixel Unit = "megapixel"
)

// Scale is how many stored units one unit of a price has.
func (u Unit) Scale() int64 {
	if u == UnitSecond || u == UnitMegapixel {
		return 1_000
	}
	return 1
}

// Side says which part of a call a meter belongs to.
type Side string

// Meters of SideInput add up to the prompt, which decides about prompt-size tiers.
const (
	SideInput  Side = "input"
	SideOutput Side = "output"
	SideFee    Side = "fee"
	SideMedia  Side = "media"
)

// Info describes a meter.
type Info struct {
	// Name is the name in the catalog, in tables and in the API.
	Name string
	Unit Unit
	Side Side
	// Label is the name on pages, and What a sentence about it.
	Label, What string
	// PricedAs is the meter whose price applies when a card has none for this one, as price lists mean it. It is the meter itself when
	// a quantity without a price of its own cannot be priced.
	PricedAs Meter
}

var table = [Count]Info{
	InputTokens: {"input_tokens", UnitToken, SideInput, "Input", "Text of the prompt that no cache had.", InputTokens},
	CacheReadTokens: {"cache_read_tokens", UnitToken, SideInput, "Cached input",
		"Parts of the prompt that the provider read from its cache.", InputTokens},
	CacheWriteTokens: {"cache_write_tokens", UnitToken, SideInput, "Cache writes",
		"Parts of the prompt that the provider wrote to its cache for its usual time, such as five minutes.", InputTokens},
	OutputTokens: {"output_tokens", UnitToken, SideOutput, "Output", "Text and tool calls of the answer.", OutputTokens},
	ReasoningTokens: {"reasoning_tokens", UnitToken, SideOutput, "Reasoning",
		"What the model thought before and between the parts of its answer.", OutputTokens},
	Images:     {"images", UnitEach, SideMedia, "Images", "Images that were made.", Images},
	Seconds:    {"seconds", UnitSecond, SideMedia, "Seconds", "Seconds of video or sound that were made.", Seconds},
	Characters: {"characters", UnitCharacter, SideMedia, "Characters", "Characters of text that were spoken.", Characters},
	Requests:   {"requests", UnitEach, SideFee, "Requests", "Requests that were answered.", Requests},
	CacheWriteHourTokens: {"cache_write_1h_tokens", UnitToken, SideInput, "Cache writes, 1 hour",
		"Parts of the prompt that the provider wrote to its cache for an hour.", CacheWriteTokens},
	CacheWriteLongTokens: {"cache_write_long_tokens", UnitToken, SideInput, "Cache writes, other lifetimes",
		"Parts of the prompt that the provider wrote to its cache for any other time.", CacheWriteTokens},
	InputAudioTokens: {"input_audio_tokens", UnitToken, SideInput, "Audio input", "Sound in the prompt.", InputTokens},
	CacheReadAudioTokens: {"cache_read_audio_tokens", UnitToken, SideInput, "Cached audio input",
		"Sound in the prompt that the provider read from its cache.", InputAudioTokens},
	OutputAudioTokens: {"output_audio_tokens", UnitToken, SideOutput, "Audio output", "Sound in the answer.", OutputTokens},
	InputImageTokens:  {"input_image_tokens", UnitToken, SideInput, "Image input", "Images in the prompt.", InputTokens},
	OutputImageTokens: {"output_image_tokens", UnitToken, SideOutput, "Image output", "Images in the answer.", OutputTokens},
	InputVideoTokens:  {"input_video_tokens", UnitToken, SideInput, "Video input", "Video in the prompt.", InputTokens},
	WebSearches:       {"web_searches", UnitEach, SideFee, "Web searches", "Searches of the web by the provider.", WebSearches},
	WebSearchPreviews: {"web_search_previews", UnitEach, SideFee, "Web searches, preview",
		"Searches of the web by the provider's preview tool.", WebSearchPreviews},
	SocialSearches: {"social_searches", UnitEach, SideFee, "Searches of posts",
		"Searches of a social network by the provider.", SocialSearches},
	GroundedPrompts: {"grounded_prompts", UnitEach, SideFee, "Grounded prompts",
		"Prompts that the provider answered with results of a search.", GroundedPrompts},
	GroundedQueries: {"grounded_queries", UnitEach, SideFee, "Grounding queries",
		"Queries that the provider sent to a search to answer a prompt.", GroundedQueries},
	WebFetches:   {"web_fetches", UnitEach, SideFee, "Page fetches", "Pages of the web that the provider fetched.", WebFetches},
	FileSearches: {"file_searches", UnitEach, SideFee, "File searches", "Searches of files by the provider.", FileSearches},
	CodeSessions: {"code_sessions", UnitEach, SideFee, "Code sessions", "Sessions in which the provider ran code.", CodeSessions},
	ContainerSeconds: {"container_seconds", UnitSecond, SideFee, "Container time",
		"Time for which the provider kept a container.", ContainerSeconds},
	MCPCalls: {"mcp_calls", UnitEach, SideFee, "MCP calls", "Calls of tools of other servers by the provider.", MCPCalls},
	InputSeconds: {"input_seconds", UnitSecond, SideMedia, "Seconds of input",
		"Seconds of sound or video in the request.", InputSeconds},
	Megapixels:  {"megapixels", UnitMegapixel, SideMedia, "Megapixels", "Megapixels of images that were made.", Megapixels},
	SearchUnits: {"search_units", UnitEach, SideFee, "Search units", "Units of documents that were ranked.", SearchUnits},
	CitationTokens: {"citation_tokens", UnitToken, SideOutput, "Citations",
		"Text of sources that the provider read for the answer.", InputTokens},
	CacheReadImageTokens: {"cache_read_image_tokens", UnitToken, SideInput, "Cached image input",
		"Images in the prompt that the provider read from its cache.", CacheReadTokens},
	ToolCalls: {"tool_calls", UnitEach, SideFee, "Tool calls", "Calls of other tools that the provider ran.", ToolCalls},
}

// Info returns the row of the meter. It panics when there is no such meter.
func (m Meter) Info() Info { return table[m] }

// String is the meter's name in the catalog, in tables and in the API.
func (m Meter) String() string {
	if m >= Count {
		return fmt.Sprintf("meter(%d)", uint8(m))
	}
	return table[m].Name
}

// Parse finds a meter by its name.
func Parse(name string) (Meter, error) {
	names := make([]string, 0, Count)
	for m := range Count {
		if table[m].Name == name {
			return m, nil
		}
		names = append(names, table[m].Name)
	}
	return 0, fmt.Errorf("%q is not a meter; meters are %s", name, strings.Join(names, ", "))
}

// Prompt is the number of all input tokens, cached or not, of every kind. Prompt-size tiers of rate cards depend on it.
func (c *Counts) Prompt() (n int64) {
	for m := range Count {
		if table[m].Side == SideInput {
			n += c[m]
		}
	}
	return n
}

// Output is the number of all output tokens, reasoning included.
func (c *Counts) Output() (n int64) {
	for m := range Count {
		if table[m].Side == SideOutput && table[m].Unit == UnitToken {
			n += c[m]
		}
	}
	return n
}
