package dialect

import (
	"slices"

	meters "umg/app/meter"
)

// The numbers of uses and of tokens for which credit is reserved when a request does not bound them. In recorded answers of the
// messages style a search added 7,300 tokens, which each later pass of the model read again.
const (
	usesMax        = 5
	usesUnbounded  = 10
	searchTokens   = 8_192
	fetchTokens    = 25_000
	contextTokens  = 16_384
	codeTokens     = 4_096
	groundedTokens = 512
)

// toolsOfMessages are tools that providers of the messages style run and count. Each has an own name for each date.
var toolsOfMessages = []Extra{
	{
		At: "tools[]", What: providerTool, Rule: ExtraTool, Types: []string{"web_search_#"},
		By: []string{"anthropic", "vertex"}, Meters: []meters.Meter{meters.WebSearches}, Betas: []string{"web-search-*"},
		Uses: &Uses{Member: "max_uses", Max: usesMax, Tokens: searchTokens, Rereads: true},
	},
	{
		At: "tools[]", What: providerTool, Rule: ExtraTool, Types: []string{"web_fetch_#"},
		By: []string{"anthropic"}, Meters: []meters.Meter{meters.WebFetches}, Betas: []string{"web-fetch-*"},
		Uses: &Uses{Member: "max_uses", Max: usesMax, Tokens: fetchTokens, TokensMember: "max_content_tokens", Rereads: true},
	},
}

// searchesOfResponses bounds all tools that the provider runs for a request of the responses style.
var searchesOfResponses = Uses{Member: "max_tool_calls", OfRequest: true, Max: usesMax, Tokens: searchTokens, Rereads: true}

// toolsOfResponses are tools that providers of the responses style run and whose calls stand in the answer.
var toolsOfResponses = slices.Concat(
	toolOfResponses(meters.WebSearches, &searchesOfResponses, []string{"openai", "azure"}, "web_search", "web_search_#_#_#"),
	toolOfResponses(meters.WebSearchPreviews, &searchesOfResponses, []string{"openai", "azure"},
		"web_search_preview", "web_search_preview_#_#_#"),
	toolOfResponses(meters.WebSearches, &Uses{Max: usesUnbounded, Tokens: searchTokens, Rereads: true}, []string{"xai"}, "web_search"),
	toolOfResponses(meters.SocialSearches, &Uses{Max: usesUnbounded, Tokens: searchTokens, Rereads: true}, []string{"xai"}, "x_search"),
	toolOfResponses(meters.CodeSessions, &Uses{Max: usesUnbounded, Tokens: codeTokens, Rereads: true}, []string{"xai"}, "code_interpreter"),
)

// toolOfResponses returns the rows for a tool of the responses style, wherever a request names it.
func toolOfResponses(fee meters.Meter, uses *Uses, by []string, types ...string) []Extra {
	tool := Extra{At: "tools[]", What: providerTool, Rule: ExtraTool, Types: types, By: by, Meters: []meters.Meter{fee}, Uses: uses}
	chosen := tool
	chosen.At, chosen.Rule, chosen.Uses = "tool_choice", ExtraRefused, nil
	listed := tool
	listed.At, listed.Uses = "tool_choice.tools[]", nil
	return []Extra{tool, chosen, listed}
}

// toolsOfNative are tools that providers of the native style run and count. A rate card says whether searches have a fee for each prompt
// or for each query.
var toolsOfNative = []Extra{
	toolOfNative("googleSearch", meters.GroundedPrompts, Uses{Max: 1, Tokens: groundedTokens}),
	toolOfNative("googleSearch", meters.GroundedQueries, Uses{Max: usesUnbounded, Tokens: groundedTokens}),
	toolOfNative("googleSearchRetrieval", meters.GroundedPrompts, Uses{Max: 1, Tokens: groundedTokens}),
	toolOfNative("urlContext", meters.WebFetches, Uses{Max: usesUnbounded, Tokens: contextTokens}),
	toolOfNative("codeExecution", meters.CodeSessions, Uses{Max: usesMax, Tokens: codeTokens, Rereads: true}),
}

func toolOfNative(name string, fee meters.Meter, uses Uses) Extra {
	return Extra{
		At: "tools[]." + name, What: providerTool, Rule: ExtraTool, By: []string{"gemini", "vertex"}, Meters: []meters.Meter{fee},
		NoFee: fee == meters.WebFetches || fee == meters.CodeSessions, Uses: &uses,
	}
}

// tiersOfChat are the service tiers of the chat and the responses style. Their answers name the tier that served the call.
var tiersOfChat = []Extra{
	tier("service_tier", "flex", "flex", "openai", "azure", "groq", "compatible"),
	tier("service_tier", "priority", "priority", "openai", "azure", "groq", "compatible"),
}
