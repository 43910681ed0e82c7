package harness

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// DecodeObject reads a JSON object whose numbers stay as they are written.
func DecodeObject(t *testing.T, text string) map[string]any {
	t.Helper()
	var o map[string]any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&o); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return o
}

// IntMember is a member of an object that must be a whole number.
func IntMember(t *testing.T, o map[string]any, name string) int64 {
	t.Helper()
	number, _ := o[name].(json.Number)
	n, err := strconv.ParseInt(number.String(), 10, 64)
	if err != nil {
		t.Errorf("%s is no integer in %v", name, o)
	}
	return n
}

// EncodeJSON is a value as JSON text.
func EncodeJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// SameJSON reports whether two texts are the same JSON but for white space between its tokens: every digit, every
// escape and the order of members count.
func SameJSON(a, b string) bool { return withoutSpace(a) == withoutSpace(b) }

func withoutSpace(text string) string {
	raw, err := json.Marshal(json.RawMessage(text))
	if err != nil {
		return "no JSON: " + text
	}
	return string(raw)
}

// The readers of whole answers. Each answer is held against the published schema of its style first.

// DecodeJSON decodes JSON that must be whole.
func DecodeJSON[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// Member walks into a decoded JSON value: names lead into objects, numbers into lists. What is not there is nil.
func Member(v any, path ...any) any {
	for _, step := range path {
		switch s := step.(type) {
		case string:
			o, _ := v.(map[string]any)
			v = o[s]
		case int:
			list, _ := v.([]any)
			if s >= len(list) {
				return nil
			}
			v = list[s]
		}
	}
	return v
}

// TextMember is Member for a string, and empty for anything else.
func TextMember(v any, path ...any) string {
	s, _ := Member(v, path...).(string)
	return s
}

// TokensMember reads a count, which must be a whole number.
func TokensMember(t *testing.T, v any, path ...any) int64 {
	t.Helper()
	n, err := Number(Member(v, path...)).Int64()
	if err != nil {
		t.Errorf("%v is no count in %v", path, v)
	}
	return n
}

// Number is a decoded value as a number, and empty for anything else.
func Number(v any) json.Number {
	n, _ := v.(json.Number)
	return n
}

// OnlyMembers insists that an object has no other member than these.
func OnlyMembers(t *testing.T, o any, names ...string) {
	t.Helper()
	members, isObject := o.(map[string]any)
	if !isObject {
		t.Fatalf("%v is no object", o)
	}
	for name := range members {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+name+" ") {
			t.Errorf("%s does not belong into %v", name, members)
		}
	}
}

// Quote is a text as a JSON string.
func Quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}
