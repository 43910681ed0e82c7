package jsonschema

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// scanner reads the tokens of correct JSON, eight bytes of a string at a time. It stops at anything else without a reason, and also at
// names with escapes and at objects of more than namesScannedMax members, which are rare.
type scanner struct {
	doc []byte
	// at is the index after what was read last, or that of the next token when kind is set.
	at int
	// kind is that of the next token, and KindInvalid before the scanner has looked at it.
	kind  jsontext.Kind
	depth int
	// levels has the body, and the arrays and objects around the next token.
	levels [depthMax + 1]level
	// names has the names of the members of all objects in levels.
	names []memberName
	// correct has strings that need not be read, from their first quotes to after their last ones.
	correct [][2]int
}

// namesScannedMax bounds the members of one object, because each name is compared with those before it.
const namesScannedMax = 128

// level is an array, an object or the body.
type level struct {
	// kind is KindInvalid for the body.
	kind     jsontext.Kind
	expected expected
	// elements counts the elements of an array that have begun.
	elements int
	// names is the index of the first name of an object.
	names int
}

// expected is what may come next in a level.
type expected uint8

const (
	// expectedFirst is the first value or name, or the end.
	expectedFirst expected = iota
	// expectedMore is a comma and a value or name, or the end.
	expectedMore
	// expectedValue is a colon and a value.
	expectedValue
)

// memberName is where a name is in the body. Names with different keys differ.
type memberName struct {
	key      uint64
	from, to int
}

// kinds has the kind of a token by its first byte.
var kinds = func() (kinds [256]jsontext.Kind) {
	for _, first := range []byte(`"{}[]tfn`) {
		kinds[first] = jsontext.Kind(first)
	}
	for _, first := range []byte(`-0123456789`) {
		kinds[first] = jsontext.KindNumber
	}
	return kinds
}()

func (s *scanner) reset(doc []byte) {
	s.doc, s.at, s.kind, s.depth, s.levels[0], s.names = doc, 0, jsontext.KindInvalid, 0, level{}, s.names[:0]
}

// peekKind returns the kind of the next token, and KindInvalid where the scanner stops.
func (s *scanner) peekKind() jsontext.Kind {
	if s.kind != jsontext.KindInvalid {
		return s.kind
	}
	l := &s.levels[s.depth]
	at, mayEnd := s.skipSpace(s.at), l.expected != expectedValue
	switch {
	case at >= len(s.doc):
		return jsontext.KindInvalid
	case l.expected == expectedValue:
		if s.doc[at] != ':' {
			return jsontext.KindInvalid
		}
		at = s.skipSpace(at + 1)
	case l.expected == expectedMore && s.doc[at] == ',':
		at, mayEnd = s.skipSpace(at+1), false
	case l.expected == expectedMore && !l.endsWith(kinds[s.doc[at]]):
		return jsontext.KindInvalid
	}
	if at >= len(s.doc) {
		return jsontext.KindInvalid
	}
	kind := kinds[s.doc[at]]
	switch {
	case kind == jsontext.KindInvalid:
		return kind
	case kind == jsontext.KindEndObject, kind == jsontext.KindEndArray:
		if !mayEnd || !l.endsWith(kind) {
			return jsontext.KindInvalid
		}
	case kind != jsontext.KindString && l.expectsName():
		return jsontext.KindInvalid
	}
	s.at, s.kind = at, kind
	return kind
}

// endsWith reports whether a token ends the level. In ASCII, '}' is '{' + 2 and ']' is '[' + 2.
func (l *level) endsWith(kind jsontext.Kind) bool {
	return l.kind != jsontext.KindInvalid && kind == l.kind+2
}

func (l *level) expectsName() bool {
	return l.kind == jsontext.KindBeginObject && l.expected != expectedValue
}

// readValue reads a name, or a value that is neither an array nor an object. It reports false where the scanner stops.
func (s *scanner) readValue() ([]byte, bool) {
	to := -1
	switch s.peekKind() {
	case jsontext.KindString:
		to = s.stringEnd()
	case jsontext.KindNumber:
		to = numberEnd(s.doc, s.at)
	case jsontext.KindTrue:
		to = s.literalEnd("true")
	case jsontext.KindFalse:
		to = s.literalEnd("false")
	case jsontext.KindNull:
		to = s.literalEnd("null")
	}
	if to < 0 {
		return nil, false
	}
	from, l := s.at, &s.levels[s.depth]
	if l.expectsName() {
		l.expected = expectedValue
		if !s.addName(l.names, from+1, to-1) {
			return nil, false
		}
	} else {
		l.expected = expectedMore
		l.elements++
	}
	s.at, s.kind = to, jsontext.KindInvalid
	return s.doc[from:to], true
}

