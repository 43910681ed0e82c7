package dialect

import (
	"umg/app"
	"umg/app/dialect/cohere"
	"umg/app/dialect/converse"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
)

// The members of the requests in styles that only providers speak. Only the codec of the style writes such requests.
var (
	converseFields = map[string]field{
		"model": fieldModel, "stream": fieldStream, "inferenceConfig": fieldOptions, "additionalModelRequestFields": fieldAdditional,
		"messages": fieldTurns,
	}
	inferenceFields = map[string]field{"maxTokens": fieldMaxTokens}
	cohereFields    = map[string]field{
		"model": fieldModel, "stream": fieldStream, "max_tokens": fieldMaxTokens, "thinking": fieldThinking, "messages": fieldTurns,
	}
)

// Where the answers have their usage. In a stream of Cohere, a member holds it.
var (
	upstreamUsage = &usageFormat{member: "usage"}
	cohereUsage   = &usageFormat{holder: "delta", member: "usage"}
)

// The dialects of the styles that are always translated. Nothing in them passes through.
var (
	converseDialect = &Dialect{
		Style: llm.Converse, peek: peekConverse, Splice: spliceConverse, Frames: framesBy(converse.Codec{}, upstreamUsage),
		Codec: converse.Codec{}, Status: app.HTTPStatus, AppendError: converse.AppendError,
	}
	cohereDialect = &Dialect{
		Style: llm.Cohere, peek: peekCohere, Splice: spliceCohere, Frames: framesBy(cohere.Codec{}, cohereUsage),
		Codec: cohere.Codec{}, Status: app.HTTPStatus, AppendError: cohere.AppendError,
	}
)

// peekConverse reads the head of a Converse request.
func peekConverse(body []byte, allowed llm.ExtraSet) (Head, error) {
	var h Head
	if err := h.read(body, llm.Converse, converseFields, allowed); err != nil {
		return h, err
	}
	if h.readInside(body, fieldOptions, "inferenceConfig", inferenceFields) {
		h.MaxTokens = h.count(body, fieldMaxTokens, "inferenceConfig.maxTokens")
	}
	if h.readInside(body, fieldAdditional, "additionalModelRequestFields", map[string]field{"thinking": fieldThinking}) {
		h.readInside(body, fieldThinking, "thinking", map[string]field{"budget_tokens": fieldBudget})
	}
	return h, nil
}

// spliceConverse writes a Converse request for an upstream, which has the model and the stream flag in the path.
func spliceConverse(dst, body []byte, h *Head, e Edit) []byte {
	var all rawjson.Edits
	left := h.removeMembers(&all, body)
	if e.MaxTokens > 0 && h.boundInside(&all, body, "inferenceConfig", "maxTokens", e.MaxTokens, left) {
		h.lowerThinking(&all, body, e.MaxTokens)
	}
	return all.AppendTo(dst, body)
}

// peekCohere reads the head of a request for Cohere.
func peekCohere(body []byte, allowed llm.ExtraSet) (Head, error) {
	var h Head
	if err := h.read(body, llm.Cohere, cohereFields, allowed); err != nil {
		return h, err
	}
	h.MaxTokens = h.count(body, fieldMaxTokens, "max_tokens")
	h.readInside(body, fieldThinking, "thinking", map[string]field{"token_budget": fieldBudget})
	return h, nil
}

// spliceCohere writes a request for Cohere.
func spliceCohere(dst, body []byte, h *Head, e Edit) []byte {
	var all rawjson.Edits
	all.Replace(h.spans[fieldModel], rawjson.Quote(e.Model))
	if e.MaxTokens > 0 && h.boundAs(&all, body, "max_tokens", e.MaxTokens) {
		h.lowerThinking(&all, body, e.MaxTokens)
	}
	return all.AppendTo(dst, body)
}
