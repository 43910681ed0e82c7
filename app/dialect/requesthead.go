package dialect

import (
	"umg/app"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
)

// The members of a request that the gateway reads, by name. Those of the native style have two spellings.
var (
	chatFields = map[string]field{
		"model": fieldModel, "stream": fieldStream, "stream_options": fieldOptions, "usage": fieldUsage,
		"max_completion_tokens": fieldMaxTokens, "max_tokens": fieldMaxTokensOld, "n": fieldChoices, "user": fieldEndUser,
		"safety_identifier": fieldEndUserOther, "messages": fieldTurns,
	}
	messagesFields = map[string]field{
		"model": fieldModel, "stream": fieldStream, "max_tokens": fieldMaxTokens, "metadata": fieldMetadata, "thinking": fieldThinking,
		"tool_choice": fieldToolChoice, "thread": fieldThread, "messages": fieldTurns,
	}
	responsesFields = map[string]field{
		"model": fieldModel, "stream": fieldStream, "max_output_tokens": fieldMaxTokens, "safety_identifier": fieldEndUser,
		"user": fieldEndUserOther, "input": fieldTurns, "store": fieldStore, "include": fieldInclude, "reasoning": fieldReasoning,
		"max_tool_calls": fieldToolCalls,
	}
	nativeFields = map[string]field{
		"model": fieldModel, "stream": fieldStream, "generationConfig": fieldOptions, "generation_config": fieldOptions,
		"contents": fieldTurns,
	}
	generationFields = map[string]field{
		"maxOutputTokens": fieldMaxTokens, "max_output_tokens": fieldMaxTokens,
		"candidateCount": fieldChoices, "candidate_count": fieldChoices,
	}
)

// peekChat reads the head of a chat request.
func peekChat(body []byte, allowed llm.ExtraSet) (Head, error) {
	var h Head
	if err := h.read(body, llm.Chat, chatFields, allowed); err != nil {
		return h, err
	}
	old := h.count(body, fieldMaxTokensOld, "max_tokens")
	if h.MaxTokens = h.count(body, fieldMaxTokens, "max_completion_tokens"); h.MaxTokens == 0 {
		h.MaxTokens = old
	}
	h.Choices = max(1, h.count(body, fieldChoices, "n"))
	h.readEndUser(body)
	if h.readInside(body, fieldOptions, "stream_options", map[string]field{"include_usage": fieldIncludeUsage}) {
		h.IncludeUsage = h.flag(body, fieldIncludeUsage, "stream_options.include_usage")
	}
	if h.readInside(body, fieldUsage, "usage", map[string]field{"include": fieldUsageInclude}) &&
		h.flag(body, fieldUsageInclude, "usage.include") {
		h.IncludeUsage = true
	}
	h.measureMedia(body, func(turn []byte) mediaSize { return sumMember(turn, "content", chatPartSize) })
	return h, nil
}

// readEndUser reads the id of the end user, which has two names.
func (h *Head) readEndUser(body []byte) {
	if h.EndUser = rawjson.String(h.spans[fieldEndUser].Of(body)); h.EndUser == "" {
		h.EndUser = rawjson.String(h.spans[fieldEndUserOther].Of(body))
	}
}

// peekMessages reads the head of a messages request.
func peekMessages(body []byte, allowed llm.ExtraSet) (Head, error) {
	var h Head
	if err := h.read(body, llm.Messages, messagesFields, allowed); err != nil {
		return h, err
	}
	h.MaxTokens = h.count(body, fieldMaxTokens, "max_tokens")
	h.readInside(body, fieldMetadata, "metadata", map[string]field{"user_id": fieldEndUser})
	h.EndUser = rawjson.String(h.spans[fieldEndUser].Of(body))
	h.readInside(body, fieldThinking, "thinking", map[string]field{"budget_tokens": fieldBudget})
	if !rawjson.IsNull(h.spans[fieldThread].Of(body)) {
		// Clients that use thread on their own know this code, and then send the whole conversation in each request.
		return h, app.Errorf(app.Invalid, "thread_unsupported_request",
			"thread is not supported: nothing is kept between requests, so send the whole conversation in messages.").At("thread")
	}
	h.measureMedia(body, func(turn []byte) mediaSize { return sumMember(turn, "content", blockSize) })
	return h, nil
}

// peekResponses reads the head of a responses request.
func peekResponses(body []byte, allowed llm.ExtraSet) (Head, error) {
	var h Head
	if err := h.read(body, llm.Responses, responsesFields, allowed); err != nil {
		return h, err
	}
	h.MaxTokens = h.count(body, fieldMaxTokens, "max_output_tokens")
	h.readEndUser(body)
	h.measureMedia(body, func(item []byte) mediaSize {
		return sumMember(item, "content", responsesPartSize).plus(sumMember(item, "output", responsesPartSize))
	})
	return h, nil
}

// peekNative reads the head of a native request.
func peekNative(body []byte, allowed llm.ExtraSet) (Head, error) {
	var h Head
	if err := h.read(body, llm.Native, nativeFields, allowed); err != nil {
		return h, err
	}
	if h.readInside(body, fieldOptions, "generationConfig", generationFields) {
		h.MaxTokens = h.count(body, fieldMaxTokens, "generationConfig.maxOutputTokens")
		h.Choices = max(1, h.count(body, fieldChoices, "generationConfig.candidateCount"))
	}
	h.measureMedia(body, func(turn []byte) mediaSize { return sumMember(turn, "parts", nativePartSize) })
	return h, nil
}
