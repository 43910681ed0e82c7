package reconcile

import (
	"errors"
	"strings"
)

const (
	openAICostObject  = "organization.costs.result"
	openAIUsageObject = "organization.usage.completions.result"
)

// openAICost is a result of GET /v1/organization/costs with group_by=line_item. The members are those of CostsResult in OpenAI's OpenAPI
// document 2.3.0 and of platform.openai.com/docs/api-reference/usage/costs, read on 2026-11-27. The amount occurs as a number and as text.
type openAICost struct {
	Object text `json:"object"`
	Amount struct {
		Value    dollars  `json:"value"`
		Currency currency `json:"currency"`
	} `json:"amount"`
	LineItem text `json:"line_item"`
}

func (r openAICost) entry() (entry, error) {
	if r.Object != "" && r.Object != openAICostObject {
		return entry{}, errors.New("this is no result of costs but of " + string(r.Object))
	}
	if r.Amount.Value.money == nil {
		return entry{}, errors.New("amount.value is missing")
	}
	e := entry{cost: r.Amount.Value.money}
	e.model, e.item = lineItem(string(r.LineItem))
	return e, nil
}

// lineItem returns the model of a line item, or the item itself when it names no model. Items look like "gpt-4o-2024-08-06, cached
// input", "priority | gpt-5.4, output", "gpt-audio-2025-08-28 audio, input" and "web search tool calls".
func lineItem(s string) (model, item string) {
	name, _, hasPart := strings.Cut(s, ",")
	if !hasPart {
		return "", s
	}
	if _, after, found := strings.Cut(name, "|"); found {
		name = after
	}
	words := strings.Fields(name)
	if len(words) == 0 {
		return "", s
	}
	return words[0], ""
}

// openAIUsage is a result of GET /v1/organization/usage/completions with group_by=model. The members are those of
// UsageCompletionsResult in the same sources. input_tokens includes cached tokens and tokens of every kind. The members about cached
// audio are newer than the others, and where they are stated, input_audio_tokens excludes them.
type openAIUsage struct {
	Object                 text   `json:"object"`
	InputTokens            number `json:"input_tokens"`
	OutputTokens           number `json:"output_tokens"`
	InputCachedTokens      number `json:"input_cached_tokens"`
	InputCacheWriteTokens  number `json:"input_cache_write_tokens"`
	InputAudioTokens       number `json:"input_audio_tokens"`
	InputCachedAudioTokens number `json:"input_cached_audio_tokens"`
	OutputAudioTokens      number `json:"output_audio_tokens"`
	NumModelRequests       number `json:"num_model_requests"`
	Model                  text   `json:"model"`
}

func (r openAIUsage) entry() (entry, error) {
	switch {
	case r.Object != "" && r.Object != openAIUsageObject:
		return entry{}, errors.New("this is no result of completions but of " + string(r.Object))
	case !r.InputTokens.isStated:
		return entry{}, errors.New("input_tokens is missing")
	case !r.OutputTokens.isStated:
		return entry{}, errors.New("output_tokens is missing")
	case !r.NumModelRequests.isStated:
		return entry{}, errors.New("num_model_requests is missing")
	}
	r.InputAudioTokens.value += r.InputCachedAudioTokens.value
	return entry{model: string(r.Model), counts: map[Measure]number{
		Calls: r.NumModelRequests, InputTokens: r.InputTokens, CachedInputTokens: r.InputCachedTokens,
		CacheWriteTokens: r.InputCacheWriteTokens, AudioInputTokens: r.InputAudioTokens, OutputTokens: r.OutputTokens,
		AudioOutputTokens: r.OutputAudioTokens,
	}}, nil
}
