package dialect

import (
	"bytes"
	"slices"

	"umg/app/llm"
	meters "umg/app/meter"
)

// ExtraRule says how the gateway handles an extra.
type ExtraRule uint8

// These are the rules.
const (
	// ExtraDropped removes the extra and lists it for the client, because the request makes sense without it.
	ExtraDropped ExtraRule = iota + 1
	// ExtraRefused refuses the request, because it does not make sense without the extra.
	ExtraRefused
	// ExtraTool removes a tool when the request has other tools, and refuses the request otherwise.
	ExtraTool
)

// Extra is a service of a provider beside its answer, which has a price of its own or stores an object. A request for it goes to a
// provider only when the row allows that, the provider does it, and the rate card of the model prices it.
type Extra struct {
	// At is the position of the extra: names of members joined by dots, [] for each element of an array, and * for each member of an
	// object. In the native style it stands for both spellings.
	At string
	// What describes the extra in error messages.
	What string
	Rule ExtraRule
	// Types limits the row to objects of these types, and Except to objects of all other types. For a * they are names of members.
	Types, Except []string
	// Only limits the row to these values, without regard to case. Values in Free, and null, are not an extra.
	Only, Free []string
	// Unless are members of which one that is not empty means that the object is not an extra.
	Unless []string
	// Instead is the JSON value that replaces a dropped member. When it is empty the member is removed.
	Instead string
	// Listed is the name in the list of dropped members. When it is empty the list has the position in the request.
	Listed string

	// By has the names of the usage readers of those providers that do this and whose answers count it exactly. An extra without any is
	// never sent to a provider.
	By []string
	// Meters are those that the extra causes. A rate card allows the extra when it has prices of its own for all of them. A price of zero
	// means that the provider takes no fee beside the tokens.
	Meters []meters.Meter
	// NoFee means that the provider takes no fee and counts no uses, so that the prices of Meters must be zero.
	NoFee bool
	// Terms are those on which the extra is served. A rate card allows the extra when it has a condition for them.
	Terms meters.Terms
	// Uses bounds how much the extra causes in one call; nil when it causes nothing beside what the request holds already.
	Uses *Uses
	// Betas are patterns of the trial features that switch the extra on. They are sent to providers for which it is allowed.
	Betas []string

	// number is the index of the row in the table of its style.
	number int
}

// Uses bounds how often a provider does something for a call, and how much it reads for that.
type Uses struct {
	// Member bounds the uses: a member of the tool, or of the request when OfRequest. It is empty when the provider has none.
	Member    string
	OfRequest bool
	// Max is the bound that is sent when the request has none. Without a Member it is the number for which credit is reserved.
	Max int64
	// Tokens is how many tokens one use adds to the prompt, and TokensMember the member of the tool that bounds them; empty for none.
	Tokens       int64
	TokensMember string
	// Rereads means that the provider reads the whole prompt again after each use, and counts it again.
	Rereads bool
}

// Types and values are patterns: * stands for any text and # for digits.

// Descriptions that several rows have in common.
const (
	providerTool  = "a tool that the provider runs itself"
	serviceTier   = "a service tier with a price of its own"
	longCache     = "a cache that is kept longer, at another price"
	keptFile      = "a file that the provider keeps"
	keptAnswer    = "an answer or a conversation that the provider keeps"
	keptPrompt    = "a prompt or a preset that the provider keeps"
	keptCache     = "a cache that the provider keeps"
	keptIdentity  = "an object of the provider's own account"
	container     = "a container of the provider"
	otherModel    = "another model, with another price"
	otherProvider = "a choice of provider, which has a price of its own"
	deferredWork  = "an answer that the provider keeps to be fetched later"
	storage       = "storage at the provider"
	usageOption   = "a wish for the usage of a stream, which this gateway fulfils"
	otherMedium   = "an answer that is not text"
	searchOfModel = "a web search by the provider"
	calledByCode  = "a call of the tool by code that the provider runs"
	compaction    = "a compaction by the provider, which is another call of the model"
	serverOfTools = "servers whose tools the provider calls"
	itemOfTool    = "a step of a tool that the provider ran"
	approval      = "a call of a tool by the provider, which it approves"
	otherPlace    = "a place of processing with a price of its own"
	fasterMode    = "a faster mode with a price of its own"
	screening     = "a screening with a template that the provider keeps"
	widerSearch   = "a wider search with a price of its own"
)

