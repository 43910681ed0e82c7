package dialect

import (
	"umg/app"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
)

// peekChat reads the head of a chat request.
func peekChat(body []byte) (Head, error) {
	var h Head
	if err := h.read(body, llm.Chat, chatNames); err != nil {
		return h, err
	}
	old := h.count(body, fieldMaxTokensOld, "max_tokens")
	if h.MaxTokens = h.count(body, fieldMaxTokens, "max_completion_tokens"); h.MaxTokens == 0 {
		h.MaxTokens = old
	}
	h.Choices = max(1, h.count(body, fieldChoices, "n"))
	h.EndUser = rawjson.String(h.spans[fieldEndUser].Of(body))
	if h.readInside(body, fieldOptions, "stream_options", chatOptionNames) {
		h.IncludeUsage = h.flag(body, fieldIncludeUsage, "stream_options.include_usage")
	}
	if h.readInside(body, fieldUsage, "usage", chatUsageNames) && h.flag(body, fieldUsageInclude, "usage.include") {
		h.IncludeUsage = true
	}
	h.measureMedia(body, chatTurn)
	return h, nil
}

func chatNames(name []byte) (field, bool) {
	switch string(name) {
	case "model":
		return fieldModel, true
	case "stream":
		return fieldStream, true
	case "stream_options":
		return fieldOptions, true
	case "usage":
		return fieldUsage, true
	case "max_completion_tokens":
		return fieldMaxTokens, true
	case "max_tokens":
		return fieldMaxTokensOld, true
	case "n":
		return fieldChoices, true
	case "user":
		return fieldEndUser, true
	case "messages":
		return fieldTurns, true
	}
	return 0, false
}

func chatOptionNames(name []byte) (field, bool) {
	return fieldIncludeUsage, string(name) == "include_usage"
}

func chatUsageNames(name []byte) (field, bool) {
	return fieldUsageInclude, string(name) == "include"
}

// peekMessages reads the head of a messages request.
func peekMessages(body []byte) (Head, error) {
	var h Head
	if err := h.read(body, llm.Messages, messagesNames); err != nil {
		return h, err
	}
	h.MaxTokens = h.count(body, fieldMaxTokens, "max_tokens")
	h.readInside(body, fieldMetadata, "metadata", metadataNames)
	h.EndUser = rawjson.String(h.spans[fieldEndUser].Of(body))
	h.readInside(body, fieldThinking, "thinking", thinkingNames)
	if !rawjson.IsNull(h.spans[fieldThread].Of(body)) {
		return h, errThread()
	}
	h.measureMedia(body, messagesTurn)
	return h, nil
}

// errThread refuses a conversation that a provider would keep. Clients that begin one without being asked know this
// code, and go on with the whole conversation in each request.
func errThread() error {
	return app.Errorf(app.Invalid, "thread_unsupported_request",
		"thread is not supported: nothing is kept between requests, so send the whole conversation in messages.").At("thread")
}

func messagesNames(name []byte) (field, bool) {
	switch string(name) {
	case "model":
		return fieldModel, true
	case "stream":
		return fieldStream, true
	case "max_tokens":
		return fieldMaxTokens, true
	case "metadata":
		return fieldMetadata, true
	case "thinking":
		return fieldThinking, true
	case "tool_choice":
		return fieldToolChoice, true
	case "thread":
		return fieldThread, true
	case "messages":
		return fieldTurns, true
	}
	return 0, false
}

func metadataNames(name []byte) (field, bool) { return fieldEndUser, string(name) == "user_id" }
func thinkingNames(name []byte) (field, bool) { return fieldBudget, string(name) == "budget_tokens" }

// peekResponses reads the head of a responses request.
func peekResponses(body []byte) (Head, error) {
	var h Head
	if err := h.read(body, llm.Responses, responsesNames); err != nil {
		return h, err
	}
	h.MaxTokens = h.count(body, fieldMaxTokens, "max_output_tokens")
	if h.EndUser = rawjson.String(h.spans[fieldEndUser].Of(body)); h.EndUser == "" {
		h.EndUser = rawjson.String(h.spans[fieldEndUserOld].Of(body))
	}
	h.measureMedia(body, responsesItem)
	return h, nil
}

func responsesNames(name []byte) (field, bool) {
	switch string(name) {
	case "model":
		return fieldModel, true
	case "stream":
		return fieldStream, true
	case "max_output_tokens":
		return fieldMaxTokens, true
	case "safety_identifier":
		return fieldEndUser, true
	case "user":
		return fieldEndUserOld, true
	case "input":
		return fieldTurns, true
	case "store":
		return fieldStore, true
	case "include":
		return fieldInclude, true
	case "reasoning":
		return fieldReasoning, true
	}
	return 0, false
}

// peekNative reads the head of a native request, whose members have two spellings each.
func peekNative(body []byte) (Head, error) {
	var h Head
	if err := h.read(body, llm.Native, nativeNames); err != nil {
		return h, err
	}
	if h.readInside(body, fieldOptions, "generationConfig", generationNames) {
		h.MaxTokens = h.count(body, fieldMaxTokens, "generationConfig.maxOutputTokens")
		h.Choices = max(1, h.count(body, fieldChoices, "generationConfig.candidateCount"))
	}
	h.measureMedia(body, nativeTurn)
	return h, nil
}

func nativeNames(name []byte) (field, bool) {
	switch string(name) {
	case "model":
		return fieldModel, true
	case "stream":
		return fieldStream, true
	case "generationConfig", "generation_config":
		return fieldOptions, true
	case "contents":
		return fieldTurns, true
	}
	return 0, false
}

func generationNames(name []byte) (field, bool) {
	switch string(name) {
	case "maxOutputTokens", "max_output_tokens":
		return fieldMaxTokens, true
	case "candidateCount", "candidate_count":
		return fieldChoices, true
	}
	return 0, false
}
