package dialect

import (
	"bytes"
	"strings"
	"umg/app/dialect/rawjson"
)

// mediaSize is what a part of a conversation weighs beside its text.
type mediaSize struct {
	images int64
	// documents counts files of which the gateway has only the address.
	documents int64
	// foreign counts the bytes that are not text, such as those of an image.
	foreign int64

	// opaque counts what its bytes do not bound: documents, sounds and films. Their tokens are an estimate that usually
	// stays below the provider's count.
	opaque, tokens int64
	// textUnits is the weight that the text of the request has too much, as the walk has taken data for text.
	textUnits int64
}

func (m mediaSize) plus(n mediaSize) mediaSize {
	return mediaSize{
		m.images + n.images, m.documents + n.documents, m.foreign + n.foreign, m.opaque + n.opaque, m.tokens + n.tokens,
		m.textUnits + n.textUnits,
	}
}

// The estimates for media go by the size of their data in base64, in bytes a token, as documents, sounds and films usually
// have fewer. A document of unknown size counts as a short one.
const (
	// writtenBytesPerToken is for text.
	writtenBytesPerToken  = 8
	documentBytesPerToken = 64
	// streamBytesPerToken is for audio and video.
	streamBytesPerToken = 8192
	documentTokensLeast = 256
)

// opaqueData weighs data whose number of tokens the gateway does not know.
func opaqueData(data []byte, bytesPerToken int64) mediaSize {
	return mediaSize{opaque: 1, tokens: int64(len(data)) / bytesPerToken, textUnits: textUnitsOf(data)}
}

// documentData weighs a document that is given with its data, by its media type or the address that begins with it.
func documentData(data, kind []byte) mediaSize {
	if bytes.HasPrefix(kind, []byte(`"text/`)) || bytes.HasPrefix(kind, []byte(`"data:text/`)) {
		return opaqueData(data, writtenBytesPerToken)
	}
	return opaqueData(data, documentBytesPerToken)
}

// measureMedia counts what can become input tokens of the conversation. Media weigh apart only where the style has them:
// anywhere else the same members are text that the model reads, such as the arguments of a call or the schema of a
// tool. The walk is spared where the request has none of the members that media stand in.
func (h *Head) measureMedia(body []byte, turn func(value []byte) mediaSize) {
	h.TextTokens = h.text.units / unitsPerToken
	if !h.text.hasMedia {
		return
	}
	m := sumElements(h.spans[fieldTurns].Of(body), turn)
	h.Images, h.Documents, h.Opaque, h.MediaTokens = m.images, m.documents, m.opaque, m.tokens
	h.TextBytes -= m.foreign
	h.TextTokens = max(0, h.text.units-m.textUnits) / unitsPerToken
}

// sumElements adds up what the elements of an array weigh, or what an object does in its place.
func sumElements(value []byte, weigh func(value []byte) mediaSize) (sum mediaSize) {
	if len(value) == 0 || value[0] != '[' {
		return weigh(value)
	}
	list := rawjson.OpenArray(value, 0)
	for list.Next() {
		sum = sum.plus(weigh(list.Value.Of(value)))
	}
	return sum
}

// sumMember adds up what the member of that name weighs in an object.
func sumMember(object []byte, name string, weigh func(value []byte) mediaSize) mediaSize {
	return sumElements(rawjson.Get(object, name), weigh)
}

func chatTurn(turn []byte) mediaSize { return sumMember(turn, "content", chatPart) }

func chatPart(part []byte) mediaSize {
	switch rawjson.String(rawjson.Get(part, "type")) {
	case "image_url":
		at := rawjson.Get(part, "image_url")
		if isString(at) {
			return imageAt(at)
		}
		return imageAt(rawjson.Get(at, "url"))
	case "file":
		file := rawjson.Get(part, "file")
		return document(rawjson.Get(file, "file_data"), rawjson.Get(file, "file_id"))
	case "input_audio":
		sound := rawjson.Get(part, "input_audio")
		return opaqueData(rawjson.Get(sound, "data"), streamBytesPerToken)
	case "video_url":
		return mediaSize{opaque: 1}
	}
	return mediaSize{}
}

// imageAt weighs an image by its address. Only data of an image is no text: providers read other data as what it is.
func imageAt(address []byte) mediaSize {
	// Some encoders escape the slash.
	for _, data := range [...]string{`"data:image/`, `"data:image\/`} {
		if len(address) >= len(data) && bytes.EqualFold(address[:len(data)], []byte(data)) {
			return mediaSize{images: 1, foreign: int64(len(address)), textUnits: textUnitsOf(address)}
		}
	}
	return mediaSize{images: 1}
}