// Types of tools that the client runs, or that cost nothing but the tokens of a call.
var (
	messagesTools = []string{
		"", "custom", "bash_#", "text_editor_#", "memory_#", "computer_#", "computer_toolset_#", "browser_toolset_#", "tool_search_tool_*",
	}
	responsesTools = []string{
		"function", "custom", "namespace", "local_shell", "shell", "apply_patch", "computer", "computer_use",
		"computer_use_preview", "tool_search",
	}
	chatTools   = []string{"function", "custom"}
	nativeTools = []string{"functionDeclarations", "computerUse"}
)

// extras has all rows, by style. Extras of a single provider are with the style that it speaks. The first row that covers a value says
// what becomes of it, unless any row that covers it is allowed.
var extras = map[llm.Style][]Extra{
	llm.Chat: slices.Concat(tiersOfChat, []Extra{
		{At: "tools[]", What: providerTool, Rule: ExtraTool, Except: chatTools},
		{At: "tools[].allowed_callers", What: calledByCode, Rule: ExtraDropped, Listed: "tools.allowed_callers"},
		{At: "tool_choice", What: providerTool, Rule: ExtraRefused, Except: append([]string{"allowed_tools"}, chatTools...)},
		{At: "tool_choice.allowed_tools.tools[]", What: providerTool, Rule: ExtraTool, Except: chatTools},
		{At: "usage", What: usageOption, Rule: ExtraDropped},
		{At: "store", What: storage, Rule: ExtraDropped, Free: []string{"false"}, Instead: "false"},
		{
			At: "web_search_options", What: searchOfModel, Rule: ExtraTool,
			By: []string{"perplexity"}, Meters: []meters.Meter{meters.Requests},
		},
		{
			At: "web_search_options.search_context_size", What: widerSearch, Rule: ExtraDropped, Only: []string{"medium"},
			By: []string{"perplexity"}, Terms: meters.Terms{Size: "medium"},
		},
		{
			At: "web_search_options.search_context_size", What: widerSearch, Rule: ExtraDropped, Only: []string{"high"},
			By: []string{"perplexity"}, Terms: meters.Terms{Size: "high"},
		},
		{At: "web_search_options.search_context_size", What: widerSearch, Rule: ExtraDropped, Free: []string{"low"}},
		{At: "modalities[]", What: otherMedium, Rule: ExtraRefused, Free: []string{"text"}},
		{At: "audio", What: otherMedium, Rule: ExtraDropped},
		{At: "messages[].audio", What: keptFile, Rule: ExtraRefused},
		fileID("messages[].content[].file.file_id"),
		lifetime("messages[].cache_control.ttl"),
		lifetime("messages[].content[].cache_control.ttl"),
		lifetime("tools[].cache_control.ttl"),
		lifetime("cache_control.ttl"),
		{At: "search_parameters", What: searchOfModel, Rule: ExtraTool},
		{At: "search_settings", What: searchOfModel, Rule: ExtraDropped},
		{At: "compound_custom", What: providerTool, Rule: ExtraTool},
		{At: "enable_search", What: searchOfModel, Rule: ExtraTool, Free: []string{"false"}},
		{At: "search_options", What: searchOfModel, Rule: ExtraDropped},
		{At: "enable_code_interpreter", What: providerTool, Rule: ExtraTool, Free: []string{"false"}},
		{At: "cached_content", What: keptCache, Rule: ExtraRefused, Free: []string{""}},
		{At: "extra_body.google.cached_content", What: keptCache, Rule: ExtraRefused, Free: []string{""}},
		{At: "extra_body.google.tools[]", What: providerTool, Rule: ExtraTool},
	}, likeChat),
	llm.Responses: slices.Concat(tiersOfChat, toolsOfResponses, []Extra{
		{At: "tools[]", What: providerTool, Rule: ExtraTool, Except: responsesTools},
		{At: "tools[].tools[]", What: providerTool, Rule: ExtraTool, Except: responsesTools},
		{At: "tools[].allowed_callers", What: calledByCode, Rule: ExtraDropped, Listed: "tools.allowed_callers"},
		{At: "tools[].environment", What: container, Rule: ExtraRefused, Types: []string{"container_*"}},
		{At: "tools[].container", What: container, Rule: ExtraRefused},
		{At: "tool_choice", What: providerTool, Rule: ExtraRefused, Except: append([]string{"allowed_tools"}, responsesTools...)},
		{At: "tool_choice.tools[]", What: providerTool, Rule: ExtraTool, Except: responsesTools},
		{At: "input[].tools[]", What: providerTool, Rule: ExtraTool, Except: responsesTools},
		{At: "input[].tools[].tools[]", What: providerTool, Rule: ExtraTool, Except: responsesTools},
		{At: "input[].tools[].allowed_callers", What: calledByCode, Rule: ExtraDropped, Listed: "tools.allowed_callers"},
		{At: "input[].tools[].environment", What: container, Rule: ExtraRefused, Types: []string{"container_*"}},
		{At: "input[]", What: approval, Rule: ExtraRefused, Types: []string{"mcp_approval_response"}},
		{At: "input[]", What: itemOfTool, Rule: ExtraDropped, Types: []string{
			"code_interpreter_call", "image_generation_call", "file_search_call", "mcp_*",
		}},
		{At: "input[]", What: keptAnswer, Rule: ExtraRefused, Types: []string{"item_reference"}},
		{
			At: "input[]", What: keptAnswer, Rule: ExtraDropped, Types: []string{"reasoning"},
			Unless: []string{"encrypted_content", "content", "summary"},
		},
		{At: "input[]", What: compaction, Rule: ExtraRefused, Types: []string{"compaction_trigger"}},
		{At: "input[].environment", What: container, Rule: ExtraRefused, Types: []string{"container_*"}},
		fileID("input[].content[].file_id"),
		fileID("input[].output[].file_id"),
		fileID("input[].output.file_id"),
		{At: "store", What: storage, Rule: ExtraDropped, Free: []string{"false"}},
		{At: "previous_response_id", What: keptAnswer, Rule: ExtraRefused, Free: []string{""}},
		{At: "conversation", What: keptAnswer, Rule: ExtraRefused, Free: []string{""}},
		{At: "prompt", What: keptPrompt, Rule: ExtraRefused},
		{At: "background", What: deferredWork, Rule: ExtraRefused, Free: []string{"false"}},
		{At: "context_management", What: compaction, Rule: ExtraDropped, Free: []string{"[]"}},
		{At: "modalities[]", What: otherMedium, Rule: ExtraRefused, Free: []string{"text"}},
		{At: "search_parameters", What: searchOfModel, Rule: ExtraTool},
	}, likeChat),
	llm.Messages: slices.Concat(toolsOfMessages, lifetimes(
		"cache_control.ttl", "system[].cache_control.ttl", "tools[].cache_control.ttl", "messages[].content[].cache_control.ttl",
		"messages[].content[].content[].cache_control.ttl", "messages[].content[].source.content[].cache_control.ttl",
	), []Extra{
		{At: "tools[]", What: providerTool, Rule: ExtraTool, Except: messagesTools},
		{
			At: "tools[].allowed_callers", What: calledByCode, Rule: ExtraDropped, Free: []string{`["direct"]`}, Listed: "tools.allowed_callers",
		},
		{At: "mcp_servers", What: serverOfTools, Rule: ExtraRefused, Free: []string{"[]"}},
		{At: "container", What: container, Rule: ExtraRefused, Free: []string{"", "{}"}},
		{At: "context_management.edits[]", What: compaction, Rule: ExtraDropped, Except: []string{"clear_tool_uses_#", "clear_thinking_#"}},
		{
			At: "service_tier", What: serviceTier, Rule: ExtraDropped, Only: []string{"auto"},
			By: []string{"anthropic"}, Terms: meters.Terms{ServiceTier: "priority"},
		},
		{At: "service_tier", What: serviceTier, Rule: ExtraDropped, Free: []string{"standard_only"}},
		{
			At: "inference_geo", What: otherPlace, Rule: ExtraRefused, Only: []string{"us"},
			By: []string{"anthropic"}, Terms: meters.Terms{Region: "us"},
		},
		{At: "inference_geo", What: otherPlace, Rule: ExtraRefused, Free: []string{"", "global", "not_available"}},
		{
			At: "speed", What: fasterMode, Rule: ExtraRefused, Only: []string{"fast"},
			By: []string{"anthropic"}, Terms: meters.Terms{Speed: "fast"}, Betas: []string{"fast-mode-*"},
		},
		{At: "speed", What: fasterMode, Rule: ExtraRefused, Free: []string{"standard"}},
		{At: "fallbacks", What: otherModel, Rule: ExtraDropped, Free: []string{"[]"}},
		{At: "user_profile_id", What: keptIdentity, Rule: ExtraRefused, Free: []string{""}},
		{At: "workspace_id", What: keptIdentity, Rule: ExtraRefused, Free: []string{""}},
		{At: "diagnostics", What: keptAnswer, Rule: ExtraDropped, Free: []string{"{}"}},
		{At: "anthropic_beta", What: "trial features that change the price", Rule: ExtraDropped, Free: []string{"[]"}},
		fileID("messages[].content[].source.file_id"),
		fileID("messages[].content[].content[].source.file_id"),
		fileID("messages[].content[].source.content[].source.file_id"),
		{At: "messages[].content[]", What: container, Rule: ExtraRefused, Types: []string{"container_upload"}},
		{At: "messages[].content[].content[]", What: container, Rule: ExtraRefused, Types: []string{"container_upload"}},
		{At: "messages[].content[]", What: providerTool, Rule: ExtraRefused, Types: []string{"tool_addition"}},
	}),
	llm.Native: slices.Concat(toolsOfNative, []Extra{
		{At: "tools[].*", What: providerTool, Rule: ExtraTool, Except: nativeTools},
		{At: "cachedContent", What: keptCache, Rule: ExtraRefused, Free: []string{""}},
		tier("serviceTier", "flex", "flex", "gemini", "vertex"),
		tier("serviceTier", "priority", "priority", "gemini", "vertex"),
		{At: "serviceTier", What: serviceTier, Rule: ExtraDropped, Free: []string{
			"standard", "STANDARD", "unspecified", "SERVICE_TIER_UNSPECIFIED",
		}},
		{At: "store", What: storage, Rule: ExtraDropped, Free: []string{"false"}, Instead: "false"},
		{At: "modelArmorConfig", What: screening, Rule: ExtraRefused, Free: []string{"{}"}},
		{At: "generationConfig.responseModalities[]", What: otherMedium, Rule: ExtraRefused, Free: []string{"TEXT", "MODALITY_UNSPECIFIED"}},
		{At: "generationConfig.speechConfig", What: otherMedium, Rule: ExtraDropped},
		{At: "generationConfig.imageConfig", What: otherMedium, Rule: ExtraDropped},
		{At: "generationConfig.routingConfig", What: otherModel, Rule: ExtraDropped, Free: []string{"{}"}},
		{At: "generationConfig.modelSelectionConfig", What: otherModel, Rule: ExtraDropped, Free: []string{"{}"}},
		{At: "contents[].parts[].fileData.fileUri", What: keptFile, Rule: ExtraRefused, Free: publicAddresses},
		{At: "contents[].parts[].fileData.fileUri", What: keptFile, Rule: ExtraRefused, Only: keptAddresses},
		{At: "contents[].parts[].functionResponse.parts[].fileData.fileUri", What: keptFile, Rule: ExtraRefused, Free: publicAddresses},
		{At: "contents[].parts[].functionResponse.parts[].fileData.fileUri", What: keptFile, Rule: ExtraRefused, Only: keptAddresses},
		{At: "systemInstruction.parts[].fileData", What: keptFile, Rule: ExtraRefused},
	}),
}

