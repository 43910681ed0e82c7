package responses

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

// escape appends s as it stands inside a JSON string.
func escape(dst []byte, s string) []byte {
	from := len(dst)
	dst = llm.Quote(dst, s)
	copy(dst[from:], dst[from+1:len(dst)-1])
	return dst[:len(dst)-2]
}

// raw appends a JSON value on one line, or the fallback when the value is not JSON.
func raw(dst, value []byte, fallback string) []byte {
	from := len(dst)
	dst, err := jsontext.AppendFormat(dst, value, jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return append(dst[:from], fallback...)
	}
	return dst
}

// next appends a comma unless the array or object is empty.
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

func textMember(dst []byte, name, value string) []byte { return llm.Quote(key(dst, name), value) }

// textOrNull appends a member, which is null when the value is empty.
func textOrNull(dst []byte, name, value string) []byte {
	if value == "" {
		return append(key(dst, name), "null"...)
	}
	return textMember(dst, name, value)
}

// optional appends a member unless the value is empty.
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

// isNumber reports whether n is a JSON number.
func isNumber(n llm.Number) bool {
	return n != "" && (n[0] == '-' || n[0] >= '0' && n[0] <= '9') && jsontext.Value(n).IsValid()
}