// stringEnd returns the index after the next token, which is a string, or -1 when it is not correct.
func (s *scanner) stringEnd() int {
	for len(s.correct) > 0 && s.correct[0][0] < s.at {
		s.correct = s.correct[1:]
	}
	if len(s.correct) > 0 && s.correct[0][0] == s.at {
		return s.correct[0][1]
	}
	return validStringEnd(s.doc, s.at+1)
}

// readDelimiter reads the beginning or the end of an array or an object. It reports false where the scanner stops.
func (s *scanner) readDelimiter() bool {
	switch kind := s.peekKind(); kind {
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		if s.depth == depthMax {
			return false
		}
		l := &s.levels[s.depth]
		l.expected = expectedMore
		l.elements++
		s.depth++
		s.levels[s.depth] = level{kind: kind, expected: expectedFirst, names: len(s.names)}
	case jsontext.KindEndObject, jsontext.KindEndArray:
		s.names = s.names[:s.levels[s.depth].names]
		s.depth--
	default:
		return false
	}
	s.at, s.kind = s.at+1, jsontext.KindInvalid
	return true
}

// hasEnded reports whether a value was read and only white space follows.
func (s *scanner) hasEnded() bool {
	return s.depth == 0 && s.levels[0].expected == expectedMore && s.skipSpace(s.at) == len(s.doc)
}

// addName adds a name to those of an object, which begin at first. It reports false where the scanner stops.
func (s *scanner) addName(first, from, to int) bool {
	name := s.doc[from:to]
	one := memberName{from: from, to: to}
	switch {
	case len(s.names)-first >= namesScannedMax, bytes.IndexByte(name, '\\') >= 0:
		return false
	case len(name) >= 4:
		one.key = uint64(binary.LittleEndian.Uint32(name))<<32 | uint64(binary.LittleEndian.Uint32(name[len(name)-4:]))
	default:
		for _, c := range name {
			one.key = one.key<<8 | uint64(c)
		}
	}
	for i := range s.names[first:] {
		if n := &s.names[first+i]; n.key == one.key && string(s.doc[n.from:n.to]) == string(name) {
			return false
		}
	}
	s.names = append(s.names, one)
	return true
}

// pointer is the place of the value that was read last.
func (s *scanner) pointer() (p jsontext.Pointer) {
	for i := 1; i <= s.depth; i++ {
		l, names := &s.levels[i], len(s.names)
		if i < s.depth {
			names = s.levels[i+1].names
		}
		switch {
		case l.kind == jsontext.KindBeginArray && l.elements > 0:
			p = p.AppendToken(strconv.Itoa(l.elements - 1))
		case l.kind == jsontext.KindBeginObject && names > l.names:
			n := s.names[names-1]
			p = p.AppendToken(string(s.doc[n.from:n.to]))
		}
	}
	return p
}

func (s *scanner) skipSpace(at int) int {
	for at < len(s.doc) && (s.doc[at] == ' ' || s.doc[at] == '\n' || s.doc[at] == '\t' || s.doc[at] == '\r') {
		at++
	}
	return at
}

func (s *scanner) literalEnd(word string) int {
	if len(s.doc)-s.at < len(word) || string(s.doc[s.at:s.at+len(word)]) != word {
		return -1
	}
	return s.at + len(word)
}

const (
	allBytes    = 0x0101010101010101
	highBits    = 0x80 * allBytes
	quotes      = '"' * allBytes
	backslashes = '\\' * allBytes
	blanks      = ' ' * allBytes
)

// unusual has the high bit of each byte of a word that is a quote, a backslash, a control character or not ASCII. Bits above the lowest
// of them may be wrong.
func unusual(word uint64) uint64 {
	return (word | (word ^ quotes - allBytes) | (word ^ backslashes - allBytes) | (word - blanks)) & highBits
}