// likeChat has the rows that the chat and the responses style share.
var likeChat = []Extra{
	{At: "service_tier", What: serviceTier, Rule: ExtraDropped, Free: []string{"default"}},
	{At: "prompt_cache_options.ttl", What: longCache, Rule: ExtraDropped, Free: []string{"30m"}},
	{At: "inference_geo", What: otherPlace, Rule: ExtraRefused, Free: []string{"", "global"}},
	{At: "deferred", What: deferredWork, Rule: ExtraRefused, Free: []string{"false"}},
	{At: "plugins", What: "plugins of the provider", Rule: ExtraRefused, Free: []string{"[]"}},
	{At: "preset", What: keptPrompt, Rule: ExtraRefused, Free: []string{""}},
	{At: "models", What: otherModel, Rule: ExtraDropped, Free: []string{"[]"}},
	{At: "route", What: otherModel, Rule: ExtraDropped, Free: []string{""}},
	{At: "provider", What: otherProvider, Rule: ExtraDropped, Free: []string{"{}"}},
}

// lifetime returns the row for the lifetime of a cache. All lifetimes have one name in the list.
func lifetime(at string) Extra {
	return Extra{At: at, What: longCache, Rule: ExtraDropped, Free: []string{"5m"}, Listed: "cache_control.ttl"}
}

