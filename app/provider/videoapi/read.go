package videoapi

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	idBytesMax   = 512
	textBytesMax = 512 << 10
	numberMax    = 1e15
	millisMin    = 1e11 // Larger times are in milliseconds.
)

// members are the members of a JSON object. Upstreams write the same value in several forms. A value in an unknown form counts as missing.
type members map[string]jsontext.Value

func lenient() json.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// parse reads an object.
func parse(raw []byte) (members, error) {
	var m members
	if err := json.Unmarshal(raw, &m, lenient()); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, errShape
	}
	return m, nil
}

// text returns a string, or a number as it is written.
func (m members) text(name string) string {
	raw := m[name]
	switch raw.Kind() {
	case '"':
		var s string
		if json.Unmarshal(raw, &s, lenient()) != nil || len(s) > textBytesMax {
			return ""
		}
		return s
	case '0':
		return string(raw)
	}
	return ""
}

// number returns a number, or the number at the beginning of a string such as "45%" and "8s".
func (m members) number(name string) (float64, bool) {
	text := strings.TrimRight(strings.TrimSpace(m.text(name)), "%s ")
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.Abs(n) > numberMax {
		return 0, false
	}
	return n, true
}

// whole returns the nearest integer, or none when there is no number.
func (m members) whole(name string, none int) int {
	n, ok := m.number(name)
	if !ok || math.Abs(n) > math.MaxInt32 {
		return none
	}
	return int(math.Round(n))
}

// percent returns the progress of a task, or -1.
func (m members) percent(names ...string) int {
	for _, name := range names {
		if n, ok := m.number(name); ok && math.Abs(n) <= math.MaxInt32 {
			return int(math.Floor(n))
		}
	}
	return -1
}

// boolean returns a boolean, which may also be written as a string.
func (m members) boolean(name string) bool {
	return m[name].Kind() == 't' || m.text(name) == "true"
}

// timestamp returns a time in seconds, in milliseconds or as text.
func (m members) timestamp(names ...string) time.Time {
	for _, name := range names {
		if n, ok := m.number(name); ok && n > 0 {
			if n < millisMin {
				n *= 1000
			}
			return time.UnixMilli(int64(n)).UTC()
		}
		if at, err := time.Parse(time.RFC3339, m.text(name)); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}

// object returns a member that is an object, and nil for any other value.
func (m members) object(name string) members {
	if m[name].Kind() != '{' {
		return nil
	}
	inner, err := parse(m[name])
	if err != nil {
		return nil
	}
	return inner
}

// list returns the objects of a member that is an array.
func (m members) list(name string) []members {
	var raws []jsontext.Value
	if m[name].Kind() != '[' || json.Unmarshal(m[name], &raws, lenient()) != nil {
		return nil
	}
	var out []members
	for _, raw := range raws {
		if raw.Kind() != '{' {
			continue
		}
		if inner, err := parse(raw); err == nil {
			out = append(out, inner)
		}
	}
	return out
}

// texts returns the strings of a member that is an array.
func (m members) texts(name string) []string {
	var raws []jsontext.Value
	if m[name].Kind() != '[' || json.Unmarshal(m[name], &raws, lenient()) != nil {
		return nil
	}
	var out []string
	for _, raw := range raws {
		if s := (members{"": raw}).text(""); s != "" {
			out = append(out, s)
		}
	}
	return out
}
