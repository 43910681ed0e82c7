package dialect

import (
	"bytes"
	"strings"

	"umg/app/dialect/rawjson"
)

// mediaSize counts the media of a part of a conversation.
type mediaSize struct {
	images int64
	// documents counts files that the provider fetches or stores.
	documents int64
	// foreign counts the bytes that are not text, such as those of an image.
	foreign int64

	// opaque counts documents, audio and video, whose bytes do not bound their tokens. The tokens are an estimate that is usually below the
	// provider's count.
	opaque, tokens int64
	// text is the size of the data of media, which the scan of the request has counted as text.
	text textSize
}

func (m mediaSize) plus(n mediaSize) mediaSize {
	return mediaSize{
		m.images + n.images, m.documents + n.documents, m.foreign + n.foreign, m.opaque + n.opaque, m.tokens + n.tokens,
		m.text.plus(n.text),
	}
}

// The estimates for media are bytes of base64 per token. Media usually have more tokens than these. A document of unknown size counts
// as a short one.
const (
	// writtenBytesPerToken is for text.
	writtenBytesPerToken  = 8
	documentBytesPerToken = 64
	// streamBytesPerToken is for audio and video.
	streamBytesPerToken = 8192
	documentTokensLeast = 256
)

// opaqueData measures data whose number of tokens the gateway does not know.
func opaqueData(data []byte, bytesPerToken int64) mediaSize {
	return mediaSize{opaque: 1, tokens: int64(len(data)) / bytesPerToken, text: textSizeOf(data)}
}

// documentData measures a document with its data. Kind is its media type, or a data URL.
func documentData(data, kind []byte) mediaSize {
	if bytes.HasPrefix(kind, []byte(`"text/`)) || bytes.HasPrefix(kind, []byte(`"data:text/`)) {
		return opaqueData(data, writtenBytesPerToken)
	}
	return opaqueData(data, documentBytesPerToken)
}

// sumElements adds up the sizes of the elements of an array. Any other value counts as the only element.
func sumElements(value []byte, measure func(value []byte) mediaSize) (sum mediaSize) {
	if len(value) == 0 || value[0] != '[' {
		return measure(value)
	}
	list := rawjson.OpenArray(value, 0)
	for list.Next() {
		sum = sum.plus(measure(list.Value.Of(value)))
	}
	return sum
}

// sumMember adds up the sizes of the elements of a member.
func sumMember(object []byte, name string, measure func(value []byte) mediaSize) mediaSize {
	return sumElements(rawjson.Get(object, name), measure)
}

// chatPartSize measures a part of a message of the chat style.
func chatPartSize(part []byte) mediaSize {
	switch rawjson.String(rawjson.Get(part, "type")) {
	case "image_url":
		at := rawjson.Get(part, "image_url")
		if len(at) > 0 && at[0] == '"' {
			return imageAt(at)
		}
		return imageAt(rawjson.Get(at, "url"))
	case "file":
		file := rawjson.Get(part, "file")
		return document(rawjson.Get(file, "file_data"), rawjson.Get(file, "file_id"))
	case "input_audio":
		return opaqueData(rawjson.Get(rawjson.Get(part, "input_audio"), "data"), streamBytesPerToken)
	case "video_url":
		return mediaSize{opaque: 1}
	}
	return mediaSize{}
}

// responsesPartSize measures a part of an item of the responses style.
func responsesPartSize(part []byte) mediaSize {
	switch rawjson.String(rawjson.Get(part, "type")) {
	case "input_image":
		return imageAt(rawjson.Get(part, "image_url"))
	case "input_file":
		return document(rawjson.Get(part, "file_data"), rawjson.Get(part, "file_id"), rawjson.Get(part, "file_url"))
	case "input_audio":
		return opaqueData(rawjson.Get(rawjson.Get(part, "input_audio"), "data"), streamBytesPerToken)
	}
	return mediaSize{}
}

// imageAt measures an image by its address. Only data URLs of images are not text.
func imageAt(address []byte) mediaSize {
	// Some encoders escape the slash.
	for _, data := range [...]string{`"data:image/`, `"data:image\/`} {
		if len(address) >= len(data) && bytes.EqualFold(address[:len(data)], []byte(data)) {
			return mediaSize{images: 1, foreign: int64(len(address)), text: textSizeOf(address)}
		}
	}
	return mediaSize{images: 1}
}

