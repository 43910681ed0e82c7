package responses

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// quote appends s as a JSON string; what is not UTF-8 in it is replaced.
func quote(dst []byte, s string) []byte {
	// The only error says that bytes which are not UTF-8 were replaced.
	dst, _ = jsontext.AppendQuote(dst, s)
	return dst
}

// escape appends s as it stands inside a JSON string.
func escape(dst []byte, s string) []byte {
	from := len(dst)
	dst = quote(dst, s)
	copy(dst[from:], dst[from+1:len(dst)-1])
	return dst[:len(dst)-2]
}

// raw appends a JSON value on one line, or the fallback when it is none.
func raw(dst, value []byte, fallback string) []byte {
	from := len(dst)
	dst, err := jsontext.AppendFormat(dst, value, jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return append(dst[:from], fallback...)
	}
	return dst
}

// next makes room for the next element or member of what is being written.
func next(dst []byte) []byte {
	if last := dst[len(dst)-1]; last != '[' && last != '{' {
		dst = append(dst, ',')
	}
	return dst
}

// key appends the name of the next member of the object being written.
func key(dst []byte, name string) []byte {
	dst = append(next(dst), '"')
	dst = append(dst, name...)
	return append(dst, `":`...)
}

func textMember(dst []byte, name, value string) []byte { return quote(key(dst, name), value) }

// textOrNull appends a member that is null when there is nothing to say.
func textOrNull(dst []byte, name, value string) []byte {
	if value == "" {
		return append(key(dst, name), "null"...)
	}
	return textMember(dst, name, value)
}

// optional appends a member only when there is something to say.
func optional(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return textMember(dst, name, value)
}

func numberMember(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(key(dst, name), n, 10)
}

func flagMember(dst []byte, name string, b bool) []byte { return strconv.AppendBool(key(dst, name), b) }

// strictMember appends a member of three values.
func strictMember(dst []byte, strict *bool) []byte {
	if strict == nil {
		return append(key(dst, "strict"), "null"...)
	}
	return flagMember(dst, "strict", *strict)
}

// isNumber reports whether n can stand in JSON as it is.
func isNumber(n llm.Number) bool {
	return n != "" && (n[0] == '-' || n[0] >= '0' && n[0] <= '9') && jsontext.Value(n).IsValid()
}

// isNull reports whether a member is absent or null.
func isNull(v jsontext.Value) bool { return len(v) == 0 || v[0] == 'n' }
