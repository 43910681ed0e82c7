package app

import (
	"strings"
	"unicode/utf8"
)

// Storable reports whether a text can be stored and searched: UTF-8 without NUL, which PostgreSQL does not take. Texts
// of callers are checked with it first, because an error of the database would be reported as an internal error.
func Storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

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