// lifetimes returns the rows for the lifetimes of caches of providers that count what they write for an hour.
func lifetimes(places ...string) (rows []Extra) {
	for _, at := range places {
		hour := lifetime(at)
		hour.Free, hour.Only, hour.By = nil, []string{"1h"}, []string{"anthropic", "vertex", "bedrock"}
		hour.Meters, hour.Betas = []meters.Meter{meters.CacheWriteHourTokens}, []string{"extended-cache-ttl-*"}
		rows = append(rows, hour, lifetime(at))
	}
	return rows
}

// tier returns the row for a word of a service tier, which providers serve as the tier of a rate card.
func tier(at, word, served string, by ...string) Extra {
	return Extra{
		At: at, What: serviceTier, Rule: ExtraDropped, Only: []string{word}, By: by, Terms: meters.Terms{ServiceTier: served},
	}
}

// fileID returns the row for a file with an id of the provider.
func fileID(at string) Extra {
	return Extra{At: at, What: keptFile, Rule: ExtraRefused, Free: []string{""}}
}

// The addresses of public files, and the public addresses of files that a provider keeps.
var (
	publicAddresses = []string{"http://*", "https://*"}
	keptAddresses   = []string{"*generativelanguage.googleapis.com*", "*aiplatform.googleapis.com*", "*storage.cloud.google.com*"}
)