// document measures a document by its data, or as a linked document when it has an address or an id.
func document(data []byte, links ...[]byte) mediaSize {
	for _, one := range links {
		if !rawjson.IsEmpty(one) {
			return linkedDocument()
		}
	}
	if !rawjson.IsEmpty(data) {
		return documentData(data, data)
	}
	return mediaSize{}
}

// linkedDocument measures a document that its provider fetches or stores.
func linkedDocument() mediaSize {
	return mediaSize{documents: 1, opaque: 1, tokens: documentTokensLeast}
}

// blockSize measures a block of a message of the messages style.
func blockSize(block []byte) mediaSize {
	source := rawjson.Get(block, "source")
	switch rawjson.String(rawjson.Get(block, "type")) {
	case "tool_result":
		return sumMember(block, "content", func(inner []byte) mediaSize {
			if rawjson.String(rawjson.Get(inner, "type")) == "tool_result" {
				return mediaSize{} // Results are not nested.
			}
			return blockSize(inner)
		})
	case "image":
		if rawjson.String(rawjson.Get(source, "type")) == "base64" && isMedia(source, "media_type", "image/") {
			return mediaSize{images: 1, foreign: int64(len(source)), text: textSizeOf(source)}
		}
		return mediaSize{images: 1}
	case "document":
		switch rawjson.String(rawjson.Get(source, "type")) {
		case "url", "file":
			return linkedDocument()
		case "base64":
			return documentData(rawjson.Get(source, "data"), rawjson.Get(source, "media_type"))
		case "content":
			return sumMember(source, "content", func(inner []byte) mediaSize {
				if rawjson.String(rawjson.Get(inner, "type")) != "image" {
					return mediaSize{} // Documents have texts and images only.
				}
				return blockSize(inner)
			})
		}
	}
	return mediaSize{}
}

// nativePartSize measures a part of a content of the native style.
func nativePartSize(part []byte) mediaSize {
	size := blobPart(part)
	for _, name := range [...]string{"functionResponse", "function_response"} {
		size = size.plus(sumMember(rawjson.Get(part, name), "parts", blobPart))
	}
	return size
}

func blobPart(part []byte) (sum mediaSize) {
	for _, name := range [...]string{"inlineData", "inline_data", "fileData", "file_data"} {
		sum = sum.plus(blob(rawjson.Get(part, name)))
	}
	return sum
}

// soundShare is the share of the bytes of audio and video that counts as text, because they have many bytes per token.
const soundShare = 16

// blob measures media of the native style, in either spelling.
func blob(value []byte) mediaSize {
	if len(value) == 0 || value[0] != '{' {
		return mediaSize{}
	}
	linked := rawjson.MemberOf(value, "fileUri").Found() || rawjson.MemberOf(value, "file_uri").Found()
	is := func(family string) bool {
		return isMedia(value, "mimeType", family) || isMedia(value, "mime_type", family)
	}
	size, data := int64(len(value)), rawjson.Get(value, "data")
	switch {
	case linked && (is("image/") || !rawjson.MemberOf(value, "mimeType").Found() && !rawjson.MemberOf(value, "mime_type").Found()):
		return mediaSize{images: 1}
	case linked:
		return linkedDocument()
	case is("image/"):
		return mediaSize{images: 1, foreign: size, text: textSizeOf(value)}
	case is("audio/"), is("video/"):
		m := opaqueData(data, streamBytesPerToken)
		m.foreign = size - size/soundShare
		return m
	case is("text/"):
		return opaqueData(data, writtenBytesPerToken)
	case len(data) > 0:
		return opaqueData(data, documentBytesPerToken)
	}
	return mediaSize{}
}

// isMedia reports whether a member is a media type of a family such as image/.
func isMedia(object []byte, name, family string) bool {
	kind := rawjson.String(rawjson.Get(object, name))
	return len(kind) >= len(family) && strings.EqualFold(kind[:len(family)], family)
}

// argumentBytes counts the bytes of the arguments of a tool call, which are JSON.
func argumentBytes(value []byte) int64 {
	if rawjson.IsEmpty(value) {
		return 0
	}
	return int64(len(value))
}

// textSizeOf returns the size of the text of a value in a conversation.
func textSizeOf(value []byte) (w textSize) {
	w.valueEnd(value, rawjson.SkipSpace(value, 0), rawjson.DepthMax, kindTurns)
	return w
}
