package app

import (
	"strings"
	"unicode/utf8"
)

// Storable tells whether a text can be kept and looked for: UTF-8 without NUL, which no database of text takes. What
// callers hand in is asked for this first, because the refusal of the database would be told as a fault of ours.
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
