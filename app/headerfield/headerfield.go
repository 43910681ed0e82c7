package headerfield

import "golang.org/x/net/http/httpguts"

// nameBytes and valueBytes are the bytes of header names and values.
var nameBytes, valueBytes = byteTables()

func byteTables() (names, values [256]bool) {
	for c := range names {
		names[c] = c < 0x80 && httpguts.IsTokenRune(rune(c))
		values[c] = c >= ' ' && c != 0x7f || c == '\t'
	}
	return names, values
}

// IsName reports whether a text can be the name of a header. An empty one cannot.
func IsName[T string | []byte](text T) bool {
	for i := range len(text) {
		if !nameBytes[text[i]] {
			return false
		}
	}
	return len(text) > 0
}

// IsValue reports whether a text can be the value of a header: it has no control character but the tabulator.
func IsValue[T string | []byte](text T) bool {
	for i := range len(text) {
		if !valueBytes[text[i]] {
			return false
		}
	}
	return true
}

// Canonicalize gives a name the case that net/http gives it, such as Content-Type.
func Canonicalize(name []byte) {
	upper := true
	for i, c := range name {
		switch {
		case upper && 'a' <= c && c <= 'z':
			name[i] = c - ('a' - 'A')
		case !upper && 'A' <= c && c <= 'Z':
			name[i] = c + ('a' - 'A')
		}
		upper = c == '-'
	}
}
