package dialect

import (
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
)

// upstreamUsage is where answers in styles that only providers speak have their usage.
var upstreamUsage = &usageFormat{member: "usage"}

// converseDialect is the dialect of a style that is always translated, so that nothing in it passes through.
var converseDialect = &Dialect{
	Style: llm.Converse, peek: peekConverse, Splice: spliceConverse, Frames: framesBy(converse.Codec{}, upstreamUsage), Codec: converse.Codec{},
	Status: converse.Status, AppendError: converse.AppendError,
}

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