// document weighs a document that is given with its data, if it is, or else by what its provider finds it by.
func document(data []byte, by ...[]byte) mediaSize {
	for _, one := range by {
		if !rawjson.IsEmpty(one) {
			return linkedDocument()
		}
	}
	if !rawjson.IsEmpty(data) {
		return documentData(data, data)
	}
	return mediaSize{}
}

// linkedDocument weighs a document that its provider fetches or keeps.
func linkedDocument() mediaSize {
	return mediaSize{documents: 1, opaque: 1, tokens: documentTokensLeast}
}

func messagesTurn(turn []byte) mediaSize { return sumMember(turn, "content", messagesBlock) }

func messagesBlock(block []byte) mediaSize {
	if rawjson.String(rawjson.Get(block, "type")) == "tool_result" {
		return sumMember(block, "content", mediaBlock)
	}
	return mediaBlock(block)
}

func mediaBlock(block []byte) mediaSize {
	if rawjson.String(rawjson.Get(block, "type")) == "document" {
		return sumMember(block, "source", documentSource)
	}
	return imageBlock(block)
}

func imageBlock(block []byte) mediaSize {
	if rawjson.String(rawjson.Get(block, "type")) == "image" {
		return sumMember(block, "source", imageSource)
	}
	return mediaSize{}
}

func imageSource(source []byte) mediaSize {
	if rawjson.String(rawjson.Get(source, "type")) == "base64" && isMedia(source, "media_type", "image/") {
		return mediaSize{images: 1, foreign: int64(len(source)), textUnits: textUnitsOf(source)}
	}
	return mediaSize{images: 1}
}

// documentSource weighs a document. One that is given as data weighs as much as its bytes.
func documentSource(source []byte) mediaSize {
	switch rawjson.String(rawjson.Get(source, "type")) {
	case "url", "file":
		return linkedDocument()
	case "base64":
		return documentData(rawjson.Get(source, "data"), rawjson.Get(source, "media_type"))
	case "content":
		return sumMember(source, "content", imageBlock)
	}
	return mediaSize{}
}

func responsesItem(item []byte) mediaSize {
	return sumMember(item, "content", responsesPart).plus(sumMember(item, "output", responsesPart))
}

func responsesPart(part []byte) mediaSize {
	switch rawjson.String(rawjson.Get(part, "type")) {
	case "input_image":
		return imageAt(rawjson.Get(part, "image_url"))
	case "input_file":
		return document(rawjson.Get(part, "file_data"), rawjson.Get(part, "file_id"), rawjson.Get(part, "file_url"))
	case "input_audio":
		sound := rawjson.Get(part, "input_audio")
		return opaqueData(rawjson.Get(sound, "data"), streamBytesPerToken)
	}
	return mediaSize{}
}

func nativeTurn(turn []byte) mediaSize { return sumMember(turn, "parts", nativePart) }

func nativePart(part []byte) mediaSize {
	m := blobPart(part)
	for _, name := range [...]string{"functionResponse", "function_response"} {
		response := rawjson.Get(part, name)
		m = m.plus(sumMember(response, "parts", blobPart))
	}
	return m
}

func blobPart(part []byte) (sum mediaSize) {
	for _, name := range [...]string{"inlineData", "inline_data", "fileData", "file_data"} {
		sum = sum.plus(blob(rawjson.Get(part, name)))
	}
	return sum
}

// soundShare is what part of the bytes of a sound or a film are weighed: even one of poor quality has many bytes to a
// token.
const soundShare = 16

// blob weighs media of the native style, in either spelling.
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
		return mediaSize{images: 1, foreign: size, textUnits: textUnitsOf(value)}
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

// isMedia reports whether the member of that name is a media type of the family.
func isMedia(object []byte, name, family string) bool {
	kind := rawjson.String(rawjson.Get(object, name))
	return len(kind) >= len(family) && strings.EqualFold(kind[:len(family)], family)
}

func isString(value []byte) bool { return len(value) > 0 && value[0] == '"' }

// argumentBytes counts the bytes of the arguments of a tool call, which are JSON.
func argumentBytes(value []byte) int64 {
	if rawjson.IsEmpty(value) {
		return 0
	}
	return int64(len(value))
}
