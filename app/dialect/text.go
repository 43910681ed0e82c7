package dialect

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"

	"umg/app/dialect/rawjson"
)

// Text is estimated in units of a twentieth of a token. The estimate is meant to stay below what a provider counts, since it
// is charged where no provider's count is known: an ASCII character counts a fifth of a token, as English prose has up to
// five characters to one, and so does a letter of the other alphabets and of the Indic scripts. A Chinese, Japanese or Korean
// character, a sign of punctuation beyond ASCII and an emoji count half a token.
const (
	unitsPerToken = 20
	letterUnits   = 4
	symbolUnits   = 10

	// A byte of the names and the syntax of JSON that a model reads counts a twentieth, since most providers re-encode
	// it in a shorter form.
	syntaxUnits = 1
)

// textKind says how the model reads the strings of a value.
type textKind uint8

const (
	// kindUnread is not read by the model.
	kindUnread textKind = iota
	// kindTurns is a conversation. Its strings are text, except the values of structural members.
	kindTurns
	// kindJSON is JSON that the model reads as it is: tools, and arguments and results of calls.
	kindJSON
	// kindSettings are settings. The model reads only the schemas in them.
	kindSettings
)

// textKindOf returns the kind of a member at the top of a request. A name has the same kind in all styles.
func textKindOf(name []byte) textKind {
	switch string(name) {
	case "messages", "system", "input", "instructions", "contents", "systemInstruction", "system_instruction":
		return kindTurns
	case "tools", "functions":
		return kindJSON
	case "response_format", "text", "output_format", "output_config", "generationConfig", "generation_config":
		return kindSettings
	}
	return kindUnread
}

// within returns the kind of a member inside a value of this kind.
func (k textKind) within(name []byte) textKind {
	if k == kindJSON {
		return kindJSON
	}
	switch string(name) {
	case "arguments", "args", "input", "response", "schema", "responseSchema", "response_schema", "responseJsonSchema",
		"response_json_schema", "_responseJsonSchema":
		return kindJSON
	case "role", "type", "id", "call_id", "tool_call_id", "tool_use_id", "status", "phase", "detail", "cache_control", "media_type",
		"mimeType", "mime_type", "thinking", "signature", "thoughtSignature", "thought_signature", "encrypted_content":
		return kindUnread
	}
	return k
}

// namesMedia reports whether a member may have an image or a file in some style, or has an escape in its name.
func namesMedia(name []byte) bool {
	switch string(name) {
	case "image_url", "file", "file_id", "file_url", "file_data", "input_audio", "video_url", "source", "inlineData", "inline_data",
		"fileData":
		return true
	}
	return bytes.IndexByte(name, '\\') >= 0
}

// textSize is the size of the text of a request, as far as it was scanned.
type textSize struct {
	units int64
	// denseBytes counts the bytes of digits, punctuation, escapes and characters beyond ASCII in the strings that a model reads, and
	// denseHalves the most tokens of them, in halves.
	denseBytes, denseHalves int64
	// hasMedia means that a member of the conversation may hold media, or that its name has escapes.
	hasMedia bool
}

// plus adds the sizes of two texts.
func (w textSize) plus(v textSize) textSize {
	w.units, w.denseBytes, w.denseHalves = w.units+v.units, w.denseBytes+v.denseBytes, w.denseHalves+v.denseHalves
	return w
}

// textSizeOf returns the size of the text of a value in a conversation.
func textSizeOf(value []byte) (w textSize) {
	w.valueEnd(value, rawjson.SkipSpace(value, 0), rawjson.DepthMax, kindTurns)
	return w
}

// valueEnd returns the index after a value, or -1 when it is broken, and counts the units of its text.
func (w *textSize) valueEnd(doc []byte, from, depth int, k textKind) int {
	if k == kindUnread || from >= len(doc) {
		return rawjson.ValueEnd(doc, from, depth)
	}
	switch doc[from] {
	case '"':
		to := rawjson.StringEnd(doc, from)
		if to > 0 && k != kindSettings {
			w.addText(doc[from+1 : to-1])
		}
		return to
	case '{':
		return w.objectEnd(doc, from, depth, k)
	case '[':
		return w.arrayEnd(doc, from, depth, k)
	}
	to := rawjson.ValueEnd(doc, from, depth)
	if to > 0 && k == kindJSON {
		n := int64(to - from)
		w.units += n * letterUnits
		if c := doc[from]; c == '-' || '0' <= c && c <= '9' {
			w.denseBytes, w.denseHalves = w.denseBytes+n, w.denseHalves+n*markHalves
		}
	}
	return to
}

func (w *textSize) objectEnd(doc []byte, from, depth int, k textKind) int {
	if depth == 0 {
		return -1
	}
	o := rawjson.OpenObject(doc, from)
	w.opened(k)
	for o.NextKey() {
		if !o.EndValue(w.valueEnd(doc, o.Value.From, depth-1, w.member(o.Key.Of(doc), k))) {
			return -1
		}
	}
	return o.End()
}