// extraBetas are the trial features of the messages style that switch an extra on.
var extraBetas = []string{
	"advisor-tool-*", "code-execution-*", "compact-*", "context-1m-*", "extended-cache-ttl-*", "fast-mode-*", "files-api-*",
	"managed-agents-*", "mcp-client-*", "mcp-servers-*", "message-batches-*", "server-side-fallback-*", "skills-*", "user-profiles-*",
	"web-fetch-*", "web-search-*",
}

// Extras returns the rows of a style.
func Extras(style llm.Style) []Extra { return extras[style] }

// IsExtraBeta reports whether a trial feature of the messages style switches on an extra that is not allowed.
func IsExtraBeta(name string, allowed llm.ExtraSet) bool {
	lower := bytes.ToLower([]byte(name))
	if !matchesAny(extraBetas, lower) {
		return false
	}
	for i, row := range extras[llm.Messages] {
		if allowed.Has(i) && matchesAny(row.Betas, lower) {
			return false
		}
	}
	return true
}

// advice has what to send in place of some extras, by their descriptions.
var advice = map[string]string{
	keptAnswer:   "Send the whole conversation with every call.",
	keptPrompt:   "Send the text itself.",
	keptFile:     "Send the file itself, or its public address where the contract has one.",
	keptCache:    "Send the text itself: what begins alike is cached without a name where the model has caches.",
	deferredWork: "Leave it out: every call is answered while it is open.",
}

// Advice returns a sentence about what to send in place of the extra. It is empty when the extra should only be left out.
func (e *Extra) Advice() string { return advice[e.What] }
