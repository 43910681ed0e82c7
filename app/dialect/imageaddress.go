package dialect

import (
	"strings"

	"umg/app/dialect/rawjson"
	"umg/app/llm"
)

// HasImageAddress reports whether a message of a request of the chat or the messages style has an image by address. A body that cannot be
// read has none.
func HasImageAddress(style llm.Style, body []byte) bool {
	isAddress := isChatImageAddress
	if style == llm.Messages {
		isAddress = isMessagesImageAddress
	}
	list := rawjson.Get(body, "messages")
	messages := rawjson.OpenArray(list, 0)
	for messages.Next() {
		if hasPart(rawjson.Get(messages.Value.Of(list), "content"), isAddress) {
			return true
		}
	}
	return false
}

// hasPart reports whether a content has a part of a kind. A content that is a text has none.
func hasPart(content []byte, isKind func(part []byte) bool) bool {
	if len(content) == 0 || content[0] != '[' {
		return false
	}
	parts := rawjson.OpenArray(content, 0)
	for parts.Next() {
		if isKind(parts.Value.Of(content)) {
			return true
		}
	}
	return false
}

func isChatImageAddress(part []byte) bool {
	url := rawjson.String(rawjson.Get(rawjson.Get(part, "image_url"), "url"))
	return url != "" && !strings.HasPrefix(url, "data:")
}

// isMessagesImageAddress also looks into the result of a tool, which has no results in it.
func isMessagesImageAddress(part []byte) bool {
	if rawjson.String(rawjson.Get(part, "type")) == "tool_result" {
		return hasPart(rawjson.Get(part, "content"), isFetchedImage)
	}
	return isFetchedImage(part)
}

func isFetchedImage(part []byte) bool {
	return rawjson.String(rawjson.Get(part, "type")) == "image" && rawjson.String(rawjson.Get(rawjson.Get(part, "source"), "type")) == "url"
}
