package jsonschema

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// findMember finds the value of the member called key in the object whose first member starts at b. It does not check the JSON: in
// broken JSON it may find anything or nothing, and the decoder, which reads the same bytes later, reports the fault.
func findMember(b []byte, key string) (value []byte, found bool) {
	for i := 0; i < len(b); {
		switch b[i] {
		case ' ', '\t', '\n', '\r', ',':
			i++
			continue
		case '"':
		default:
			return nil, false
		}
		name := b[i : i+stringEnd(b[i:])]
		i += len(name)
		for i < len(b) && strings.IndexByte(": \t\n\r", b[i]) >= 0 {
			i++
		}
		if i >= len(b) {
			return nil, false
		}
		end := i + valueEnd(b[i:])
		if isKey(name, key) {
			return b[i:end], end > i
		}
		i = end
	}
	return nil, false
}

func isKey(quoted []byte, key string) bool {
	if len(quoted) < 2 {
		return false
	}
	// A name with escapes is longer than its text.
	if text := quoted[1 : len(quoted)-1]; len(text) <= len(key) || bytes.IndexByte(text, '\\') < 0 {
		return string(text) == key
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	return err == nil && string(text) == key
}

// stringEnd returns the length of the string that starts at b, with its quotes.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); {
		quote := bytes.IndexByte(b[i:], '"')
		if quote < 0 {
			break
		}
		i += quote
		backslashes := 0
		for b[i-1-backslashes] == '\\' {
			backslashes++
		}
		i++
		if backslashes%2 == 0 {
			return i
		}
	}
	return len(b)
}

// valueEnd returns the length of the value that starts at b.
func valueEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); {
		switch b[i] {
		case '"':
			i += stringEnd(b[i:])
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
			if depth < 0 {
				return i
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(b)
}
