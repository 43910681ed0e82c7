package dialect

import (
	"bytes"
	"strings"
)

// media is what a part of a conversation weighs beside its text.
type media struct {
	images    int64
	documents int64 // known by their address only
	foreign   int64 // bytes that are no text, such as those of an image
}

func (m media) plus(n media) media {
	return media{m.images + n.images, m.documents + n.documents, m.foreign + n.foreign}
}

// weigh counts what can become input tokens of the conversation. Media weigh apart only where the style has them:
// anywhere else the same members are text that the model reads, such as the arguments of a call or the schema of a
// tool. The walk is spared where the request has none of the members that media stand in.
func (h *Head) weigh(body []byte, turn func(value []byte) media, marks ...string) {
	turns := h.spans[fieldTurns].of(body)
	marked := bytes.Contains(turns, []byte(`\u`)) // a name may be written with escapes
	for i := 0; i < len(marks) && !marked; i++ {
		marked = bytes.Contains(turns, []byte(marks[i]))
	}
	if !marked {
		return
	}
	m := each(turns, turn)
	h.Images, h.Documents = m.images, m.documents
	h.TextBytes -= m.foreign
}

// each adds up what the elements of an array weigh, or what an object does that stands in place of it.
func each(value []byte, weigh func(value []byte) media) (sum media) {
	if len(value) == 0 || value[0] != '[' {
		return weigh(value)
	}
	list := openArray(value, 0)
	for list.next() {
		sum = sum.plus(weigh(list.value.of(value)))
	}
	return sum
}

// inside adds up what the member of that name weighs in an object.
func inside(object []byte, name string, weigh func(value []byte) media) media {
	return each(memberOf(object, name).of(object), weigh)
}

func chatTurn(turn []byte) media { return inside(turn, "content", chatPart) }

func chatPart(part []byte) media {
	switch text(memberOf(part, "type").of(part)) {
	case "image_url":
		at := memberOf(part, "image_url").of(part)
		if isString(at) {
			return imageAt(at)
		}
		return imageAt(memberOf(at, "url").of(at))
	case "file":
		file := memberOf(part, "file").of(part)
		return document(memberOf(file, "file_id").of(file))
	}
	return media{}
}

// imageAt weighs an image by its address. Only data of an image is no text: providers read other data as what it is.
func imageAt(address []byte) media {
	for _, data := range [...]string{`"data:image/`, `"data:image\/`} { // some encoders escape the slash
		if len(address) >= len(data) && bytes.EqualFold(address[:len(data)], []byte(data)) {
			return media{images: 1, foreign: int64(len(address))}
		}
	}
	return media{images: 1}
}

// document weighs a document by what its provider finds it by.
func document(by ...[]byte) media {
	for _, one := range by {
		if !isEmpty(one) {
			return media{documents: 1}
		}
	}
	return media{}
}

func messagesTurn(turn []byte) media { return inside(turn, "content", messagesBlock) }

func messagesBlock(block []byte) media {
	if text(memberOf(block, "type").of(block)) == "tool_result" {
		return inside(block, "content", mediaBlock)
	}
	return mediaBlock(block)
}

func mediaBlock(block []byte) media {
	if text(memberOf(block, "type").of(block)) == "document" {
		return inside(block, "source", documentSource)
	}
	return imageBlock(block)
}

func imageBlock(block []byte) media {
	if text(memberOf(block, "type").of(block)) == "image" {
		return inside(block, "source", imageSource)
	}
	return media{}
}

func imageSource(source []byte) media {
	if text(memberOf(source, "type").of(source)) == "base64" && isMedia(source, "media_type", "image/") {
		return media{images: 1, foreign: int64(len(source))}
	}
	return media{images: 1}
}

// documentSource weighs a document. One that is given as data weighs as much as its bytes.
func documentSource(source []byte) media {
	switch text(memberOf(source, "type").of(source)) {
	case "url", "file":
		return media{documents: 1}
	case "content":
		return inside(source, "content", imageBlock)
	}
	return media{}
}

func responsesItem(item []byte) media {
	return inside(item, "content", responsesPart).plus(inside(item, "output", responsesPart))
}

func responsesPart(part []byte) media {
	switch text(memberOf(part, "type").of(part)) {
	case "input_image":
		return imageAt(memberOf(part, "image_url").of(part))
	case "input_file":
		return document(memberOf(part, "file_id").of(part), memberOf(part, "file_url").of(part))
	}
	return media{}
}

func nativeTurn(turn []byte) media { return inside(turn, "parts", nativePart) }

func nativePart(part []byte) media {
	m := blobPart(part)
	for _, name := range [...]string{"functionResponse", "function_response"} {
		response := memberOf(part, name).of(part)
		m = m.plus(inside(response, "parts", blobPart))
	}
	return m
}

func blobPart(part []byte) (sum media) {
	for _, name := range [...]string{"inlineData", "inline_data", "fileData", "file_data"} {
		sum = sum.plus(blob(memberOf(part, name).of(part)))
	}
	return sum
}

// soundShare is what part of the bytes of a sound or a film are weighed: even one of poor quality has many bytes to a
// token.
const soundShare = 16

// blob weighs media of the native style, in either spelling.
func blob(value []byte) media {
	if len(value) == 0 || value[0] != '{' {
		return media{}
	}
	linked := memberOf(value, "fileUri").found() || memberOf(value, "file_uri").found()
	is := func(family string) bool {
		return isMedia(value, "mimeType", family) || isMedia(value, "mime_type", family)
	}
	size := int64(len(value))
	switch {
	case linked && (is("image/") || !memberOf(value, "mimeType").found() && !memberOf(value, "mime_type").found()):
		return media{images: 1}
	case linked:
		return media{documents: 1}
	case is("image/"):
		return media{images: 1, foreign: size}
	case is("audio/"), is("video/"):
		return media{foreign: size - size/soundShare}
	}
	return media{}
}

// isMedia reports whether the member of that name is a media type of the family.
func isMedia(object []byte, name, family string) bool {
	kind := text(memberOf(object, name).of(object))
	return len(kind) >= len(family) && strings.EqualFold(kind[:len(family)], family)
}

func isString(value []byte) bool { return len(value) > 0 && value[0] == '"' }
