package gateway

import (
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
)

// inputRule is the most input tokens that a provider counts for a request, by the size of the request. A test holds the rules against
// recorded requests of known size.
type inputRule struct {
	// reader is the name of the usage reader of the provider; empty for providers that are not known. Style limits a rule for unknown
	// providers to one style.
	reader string
	style  llm.Style
	// bytesPerToken is the fewest bytes of a token, in tenths, of the whole request without media and dense text.
	bytesPerToken int64
	// prompt is what the provider adds to every prompt, tools what it adds when there are tools, tool what it adds for each tool, and
	// typedTool what it adds for each tool that it has defined and the client runs.
	prompt, tools, tool, typedTool int64
	// image is the most tokens of an image by the formula of the provider.
	image int64
}

// inputRules has the rules by usage reader, and those of unknown providers by style at the end.
//
// The rules for images follow the formulas of the providers: tiles of 512 pixels at OpenAI, xAI and the hosts of Llama, an area in
// pixels divided by 750 at Anthropic, a fixed number by resolution at Google, and patches of up to 1,540 pixels a side at Mistral.
var inputRules = []inputRule{
	{reader: "openai", bytesPerToken: 32, prompt: 8, tools: 100, tool: 32, typedTool: 512, image: 1536},
	{reader: "anthropic", bytesPerToken: 25, prompt: 64, tools: 576, typedTool: 1024, image: 1600},
	{reader: "gemini", bytesPerToken: 40, prompt: 4, typedTool: 512, image: 1120},
	{reader: "xai", bytesPerToken: 30, prompt: 192, tools: 96, tool: 64, typedTool: 512, image: 1792},
	{reader: "groq", bytesPerToken: 30, prompt: 64, tools: 608, tool: 16, typedTool: 512, image: 1600},
	{reader: "mistral", bytesPerToken: 30, prompt: 8, tools: 48, tool: 16, typedTool: 512, image: 4096},
	{reader: "deepseek", bytesPerToken: 30, prompt: 64, tools: 160, tool: 64, typedTool: 512, image: 4096},
	{reader: "openrouter", bytesPerToken: 25, prompt: 128, tools: 448, tool: 16, typedTool: 1024, image: 1600},
	{reader: "cerebras", bytesPerToken: 30, prompt: 64, tools: 160, tool: 64, typedTool: 512, image: 4096},
	{reader: "zai", bytesPerToken: 30, prompt: 8, tools: 64, tool: 32, typedTool: 512, image: 4096},
	{reader: "ollama", bytesPerToken: 30, prompt: 64, tools: 96, tool: 32, typedTool: 512, image: 4096},
	{reader: "perplexity", bytesPerToken: 30, prompt: 16, tools: 96, tool: 64, typedTool: 512, image: 4096},
	{style: llm.Messages, bytesPerToken: 25, prompt: 64, tools: 576, typedTool: 1024, image: 4096},
	{style: llm.Converse, bytesPerToken: 25, prompt: 64, tools: 896, tool: 64, typedTool: 1024, image: 4096},
	{style: llm.Native, bytesPerToken: 30, prompt: 64, tools: 96, tool: 32, typedTool: 512, image: 2240},
	{bytesPerToken: 30, prompt: 64, tools: 448, tool: 64, typedTool: 512, image: 4096},
}

// opaqueTokens is added for each document, sound or film whose data the request has, as a page may have more tokens than its bytes show.
const opaqueTokens = 2048

// tenths is the unit of inputRule.bytesPerToken.
const tenths = 10

// inputRuleOf is the rule for a provider by the name of its usage reader, or for an unknown one that speaks a style.
func inputRuleOf(reader string, style llm.Style) *inputRule {
	for i := range inputRules {
		r := &inputRules[i]
		if r.reader != "" && r.reader == reader || r.reader == "" && (r.style == style || r.style == "") {
			return r
		}
	}
	return &inputRules[len(inputRules)-1] // It has neither a reader nor a style, so the loop has found it already.
}

// bound is the most input tokens of a request. It does not count documents that the provider fetches, and what its own tools read.
func (r *inputRule) bound(head *dialect.Head) int64 {
	n := (head.TextBytes-head.DenseBytes)*tenths/r.bytesPerToken + head.DenseTokens + r.prompt
	if head.Tools > 0 {
		n += r.tools + head.Tools*r.tool + head.TypedTools*r.typedTool
	}
	return n + head.Images*r.image + (head.Opaque-head.Documents)*opaqueTokens
}

// inputMost is the most input tokens of a request at any provider of a model.
func inputMost(head *dialect.Head, m *catalog.Model) (most int64) {
	for i := range m.Routes {
		route := &m.Routes[i]
		most = max(most, inputRuleOf(route.Provider.UsageReader, route.Style).bound(head))
	}
	if len(m.Routes) == 0 {
		most = inputRuleOf("", "").bound(head)
	}
	return most
}
