package dialect

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"

	"umg/app/dialect/native"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
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
	// marked means that a string begins with the mark of a signature.
	marked bool
	// correct has the first long strings that are known to be correct JSON, or is nil.
	correct *[]correctString
}

// correctString is a string of a request that is correct JSON: the indexes of its first quote and after its last one.
type correctString = [2]int

const (
	correctStringsMax = 512
	// correctBytesMin is the size from which on it is worth to know that a string is correct.
	correctBytesMin = 1 << 10
)

// CorrectStrings returns some long strings of the request that are correct JSON, so that they need not be read again: the indexes of
// their first quotes and after their last ones. The body must be that from which the head was read.
func (h *Head) CorrectStrings(body []byte) [][2]int {
	if h.text.correct == nil || int64(len(body)) != h.BodyBytes {
		return nil
	}
	return *h.text.correct
}

// plus adds the sizes of two texts.
func (w textSize) plus(v textSize) textSize {
	w.units, w.denseBytes, w.denseHalves = w.units+v.units, w.denseBytes+v.denseBytes, w.denseHalves+v.denseHalves
	return w
}

// valueEnd returns the index after a value, or -1 when it is broken, and counts the units of its text.
func (w *textSize) valueEnd(doc []byte, from, depth int, k textKind) int {
	if k == kindUnread || from >= len(doc) || k == kindSettings && doc[from] == '"' {
		to := rawjson.ValueEnd(doc, from, depth)
		w.marked = w.marked || to > 0 && HasMarkedSignature(doc[from:to])
		return to
	}
	switch doc[from] {
	case '"':
		w.marked = w.marked || isMarked(doc[from+1:])
		to, isCorrect := w.textEnd(doc, from)
		if isCorrect && to-from >= correctBytesMin {
			w.noteCorrect(doc, correctString{from, to})
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

// HasMarkedSignature reports whether a string in a document begins with the mark of a signature.
func HasMarkedSignature(doc []byte) bool {
	// After many quotes at its beginning, bytes.Contains compares at every byte of a long document, which takes five times as long.
	for {
		i := bytes.IndexByte(doc, '"')
		if i < 0 {
			return false
		}
		if doc = doc[i+1:]; isMarked(doc) {
			return true
		}
	}
}

// isMarked reports whether the inside of a string begins with the mark of a signature.
func isMarked(inside []byte) bool {
	return bytes.HasPrefix(inside, []byte(llm.SignatureMark)) || bytes.HasPrefix(inside, []byte(native.SealedMark))
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

// noteCorrect adds a string to those that are known to be correct JSON, unless there are correctStringsMax of them.
func (w *textSize) noteCorrect(doc []byte, one correctString) {
	if w.correct == nil {
		list := make([]correctString, 0, min(correctStringsMax, 1+(len(doc)-one[0])/correctBytesMin))
		w.correct = &list
	}
	if len(*w.correct) < correctStringsMax {
		*w.correct = append(*w.correct, one)
	}
}

const (
	wordBytes = 8
	allBytes  = 0x0101010101010101
	highBits  = 0x80 * allBytes
	slashes   = '\\' * allBytes
	blanks    = ' ' * allBytes
)

// textEnd counts the string that begins at an index. It returns the index after the string, or -1 when the string has no end. IsCorrect
// is true only for ASCII whose escapes, other than those of numbers, are correct JSON.
func (w *textSize) textEnd(doc []byte, from int) (to int, isCorrect bool) {
	var escapes, escapedMarks int64
	at := from + 1
	quote := at + bytes.IndexByte(doc[at:], '"') // Quote is below at when there is none.
	for quote >= at {
		i := bytes.IndexByte(doc[at:quote], '\\')
		if i < 0 {
			break
		}
		at += i + len(`\n`)
		switch c := doc[at-1]; {
		case !isEscape[c]:
			if to = rawjson.StringEnd(doc, from); to > 0 {
				w.addText(doc[from+1 : to-1])
			}
			return to, false
		case c < 'b':
			escapedMarks++
		}
		if escapes++; at > quote {
			quote = at + bytes.IndexByte(doc[at:], '"')
		}
	}
	if quote < at {
		return -1, false
	}
	inside := doc[from+1 : quote]
	marks, isPlain := countMarks(inside)
	if !isPlain {
		w.addText(inside)
		return quote + 1, false
	}
	// An escape is one character of two dense bytes and counts as one mark. The backslash was counted as a mark.
	w.add((int64(len(inside))-escapes)*letterUnits, marks+escapes-escapedMarks, (marks-escapedMarks)*markHalves)
	return quote + 1, true
}

// countMarks counts the bytes of a text that are neither letters nor spaces. It reports false for a text with control characters or
// characters beyond ASCII.
func countMarks(s []byte) (marks int64, isPlain bool) {
	for ; len(s) >= 4*wordBytes; s = s[4*wordBytes:] {
		first, second := binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint64(s[8:])
		third, fourth := binary.LittleEndian.Uint64(s[16:]), binary.LittleEndian.Uint64(s[24:])
		if ((first-blanks)|(second-blanks)|(third-blanks)|(fourth-blanks)|first|second|third|fourth)&highBits != 0 {
			return 0, false
		}
		marks += sumOfBytes(marksIn(first) + marksIn(second) + marksIn(third) + marksIn(fourth))
	}
	for len(s) > 0 {
		rest := [wordBytes]byte{' ', ' ', ' ', ' ', ' ', ' ', ' ', ' '}
		s = s[copy(rest[:], s):]
		word := binary.LittleEndian.Uint64(rest[:])
		if ((word-blanks)|word)&highBits != 0 {
			return 0, false
		}
		marks += sumOfBytes(marksIn(word))
	}
	return marks, true
}

// addText counts the inside of a JSON string of any characters.
func (w *textSize) addText(s []byte) {
	for at := 0; at < len(s); {
		plain, marks := plainRun(s[at:])
		first := at + plain
		for at = first; at < len(s) && s[at] >= utf8.RuneSelf; at++ {
			w.units += int64(byteUnits[s[at]])
		}
		wide := int64(at - first)
		w.add(int64(plain)*letterUnits, marks+wide, marks*markHalves+wide*byteHalves)
		for at < len(s) && (s[at] == '\\' || s[at] < ' ' || len(s)-at < wordBytes && s[at] < utf8.RuneSelf) {
			one := characterSize(s[at:])
			w.add(one.units, one.denseBytes, one.denseHalves)
			at += one.bytes
		}
	}
}

func (w *textSize) add(units, denseBytes, denseHalves int64) {
	w.units, w.denseBytes, w.denseHalves = w.units+units, w.denseBytes+denseBytes, w.denseHalves+denseHalves
}

// isEscape has the characters that may follow a backslash, but for u.
var isEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// plainRun returns the number of bytes of ASCII without escapes that a text begins with, up to less than a word at its end, and how many
// of them are marks.
func plainRun(s []byte) (plain int, marks int64) {
	for ; len(s)-plain >= wordBytes; plain += wordBytes {
		word := binary.LittleEndian.Uint64(s[plain:])
		if other := others(word); other != 0 {
			n := bits.TrailingZeros64(other) / wordBytes
			return plain + n, marks + sumOfBytes(marksIn(word&^highBits)&(1<<(n*wordBytes)-1))
		}
		marks += sumOfBytes(marksIn(word))
	}
	return plain, marks
}

// others has the high bit of each byte of a word that is a backslash, a control character or not ASCII. Bits above the lowest of them may
// be wrong.
func others(word uint64) uint64 {
	return (word | (word ^ slashes - allBytes) | (word - blanks)) & highBits
}

// The most tokens of dense text, in halves. A digit or a mark of punctuation is at most one token. Of other characters each byte is at
// most half a token, which makes one and a half for a Chinese, Japanese or Korean character.
const (
	markHalves   = 2
	byteHalves   = 1
	escapeHalves = 3
)

// marksIn has a one in each byte of a word of ASCII without control characters that is neither a letter nor a space.
func marksIn(word uint64) uint64 {
	const (
		fold       = 0x20 * allBytes
		aboveSpace = (0x80 - ' ' - 1) * allBytes
		fromA      = (0x80 - 'a') * allBytes
		aboveZ     = (0x80 - 'z' - 1) * allBytes
	)
	folded := word | fold
	// What is above z is also above a, and both are above the space.
	return ((folded + aboveSpace) ^ (folded + fromA) ^ (folded + aboveZ)) & highBits >> 7
}

// sumOfBytes adds up the bytes of a word, which must be less than 256 together.
func sumOfBytes(lanes uint64) int64 { return int64(lanes * allBytes >> 56) }

// writtenSize is the size of a character as it is written, with the bytes that it takes.
type writtenSize struct {
	bytes                          int
	units, denseBytes, denseHalves int64
}

// characterSize returns the size of the escape or the character of ASCII that a text begins with.
func characterSize(s []byte) writtenSize {
	switch c := s[0]; {
	case c == '\\' && len(s) >= len(`\u0000`) && s[1] == 'u':
		return writtenSize{len(`\u0000`), escapeUnits(s[2:6]), int64(len(`\u0000`)), escapeHalves}
	case c == '\\' && len(s) >= len(`\n`):
		return writtenSize{len(`\n`), letterUnits, int64(len(`\n`)), markHalves}
	case c == ' ', 'a' <= c|0x20 && c|0x20 <= 'z':
		return writtenSize{1, letterUnits, 0, 0}
	}
	return writtenSize{1, letterUnits, 1, markHalves}
}

// byteUnits has the units of each byte beyond ASCII. The first byte counts for a character, those of the alphabets up to the Indic
// scripts as a letter.
var byteUnits = func() (units [256]uint8) {
	for c := 0xc0; c < len(units); c++ {
		units[c] = symbolUnits
		if c <= 0xe0 {
			units[c] = letterUnits
		}
	}
	return units
}()

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
