package dialect

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	depthMax  = 128 // how deep JSON may nest
	nearBytes = 16
)

// span is a stretch of a document, from its first byte to behind its last. The zero span is nowhere.
type span struct{ from, to int }

func (s span) of(doc []byte) []byte { return doc[s.from:s.to] }
func (s span) found() bool          { return s.to > 0 }

// object iterates over the members of a JSON object. It checks the grammar of everything it passes, so that it notices
// text which was cut or broken. Readers of a value check the escapes and numbers inside it.
type object struct {
	doc    []byte
	at     int
	member span // the key with its quotes, the colon and the value
	key    span // the key without its quotes
	value  span
	begun  bool
	broken bool
}

// openObject starts at the first byte that is not blank, which must open an object.
func openObject(doc []byte, at int) object {
	at = blanks(doc, at)
	return object{doc: doc, at: at + 1, broken: at >= len(doc) || doc[at] != '{'}
}

// next moves to the next member. It returns false at the end, where at is behind the closing brace, and when the
// object is broken.
func (o *object) next() bool {
	return o.nextKey() && o.close(valueEnd(o.doc, o.value.from, depthMax))
}

// nextKey moves to the next member as far as the first byte of its value. The caller walks the value itself and then
// calls close with its end.
func (o *object) nextKey() bool {
	at := blanks(o.doc, o.at)
	if o.broken || at >= len(o.doc) {
		return o.fail()
	}
	if o.doc[at] == '}' {
		o.at = at + 1
		return false
	}
	if o.begun {
		if o.doc[at] != ',' {
			return o.fail()
		}
		at = blanks(o.doc, at+1)
	}
	o.begun = true
	key := stringEnd(o.doc, at)
	if key < 0 {
		return o.fail()
	}
	colon := blanks(o.doc, key)
	if colon >= len(o.doc) || o.doc[colon] != ':' {
		return o.fail()
	}
	o.member.from, o.key, o.value.from = at, span{at + 1, key - 1}, blanks(o.doc, colon+1)
	return true
}

// close says where the value of the member ends, or that it is broken.
func (o *object) close(to int) bool {
	if to < 0 {
		return o.fail()
	}
	o.member.to, o.value.to, o.at = to, to, to
	return true
}

func (o *object) fail() bool {
	o.broken = true
	return false
}

// name is the key, with its escapes resolved.
func (o *object) name() []byte {
	key := o.key.of(o.doc)
	if bytes.IndexByte(key, '\\') < 0 {
		return key
	}
	plain, err := jsontext.AppendUnquote(nil, o.doc[o.key.from-1:o.key.to+1])
	if err != nil {
		return key
	}
	return plain
}

// whole reports whether the object ended and only blanks follow it.
func (o *object) whole() bool { return !o.broken && blanks(o.doc, o.at) == len(o.doc) }

// array walks the elements of a JSON array, as object does with members.
type array struct {
	doc    []byte
	at     int
	value  span
	begun  bool
	broken bool
}

func openArray(doc []byte, at int) array {
	at = blanks(doc, at)
	return array{doc: doc, at: at + 1, broken: at >= len(doc) || doc[at] != '['}
}

func (a *array) next() bool {
	return a.nextValue() && a.close(valueEnd(a.doc, a.value.from, depthMax))
}

// nextValue moves to the first byte of the next element, as nextKey does with members.
func (a *array) nextValue() bool {
	at := blanks(a.doc, a.at)
	if a.broken || at >= len(a.doc) {
		return a.fail()
	}
	if a.doc[at] == ']' {
		a.at = at + 1
		return false
	}
	if a.begun {
		if a.doc[at] != ',' {
			return a.fail()
		}
		at = blanks(a.doc, at+1)
	}
	a.begun = true
	a.value.from = at
	return true
}

func (a *array) close(to int) bool {
	if to < 0 {
		return a.fail()
	}
	a.value.to, a.at = to, to
	return true
}

func (a *array) fail() bool {
	a.broken = true
	return false
}

// end is where a walked array ends, or -1 when it is broken.
func (a *array) end() int {
	if a.broken {
		return -1
	}
	return a.at
}

// end is where a walked object ends, or -1 when it is broken.
func (o *object) end() int {
	if o.broken {
		return -1
	}
	return o.at
}

// blanks is the index of the first byte from at on that is not blank.
func blanks(doc []byte, at int) int {
	for at < len(doc) && (doc[at] == ' ' || doc[at] == '\n' || doc[at] == '\t' || doc[at] == '\r') {
		at++
	}
	return at
}

