package app

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Storable reports whether a text can be stored and searched: UTF-8 without NUL, which PostgreSQL does not take. Texts
// of callers are checked with it first, because an error of the database would be reported as an internal error.
func Storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// idBytesMax is more than any id has.
const idBytesMax = 100

// ValidID reports whether the database can be asked about an id that a caller sent.
func ValidID(id string) bool { return len(id) <= idBytesMax && Storable(id) }

// Printable reports whether a text is UTF-8 of printable characters.
func Printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// JoinWords lists words for a message, with commas between them.
func JoinWords[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, word := range list {
		words[i] = string(word)
	}
	return strings.Join(words, ", ")
}

// MakeStorable makes a text Storable, and of at most bytesMax bytes.
func MakeStorable(s string, bytesMax int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
	if len(s) <= bytesMax {
		return s
	}
	end := bytesMax
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// ellipsis ends a text that Truncate or TruncateBytes made shorter.
const ellipsis = "…"

// Truncate returns a text of at most runesMax characters. The last one of a longer text is an ellipsis.
func Truncate(s string, runesMax int) string {
	if utf8.RuneCountInString(s) <= runesMax {
		return s
	}
	return string([]rune(s)[:runesMax-1]) + ellipsis
}

// TruncateBytes returns a text of at most bytesMax bytes. A longer text ends with an ellipsis, and no character is cut in two.
func TruncateBytes(s string, bytesMax int) string {
	if len(s) <= bytesMax {
		return s
	}
	return strings.ToValidUTF8(s[:bytesMax-len(ellipsis)], "") + ellipsis
}

// GroupThousands puts a comma before each three digits from the right of a whole number without a sign.
func GroupThousands(digits string) string {
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
