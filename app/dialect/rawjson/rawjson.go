// Package rawjson finds and replaces members of JSON in its bytes, without decoding the rest. OpenObject and OpenArray iterate over a
// value, and Edits appends a document with replacements.
package rawjson

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// DepthMax bounds how deep arrays and objects may be nested.
	DepthMax = 128
	// nearBytes is how many bytes of a string are searched for its end before a call is made.
	nearBytes = 16
)

// Span is a part of a document: From is the index of its first byte, To the index after its last. The zero Span stands for a
// value that was not found.
type Span struct{ From, To int }

// Of returns the bytes of the span in the document.
func (s Span) Of(doc []byte) []byte { return doc[s.From:s.To] }

// Found reports whether the span is not the zero Span.
func (s Span) Found() bool { return s.To > 0 }

// Object iterates over the members of a JSON object. It checks the grammar of everything it reads, so that it finds out when the
// text is cut or is not JSON. It does not check the escapes and numbers inside of values.
type Object struct {
	doc []byte
	at  int
	// Member spans the key with its quotes, the colon and the value.
	Member Span
	// Key spans the key without its quotes.
	Key   Span
	Value Span
	// Begun means that the object has at least one member.
	Begun bool
	// Broken means that the text is not an object, or ends inside of it.
	Broken bool
}

// OpenObject starts at the first byte from at on that is not white space. An object must begin there.
func OpenObject(doc []byte, at int) Object {
	at = SkipSpace(doc, at)
	return Object{doc: doc, at: at + 1, Broken: at >= len(doc) || doc[at] != '{'}
}

// Next moves to the next member. It returns false at the end of the object and when the object is broken.
func (o *Object) Next() bool {
	return o.NextKey() && o.EndValue(ValueEnd(o.doc, o.Value.From, DepthMax))
}

// NextKey moves to the first byte of the value of the next member. The caller finds the end of the value and calls EndValue.
func (o *Object) NextKey() bool {
	at := SkipSpace(o.doc, o.at)
	if o.Broken || at >= len(o.doc) {
		return o.fail()
	}
	if o.doc[at] == '}' {
		o.at = at + 1
		return false
	}
	if o.Begun {
		if o.doc[at] != ',' {
			return o.fail()
		}
		at = SkipSpace(o.doc, at+1)
	}
	o.Begun = true
	key := StringEnd(o.doc, at)
	if key < 0 {
		return o.fail()
	}
	colon := SkipSpace(o.doc, key)
	if colon >= len(o.doc) || o.doc[colon] != ':' {
		return o.fail()
	}
	o.Member.From, o.Key, o.Value.From = at, Span{at + 1, key - 1}, SkipSpace(o.doc, colon+1)
	return true
}

// EndValue sets the index after the value of the member. A negative index means that the value is broken.
func (o *Object) EndValue(to int) bool {
	if to < 0 {
		return o.fail()
	}
	o.Member.To, o.Value.To, o.at = to, to, to
	return true
}

func (o *Object) fail() bool {
	o.Broken = true
	return false
}

// Name returns the key with its escapes resolved.
func (o *Object) Name() []byte {
	key := o.Key.Of(o.doc)
	if bytes.IndexByte(key, '\\') < 0 {
		return key
	}
	plain, err := jsontext.AppendUnquote(nil, o.doc[o.Key.From-1:o.Key.To+1])
	if err != nil {
		return key
	}
	return plain
}

// IsWhole reports whether the object has ended and only white space follows.
func (o *Object) IsWhole() bool { return !o.Broken && SkipSpace(o.doc, o.at) == len(o.doc) }

// MemberOf returns the span of the value of the first member called name, or the zero Span.
func MemberOf(object []byte, name string) Span {
	o := OpenObject(object, 0)
	for o.Next() {
		if string(o.Name()) == name {
			return o.Value
		}
	}
	return Span{}
}

// Get returns the value of the first member that has one of the names, or nil.
func Get(object []byte, names ...string) []byte {
	o := OpenObject(object, 0)
	for o.Next() {
		if slices.Contains(names, string(o.Name())) {
			return o.Value.Of(object)
		}
	}
	return nil
}

// AppendElement appends an element to an array that begins at the first byte of dst and has no end yet.
func AppendElement(dst, element []byte) []byte {
	if len(dst) > len("[") {
		dst = append(dst, ',')
	}
	return append(dst, element...)
}

// Array iterates over the elements of a JSON array, as Object does over members.
type Array struct {
	doc    []byte
	at     int
	Value  Span
	begun  bool
	broken bool
}

// OpenArray starts at the first byte from at on that is not white space. An array must begin there.
func OpenArray(doc []byte, at int) Array {
	at = SkipSpace(doc, at)
	return Array{doc: doc, at: at + 1, broken: at >= len(doc) || doc[at] != '['}
}

// Next moves to the next element. It returns false at the end of the array and when the array is broken.
func (a *Array) Next() bool {
	return a.NextValue() && a.EndValue(ValueEnd(a.doc, a.Value.From, DepthMax))
}

// NextValue moves to the first byte of the next element. The caller finds its end and calls EndValue.
func (a *Array) NextValue() bool {
	at := SkipSpace(a.doc, a.at)
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
		at = SkipSpace(a.doc, at+1)
	}
	a.begun = true
	a.Value.From = at
	return true
}

// EndValue sets the index after the element. A negative index means that the element is broken.
func (a *Array) EndValue(to int) bool {
	if to < 0 {
		return a.fail()
	}
	a.Value.To, a.at = to, to
	return true
}

func (a *Array) fail() bool {
	a.broken = true
	return false
}

// End returns the index after the array once Next has returned false, or -1 when the array is broken.
func (a *Array) End() int {
	if a.broken {
		return -1
	}
	return a.at
}

