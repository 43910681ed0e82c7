package app

import (
	"strings"
	"unicode/utf8"
)

// Storable tells whether a text can be kept and looked for: UTF-8 without NUL, which no database of text takes. What
// callers hand in is asked for this first, because the refusal of the database would be told as a fault of ours.
func Storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