// validStringEnd returns the index after the string whose inside begins at an index. It is -1 for a string that is not correct.
func validStringEnd(doc []byte, at int) int {
	for {
		for plain := 1; len(doc)-at >= 8; plain++ {
			if other := unusual(binary.LittleEndian.Uint64(doc[at:])); other != 0 {
				at += bits.TrailingZeros64(other) / 8
				break
			}
			if at += 8; plain%8 == 0 {
				at = plainEnd(doc, at)
			}
		}
		if at >= len(doc) {
			return -1
		}
		switch c := doc[at]; {
		case c == '"':
			return at + 1
		case c == '\\':
			at = escapeEnd(doc, at)
		case c < ' ':
			return -1
		case c < utf8.RuneSelf:
			at++
		default:
			at = charactersEnd(doc, at)
		}
		if at < 0 {
			return -1
		}
	}
}

// plainEnd skips 32 bytes at a time, as long as none of them is unusual.
func plainEnd(doc []byte, at int) int {
	for ; len(doc)-at >= 32; at += 32 {
		run := doc[at : at+32]
		first, second := binary.LittleEndian.Uint64(run), binary.LittleEndian.Uint64(run[8:])
		third, fourth := binary.LittleEndian.Uint64(run[16:]), binary.LittleEndian.Uint64(run[24:])
		if unusual(first)|unusual(second)|unusual(third)|unusual(fourth) != 0 {
			break
		}
	}
	return at
}

// charactersEnd returns the index after the characters beyond ASCII at an index. It is -1 when one of them is not UTF-8.
func charactersEnd(doc []byte, at int) int {
	for at < len(doc) && doc[at] >= utf8.RuneSelf {
		// Most have two or three bytes. Of their firsts only 0xe0 and 0xed have rules for the second, and 0xc0 and 0xc1 do not occur.
		switch c := doc[at]; {
		case len(doc)-at >= 3 && c&0xf0 == 0xe0 && c != 0xe0 && c != 0xed && doc[at+1]&0xc0 == 0x80 && doc[at+2]&0xc0 == 0x80:
			at += 3
			continue
		case len(doc)-at >= 2 && c&0xe0 == 0xc0 && c >= 0xc2 && doc[at+1]&0xc0 == 0x80:
			at += 2
			continue
		}
		r, size := utf8.DecodeRune(doc[at:])
		if r == utf8.RuneError && size == 1 {
			return -1
		}
		at += size
	}
	return at
}

// escapeEnd returns the index after the escape at an index, or -1 when it is not correct. Both halves of a character are one escape.
func escapeEnd(doc []byte, at int) int {
	if len(doc)-at < len(`\n`) {
		return -1
	}
	switch doc[at+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return at + len(`\n`)
	case 'u':
	default:
		return -1
	}
	first, ok := escapedUnit(doc, at)
	if !ok || !utf16.IsSurrogate(first) {
		if !ok {
			return -1
		}
		return at + len(`\u0000`)
	}
	second, ok := escapedUnit(doc, at+len(`\u0000`))
	if !ok || utf16.DecodeRune(first, second) == utf8.RuneError {
		return -1
	}
	return at + 2*len(`\u0000`)
}

// escapedUnit returns the number of an escape such as \u00e9, and reports false where there is none.
func escapedUnit(doc []byte, at int) (unit rune, ok bool) {
	if len(doc)-at < len(`\u0000`) || doc[at] != '\\' || doc[at+1] != 'u' {
		return 0, false
	}
	for _, c := range doc[at+2 : at+len(`\u0000`)] {
		switch lower := c | 0x20; {
		case '0' <= c && c <= '9':
			unit = unit<<4 | rune(c-'0')
		case 'a' <= lower && lower <= 'f':
			unit = unit<<4 | rune(lower-'a'+10)
		default:
			return 0, false
		}
	}
	return unit, true
}

// numberEnd returns the index after the number that begins at an index, or -1 when it is not correct.
func numberEnd(doc []byte, at int) int {
	if doc[at] == '-' {
		at++
	}
	if at < len(doc) && doc[at] == '0' {
		at++
	} else if at = digitsEnd(doc, at); at < 0 {
		return -1
	}
	if at < len(doc) && doc[at] == '.' {
		if at = digitsEnd(doc, at+1); at < 0 {
			return -1
		}
	}
	if at < len(doc) && doc[at]|0x20 == 'e' {
		if at++; at < len(doc) && (doc[at] == '+' || doc[at] == '-') {
			at++
		}
		return digitsEnd(doc, at)
	}
	return at
}

// digitsEnd returns the index after the digits at an index, or -1 when there are none.
func digitsEnd(doc []byte, from int) int {
	at := from
	for at < len(doc) && '0' <= doc[at] && doc[at] <= '9' {
		at++
	}
	if at == from {
		return -1
	}
	return at
}
