package dialect

import (
	"bytes"

	"umg/app"
)

// peekChat reads the head of a chat request.
func peekChat(body []byte) (Head, error) {
	var h Head
	if err := h.read(body, chatNames); err != nil {
		return h, err
	}
	old := h.count(body, fieldMaxTokensOld, "max_tokens")
	if h.MaxTokens = h.count(body, fieldMaxTokens, "max_completion_tokens"); h.MaxTokens == 0 {
		h.MaxTokens = old
	}
	h.Choices = max(1, h.count(body, fieldChoices, "n"))
	h.EndUser = text(h.spans[fieldEndUser].of(body))
	if h.readInside(body, fieldOptions, "stream_options", chatOptionNames) {
		h.IncludeUsage = h.flag(body, fieldIncludeUsage, "stream_options.include_usage")
	}
	h.weigh(body, "image_url", imageURL)
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
	case "max_completion_tokens":
		return fieldMaxTokens, true
	case "max_tokens":
		return fieldMaxTokensOld, true
	case "n":
		return fieldChoices, true
	case "user":
		return fieldEndUser, true
	}
	return 0, false
}

func chatOptionNames(name []byte) (field, bool) {
	return fieldIncludeUsage, string(name) == "include_usage"
}

// peekMessages reads the head of a messages request.
func peekMessages(body []byte) (Head, error) {
	var h Head
	if err := h.read(body, messagesNames); err != nil {
		return h, err
	}
	h.MaxTokens = h.count(body, fieldMaxTokens, "max_tokens")
	h.readInside(body, fieldMetadata, "metadata", metadataNames)
	h.EndUser = text(h.spans[fieldEndUser].of(body))
	h.readInside(body, fieldThinking, "thinking", thinkingNames)
	if !isNull(h.spans[fieldThread].of(body)) {
		return h, errThread()
	}
	h.weigh(body, "source", source)
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
	}
	return 0, false
}

func metadataNames(name []byte) (field, bool) { return fieldEndUser, string(name) == "user_id" }
func thinkingNames(name []byte) (field, bool) { return fieldBudget, string(name) == "budget_tokens" }

// peekResponses reads the head of a responses request.
func peekResponses(body []byte) (Head, error) {
	var h Head
	if err := h.read(body, responsesNames); err != nil {
		return h, err
	}
	h.MaxTokens = h.count(body, fieldMaxTokens, "max_output_tokens")
	if h.EndUser = text(h.spans[fieldEndUser].of(body)); h.EndUser == "" {
		h.EndUser = text(h.spans[fieldEndUserOld].of(body))
	}
	h.weigh(body, "image_url", imageURL)
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
	}
	return 0, false
}

// peekNative reads the head of a native request, whose members have two spellings each.
func peekNative(body []byte) (Head, error) {
	var h Head
	if err := h.read(body, nativeNames); err != nil {
		return h, err
	}
	if h.readInside(body, fieldOptions, "generationConfig", generationNames) {
		h.MaxTokens = h.count(body, fieldMaxTokens, "generationConfig.maxOutputTokens")
		h.Choices = max(1, h.count(body, fieldChoices, "generationConfig.candidateCount"))
	}
	for _, name := range [...]string{"inlineData", "inline_data", "fileData", "file_data"} {
		h.weigh(body, name, blob)
	}
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

// weight says how many images a value stands for, and how many of its bytes are no text.
type weight func(value []byte) (images, foreign int64)

// weigh counts what can become input tokens in the members of that name, wherever they stand: images, and what is not
// text, such as images given as data.
func (h *Head) weigh(body []byte, name string, of weight) {
	key := []byte(`"` + name + `"`)
	for at := 0; ; {
		i := bytes.Index(body[at:], key)
		if i < 0 {
			return
		}
		at += i + len(key)
		value := blanks(body, at)
		if value >= len(body) || body[value] != ':' {
			continue // the word stands there as a value: {"type":"image_url"}
		}
		value = blanks(body, value+1)
		to := valueEnd(body, value, depthMax)
		if to < 0 {
			return
		}
		images, foreign := of(body[value:to])
		h.Images += images
		h.TextBytes -= foreign
		if images > 0 || foreign > 0 {
			at = to
		}
	}
}

// imageURL weighs an image of the chat and the responses styles: an object or a string, with a link or with data.
func imageURL(value []byte) (images, foreign int64) {
	if bytes.Contains(value, []byte(`"data:`)) {
		return 1, int64(len(value))
	}
	return 1, 0
}

// source weighs the source of an image or of a document in the messages style. A document given as data weighs as
// much as its bytes.
func source(value []byte) (images, foreign int64) {
	if value[0] != '{' {
		return 0, 0
	}
	var kind, media string
	o := openObject(value, 0)
	for o.next() {
		switch string(o.name()) {
		case "type":
			kind = text(o.value.of(value))
		case "media_type":
			media = text(o.value.of(value))
		}
	}
	switch {
	case kind == "base64" && isMedia(media, "image/"):
		return 1, int64(len(value))
	case kind == "url" || kind == "file":
		return 1, 0
	}
	return 0, 0
}

// soundShare is what part of the bytes of a sound or a film are weighed: even one of poor quality has many bytes to a
// token.
const soundShare = 16

// blob weighs media of the native style.
func blob(value []byte) (images, foreign int64) {
	if value[0] != '{' {
		return 0, 0
	}
	var media string
	linked := false
	o := openObject(value, 0)
	for o.next() {
		switch string(o.name()) {
		case "mimeType", "mime_type":
			media = text(o.value.of(value))
		case "fileUri", "file_uri":
			linked = true
		}
	}
	size := int64(len(value))
	switch {
	case linked:
		return 1, 0
	case isMedia(media, "image/"):
		return 1, size
	case isMedia(media, "audio/"), isMedia(media, "video/"):
		return 0, size - size/soundShare
	}
	return 0, 0
}

func isMedia(kind, family string) bool {
	return len(kind) >= len(family) && bytes.EqualFold([]byte(kind[:len(family)]), []byte(family))
}