// End returns the index after the object once Next has returned false, or -1 when the object is broken.
func (o *Object) End() int {
	if o.Broken {
		return -1
	}
	return o.at
}

// SkipSpace returns the index of the first byte from at on that is not white space.
func SkipSpace(doc []byte, at int) int {
	for at < len(doc) && (doc[at] == ' ' || doc[at] == '\n' || doc[at] == '\t' || doc[at] == '\r') {
		at++
	}
	return at
}

// ValueEnd returns the index after the value that begins at from, or -1 when it is broken or nested deeper than depth.
func ValueEnd(doc []byte, from, depth int) int {
	if from >= len(doc) {
		return -1
	}
	switch c := doc[from]; {
	case c == '"':
		return StringEnd(doc, from)
	case c == '{' || c == '[':
		return nestEnd(doc, from, depth)
	case c == '-' || '0' <= c && c <= '9':
		return numberEnd(doc, from)
	case c == 't':
		return LiteralEnd(doc, from, "true")
	case c == 'f':
		return LiteralEnd(doc, from, "false")
	case c == 'n':
		return LiteralEnd(doc, from, "null")
	}
	return -1
}

// nestEnd is ValueEnd for objects and arrays.
func nestEnd(doc []byte, from, depth int) int {
	if depth == 0 {
		return -1
	}
	isObject, closing := doc[from] == '{', doc[from]+2 // In ASCII, '}' is '{' + 2 and ']' is '[' + 2.
	at := SkipSpace(doc, from+1)
	if at < len(doc) && doc[at] == closing {
		return at + 1
	}
	for {
		if isObject {
			if at = StringEnd(doc, at); at < 0 {
				return -1
			}
			at = SkipSpace(doc, at)
			if at >= len(doc) || doc[at] != ':' {
				return -1
			}
			at = SkipSpace(doc, at+1)
		}
		if at = ValueEnd(doc, at, depth-1); at < 0 {
			return -1
		}
		at = SkipSpace(doc, at)
		if at >= len(doc) {
			return -1
		}
		switch doc[at] {
		case closing:
			return at + 1
		case ',':
			at = SkipSpace(doc, at+1)
		default:
			return -1
		}
	}
}

// StringEnd returns the index after the string that begins at from, or -1 when it has no end.
func StringEnd(doc []byte, from int) int {
	if from >= len(doc) || doc[from] != '"' {
		return -1
	}
	near := doc[from+1 : min(len(doc), from+1+nearBytes)] // Most strings are short, and a call costs more than this loop.
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
		for doc[quote-1-slashes] == '\\' { // The opening quote ends this loop at the latest.
			slashes++
		}
		if slashes%2 == 0 {
			return quote + 1
		}
		at = quote + 1
	}
}

// LineStringEnd returns the index of the quote that ends a string whose inside begins the text. It is -1 when the string does not end, or
// has a control character, such as the end of a line, before its end.
func LineStringEnd(inside []byte) int {
	for i := 0; i < len(inside); i++ {
		switch c := inside[i]; {
		case c == '"':
			return i
		case c == '\\':
			i++
			if i < len(inside) && inside[i] < ' ' {
				return -1
			}
		case c < ' ':
			return -1
		}
	}
	return -1
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

// LiteralEnd returns the index after word, or -1 when word is not at from.
func LiteralEnd(doc []byte, from int, word string) int {
	if len(doc)-from < len(word) || string(doc[from:from+len(word)]) != word {
		return -1
	}
	return from + len(word)
}

// EachElement scans an array, which may also be null, with a function that returns the index after the element that begins at an index.
// It returns the index after the array, or -1 when the array is broken.
func EachElement(doc []byte, from int, element func(from int) int) int {
	if from < len(doc) && doc[from] == 'n' {
		return LiteralEnd(doc, from, "null")
	}
	list := OpenArray(doc, from)
	for list.NextValue() {
		if !list.EndValue(element(list.Value.From)) {
			break
		}
	}
	return list.End()
}

// IsNull reports whether a value is null or absent.
func IsNull(value []byte) bool { return len(value) == 0 || value[0] == 'n' }

// IsEmpty reports whether a value is absent, null, "", [] or {}.
func IsEmpty(value []byte) bool {
	if IsNull(value) {
		return true
	}
	switch value[0] {
	case '"':
		return len(value) == len(`""`)
	case '[', '{':
		return SkipSpace(value, 1) == len(value)-1
	}
	return false
}

// TextBytes counts the bytes of all strings in a value, as UTF-8 and without the keys of objects.
func TextBytes(value []byte) int64 {
	if len(value) > 0 && value[0] == '"' {
		return UnescapedLen(value[1 : len(value)-1])
	}
	var n int64
	for at := 0; ; {
		i := bytes.IndexByte(value[at:], '"')
		if i < 0 {
			return n
		}
		from := at + i
		to := StringEnd(value, from)
		if to < 0 {
			return n
		}
		if after := SkipSpace(value, to); after >= len(value) || value[after] != ':' {
			n += UnescapedLen(value[from+1 : to-1])
		}
		at = to
	}
}

// UnescapedLen returns the length of the inside of a JSON string with its escapes resolved. Every \u counts as three bytes, which
// is exact for most characters that are escaped and close for the others.
func UnescapedLen(s []byte) int64 {
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

// String returns a JSON string with its escapes resolved, or the empty string for any other value.
func String(value []byte) string {
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

// isPlain reports whether a text is the same in JSON but for its quotes.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Quote returns s as a JSON string.
func Quote(s string) string {
	if isPlain(s) {
		return `"` + s + `"`
	}
	q, _ := jsontext.AppendQuote(nil, s) // The only error says that bytes which are not UTF-8 were replaced.
	return string(q)
}
