package dialect

import (
	"strings"

	"umg/app/dialect/rawjson"
)

// HasImageAddress reports whether a message of a chat request has an image by address.
func HasImageAddress(body []byte) bool {
	list := rawjson.Get(body, "messages")
	messages := rawjson.OpenArray(list, 0)
	for messages.Next() {
		content := rawjson.Get(messages.Value.Of(list), "content")
		if len(content) == 0 || content[0] != '[' {
			continue
		}
		parts := rawjson.OpenArray(content, 0)
		for parts.Next() {
			url := rawjson.String(rawjson.Get(rawjson.Get(parts.Value.Of(content), "image_url"), "url"))
			if url != "" && !strings.HasPrefix(url, "data:") {
				return true
			}
		}
	}
	return false
}
