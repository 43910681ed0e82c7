package app

import (
	"strings"
	"unicode/utf8"
)

// Storable reports whether a text can be stored and searched: UTF-8 without NUL, which PostgreSQL does not take. Texts
// of callers are checked with it first, because an error of the database would be reported as an internal error.
func Storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
