package llm

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Lenient are the options for reading what an upstream sends. Duplicate names and text that is not UTF-8 must not lose the answer.
var Lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Quote appends s as a JSON string. Bytes that are not UTF-8 are replaced.
func Quote(dst []byte, s string) []byte {
	// The only error says that bytes which are not UTF-8 were replaced.
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// IsNull reports whether a value is null or absent.
func IsNull(v jsontext.Value) bool { return len(v) == 0 || v[0] == 'n' }

// ValueOrNil returns a value, or nil for null.
func ValueOrNil(v jsontext.Value) []byte {
	if IsNull(v) {
		return nil
	}
	return v
}

// ElementPath returns the path of an element of a list, such as messages[2].
func ElementPath(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// PointerPath appends a JSON pointer to a path, such as messages[2].role. It is empty for the document itself.
func PointerPath(path string, p jsontext.Pointer) string {
	for token := range p.Tokens() {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			path += "[" + token + "]"
		case path != "":
			path += "." + token
		default:
			path = token
		}
	}
	return path
}