// opened counts the brackets of an object or an array.
func (w *textSize) opened(k textKind) {
	if k == kindJSON {
		w.units += int64(len(`{}`)) * syntaxUnits
	}
}

// member counts the name of a member of a value of kind k. It returns the kind of the member's value.
func (w *textSize) member(key []byte, k textKind) textKind {
	w.hasMedia = w.hasMedia || k == kindTurns && namesMedia(key)
	switch k {
	case kindUnread:
		return kindUnread
	case kindJSON:
		w.units += int64(len(key)+len(`"":,`)) * syntaxUnits
	}
	return k.within(key)
}

// element counts the comma between two elements of an array.
func (w *textSize) element(k textKind) {
	if k == kindJSON {
		w.units += int64(len(`,`)) * syntaxUnits
	}
}

func (w *textSize) arrayEnd(doc []byte, from, depth int, k textKind) int {
	if depth == 0 {
		return -1
	}
	a := rawjson.OpenArray(doc, from)
	w.opened(k)
	for a.NextValue() {
		w.element(k)
		if !a.EndValue(w.valueEnd(doc, a.Value.From, depth-1, k)) {
			return -1
		}
	}
	return a.End()
}

const (
	wordBytes = 8
	allBytes  = 0x0101010101010101
	highBits  = 0x80 * allBytes
	slashes   = '\\' * allBytes
)

// addText counts the inside of a JSON string. It counts eight bytes of ASCII without escapes at once.
func (w *textSize) addText(s []byte) {
	var plain, marks int64
	for len(s) > 0 {
		for len(s) >= wordBytes {
			word := binary.LittleEndian.Uint64(s)
			unlike := word ^ slashes
			other := (word | (unlike-allBytes)&^unlike) & highBits
			if other != 0 {
				n := bits.TrailingZeros64(other) / wordBytes
				plain, marks = plain+int64(n), marks+marksIn(word, n)
				s = s[n:]
				break
			}
			plain, marks = plain+wordBytes, marks+marksIn(word, wordBytes)
			s = s[wordBytes:]
		}
		if len(s) == 0 {
			break
		}
		size, units := characterUnits(s)
		w.units += units
		w.addDense(s[0], size)
		s = s[size:]
	}
	w.units += plain * letterUnits
	w.denseBytes, w.denseHalves = w.denseBytes+marks, w.denseHalves+marks*markHalves
}

// The most tokens of dense text, in halves. A digit or a mark of punctuation is at most one token. Of other characters each byte is at
// most half a token, which makes one and a half for a Chinese, Japanese or Korean character.
const (
	markHalves   = 2
	byteHalves   = 1
	escapeHalves = 3
)

// addDense counts a character with the first byte c, if it is dense.
func (w *textSize) addDense(c byte, size int) {
	switch {
	case c == '\\' && size > len(`\n`):
		w.denseHalves += escapeHalves
	case c >= 0x80:
		w.denseHalves += byteHalves
	case c == ' ', 'a' <= c|0x20 && c|0x20 <= 'z':
		return
	default:
		w.denseHalves += markHalves
	}
	w.denseBytes += int64(size)
}

// marksIn counts the bytes among the first n of a word of ASCII that are neither letters nor spaces.
func marksIn(word uint64, n int) int64 {
	const (
		fold    = 0x20 * allBytes
		fromA   = (0x80 - 'a') * allBytes
		aboveZ  = (0x80 - 'z' - 1) * allBytes
		nonZero = 0x7f * allBytes
	)
	word &^= highBits // Only the bytes before the first one beyond ASCII count.
	folded := word | fold
	letters := (folded + fromA) &^ (folded + aboveZ)
	marks := ((word ^ fold) + nonZero) &^ letters & highBits
	if n < wordBytes {
		marks &= 1<<(n*wordBytes) - 1
	}
	return int64(bits.OnesCount64(marks))
}

// characterUnits returns the bytes and the units of the first character of a text.
func characterUnits(s []byte) (size int, units int64) {
	switch c := s[0]; {
	case c == '\\' && len(s) >= len(`\u0000`) && s[1] == 'u':
		return len(`\u0000`), escapeUnits(s[2:6])
	case c == '\\':
		return min(2, len(s)), letterUnits
	case c < 0x80:
		return 1, letterUnits
	case c < 0xc0:
		// The byte is inside of a character.
		return 1, 0
	// These are the alphabets up to the Indic scripts.
	case c <= 0xe0:
		return 1, letterUnits
	}
	return 1, symbolUnits
}

// escapeUnits returns the units of a character that is written as four hexadecimal digits. A surrogate is half of a character.
func escapeUnits(digits []byte) int64 {
	var r rune
	for _, c := range digits {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return letterUnits
		}
		r = r<<4 | rune(c)
	}
	switch {
	case utf16.IsSurrogate(r):
		return symbolUnits / 2
	case r < 0x1000:
		return letterUnits
	}
	return symbolUnits
}
