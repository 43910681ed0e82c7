package videoapi

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	metadataBytesMax  = 16 << 10
	metadataDepthMax  = 8
	metadataItemsMax  = 256 // This bounds the members of an object or array.
	metadataNameBytes = 128
)

// secretNames are parts of names of members that may have secrets.
var secretNames = []string{"token", "secret", "password", "credential", "authorization", "api_key", "apikey", "signature", "url", "uri"}

// metadataOf returns the unknown members of an answer as an object of at most 16 KiB. It leaves out addresses, because they may have
// keys, members that are named like secrets, and members that do not fit.
func metadataOf(m members, known ...string) []byte {
	out := []byte{'{'}
	for _, name := range sortedNames(m) {
		if slices.Contains(known, name) {
			continue
		}
		value, ok := cleanValue(m[name], 0)
		if !ok || string(value) == "null" || !isSafeName(name) {
			continue
		}
		piece := append(quoted(name), ':')
		piece = append(piece, value...)
		if len(out)+len(piece)+2 > metadataBytesMax {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, piece...)
	}
	if len(out) == 1 {
		return nil
	}
	return append(out, '}')
}

func sortedNames(m members) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func isSafeName(name string) bool {
	lower := strings.ToLower(name)
	return name != "" && len(name) <= metadataNameBytes && cleanText(name) == name &&
		!slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(lower, part) })
}

// cleanValue writes a value again without what may not be kept.
func cleanValue(raw jsontext.Value, depth int) ([]byte, bool) {
	if depth > metadataDepthMax || len(raw) > metadataBytesMax {
		return nil, false
	}
	switch raw.Kind() {
	case '"':
		var s string
		if json.Unmarshal(raw, &s, lenient()) != nil || strings.Contains(s, "://") || strings.HasPrefix(s, "data:") {
			return nil, false
		}
		return quoted(cleanText(s)), true
	case '0':
		return number(raw)
	case '{':
		return tidyObject(raw, depth)
	case '[':
		return tidyArray(raw, depth)
	}
	return slices.Clone(raw), raw.Kind() == 't' || raw.Kind() == 'f' || raw.Kind() == 'n'
}

func tidyObject(raw jsontext.Value, depth int) ([]byte, bool) {
	m, err := parse(raw)
	if err != nil || len(m) > metadataItemsMax {
		return nil, false
	}
	out := []byte{'{'}
	for _, name := range sortedNames(m) {
		value, ok := cleanValue(m[name], depth+1)
		if !ok || !isSafeName(name) {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted(name)...), ':'), value...)
	}
	return append(out, '}'), true
}

func tidyArray(raw jsontext.Value, depth int) ([]byte, bool) {
	var items []jsontext.Value
	if json.Unmarshal(raw, &items, lenient()) != nil || len(items) > metadataItemsMax {
		return nil, false
	}
	out := []byte{'['}
	for _, item := range items {
		value, ok := cleanValue(item, depth+1)
		if !ok {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, value...)
	}
	return append(out, ']'), true
}

// number returns a number in a form that every reader can parse.
func number(raw jsontext.Value) ([]byte, bool) {
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.IsInf(n, 0) {
		return nil, false
	}
	if len(raw) > 24 || strings.ContainsAny(string(raw), "eE") {
		return strconv.AppendFloat(nil, n, 'g', -1, 64), true
	}
	return slices.Clone(raw), true
}

// quoted returns a JSON string of valid text.
func quoted(s string) []byte {
	out, _ := jsontext.AppendQuote(nil, s)
	return out
}

// cleanText removes control characters, which a database or a terminal may not accept.
func cleanText(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}
