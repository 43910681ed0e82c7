package simulator

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// pieceRunesMax bounds one token: the white space before a word belongs to it, and a longer word is cut.
const pieceRunesMax = 12

// firstPiece is the length in bytes of the first token of s, zero for an empty text. A token is a run of white space, which may be empty,
// followed by at most pieceRunesMax runes that are not white space. The tokens of a text put together are the text again.
func firstPiece(s string) int {
	i := skipSpace(s)
	for runes := 0; i < len(s) && runes < pieceRunesMax; runes++ {
		if c := s[i]; c < utf8.RuneSelf {
			if asciiSpace(c) {
				break
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if unicode.IsSpace(r) {
			break
		}
		i += size
	}
	return i
}

// skipSpace is the length in bytes of the white space that s begins with.
func skipSpace(s string) int {
	i := 0
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf {
			if !asciiSpace(c) {
				break
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if !unicode.IsSpace(r) {
			break
		}
		i += size
	}
	return i
}

func asciiSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// pieces are the tokens of s in order, none for an empty text.
func pieces(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for s != "" {
			n := firstPiece(s)
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
	}
}

// countTokens is the number of tokens of s.
func countTokens(s string) int64 {
	var n int64
	for s != "" {
		s = s[firstPiece(s):]
		n++
	}
	return n
}

// firstTokens is the longest beginning of s of at most limit tokens, and how many it has.
func firstTokens(s string, limit int64) (string, int64) {
	var n int64
	end := 0
	for end < len(s) && n < limit {
		end += firstPiece(s[end:])
		n++
	}
	return s[:end], n
}