// valueEnd is the index behind the value that begins at from, or -1 when there is no whole value.
func valueEnd(doc []byte, from, depth int) int {
	if from >= len(doc) {
		return -1
	}
	switch c := doc[from]; {
	case c == '"':
		return stringEnd(doc, from)
	case c == '{' || c == '[':
		return nestEnd(doc, from, depth)
	case c == '-' || '0' <= c && c <= '9':
		return numberEnd(doc, from)
	case c == 't':
		return literalEnd(doc, from, "true")
	case c == 'f':
		return literalEnd(doc, from, "false")
	case c == 'n':
		return literalEnd(doc, from, "null")
	}
	return -1
}

// nestEnd is valueEnd for objects and arrays.
func nestEnd(doc []byte, from, depth int) int {
	if depth == 0 {
		return -1
	}
	isObject, closing := doc[from] == '{', doc[from]+2 // '}' and ']' each stand two behind their openings
	at := blanks(doc, from+1)
	if at < len(doc) && doc[at] == closing {
		return at + 1
	}
	for {
		if isObject {
			if at = stringEnd(doc, at); at < 0 {
				return -1
			}
			at = blanks(doc, at)
			if at >= len(doc) || doc[at] != ':' {
				return -1
			}
			at = blanks(doc, at+1)
		}
		if at = valueEnd(doc, at, depth-1); at < 0 {
			return -1
		}
		at = blanks(doc, at)
		if at >= len(doc) {
			return -1
		}
		switch doc[at] {
		case closing:
			return at + 1
		case ',':
			at = blanks(doc, at+1)
		default:
			return -1
		}
	}
}

// stringEnd is the index behind the closing quote of the string that begins at from, or -1.
func stringEnd(doc []byte, from int) int {
	if from >= len(doc) || doc[from] != '"' {
		return -1
	}
	near := doc[from+1 : min(len(doc), from+1+nearBytes)] // most keys and values end here, sooner than a call is made
	for i, c := range near {
		if c == '"' {
			return from + i + 2
		}
		if c == '\\' {
			break
		}
	}
	for at := from + 1; ; {
		i := bytes.IndexByte(doc[at:], '"')
		if i < 0 {
			return -1
		}
		quote := at + i
		slashes := 0
		for doc[quote-1-slashes] == '\\' { // stops at the opening quote at the latest
			slashes++
		}
		if slashes%2 == 0 {
			return quote + 1
		}
		at = quote + 1
	}
}

func numberEnd(doc []byte, from int) int {
	at := from
	for at < len(doc) {
		if c := doc[at]; ('0' > c || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			break
		}
		at++
	}
	return at
}

func literalEnd(doc []byte, from int, word string) int {
	if len(doc)-from < len(word) || string(doc[from:from+len(word)]) != word {
		return -1
	}
	return from + len(word)
}

// isNull reports whether a value is null or not there.
func isNull(value []byte) bool { return len(value) == 0 || value[0] == 'n' }

// isEmpty reports whether a value says nothing: null, "", [] or {}.
func isEmpty(value []byte) bool {
	if isNull(value) {
		return true
	}
	switch value[0] {
	case '"':
		return len(value) == len(`""`)
	case '[', '{':
		return blanks(value, 1) == len(value)-1
	}
	return false
}

// textBytes counts the bytes of all string values in a value, as UTF-8 and without the keys of objects.
func textBytes(value []byte) int64 {
	if len(value) > 0 && value[0] == '"' {
		return plainBytes(value[1 : len(value)-1])
	}
	var n int64
	for at := 0; ; {
		i := bytes.IndexByte(value[at:], '"')
		if i < 0 {
			return n
		}
		from := at + i
		to := stringEnd(value, from)
		if to < 0 {
			return n
		}
		if after := blanks(value, to); after >= len(value) || value[after] != ':' {
			n += plainBytes(value[from+1 : to-1])
		}
		at = to
	}
}

// plainBytes is how long the inside of a JSON string is once its escapes are resolved. Every \u counts as three
// bytes: exact for most of what is escaped so, and close for the rest.
func plainBytes(s []byte) int64 {
	n := int64(len(s))
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 || i+1 >= len(s) {
			return n
		}
		if s[i+1] == 'u' {
			n -= 3
			s = s[min(i+6, len(s)):]
		} else {
			n--
			s = s[i+2:]
		}
	}
}

// text is the string of a JSON value, or empty when it is none.
func text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	if inside := value[1 : len(value)-1]; bytes.IndexByte(inside, '\\') < 0 {
		return string(inside)
	}
	plain, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(plain)
}

// quoted is s as a JSON string.
func quoted(s string) string {
	q, _ := jsontext.AppendQuote(nil, s) // its error only reports that bad UTF-8 was replaced
	return string(q)
}
