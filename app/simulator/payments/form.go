package payments

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	metadataKeysMax   = 50
	metadataKeyMax    = 40  // The unit is characters.
	metadataValueMax  = 500 // The unit is characters.
	formKeysMax       = 500
	listedMax         = 100 // One page of a list has at most this many objects.
	listedStandard    = 10
	expansionDepthMax = 4
)

// form reads parameters. The first thing that is wrong stays; what is read after it does not matter.
type form struct {
	values map[string]string
	failed *failure
}

// indexes finds the places of list members in a key, which tell nothing about the parameter that is meant.
var indexes = regexp.MustCompile(`\[\d*\]`)

// newForm takes the parameters that are accepted, and refuses any other. A parameter is a key such as "a[b][][c]";
// "a[*]" accepts any key below a.
func newForm(given url.Values, accepted []string) *form {
	f := &form{values: map[string]string{}}
	if len(given) > formKeysMax {
		f.fail(invalid("", "", "Too many parameters."))
		return f
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		plain := indexes.ReplaceAllString(name, "[]")
		known := slices.ContainsFunc(accepted, func(a string) bool {
			prefix, found := strings.CutSuffix(a, "[*]")
			return a == plain || found && strings.HasPrefix(plain, prefix+"[")
		})
		if !known {
			f.fail(invalid("parameter_unknown", name, "Received unknown parameter: %s", name))
		}
		for i, value := range given[name] {
			if strings.HasSuffix(name, "[]") {
				f.values[name[:len(name)-1]+strconv.Itoa(i)+"]"] = value
			} else {
				f.values[name] = value
			}
		}
	}
	return f
}

func (f *form) fail(failed *failure) {
	if f.failed == nil {
		f.failed = failed
	}
}

func (f *form) has(name string) bool {
	_, ok := f.values[name]
	return ok
}

func (f *form) text(name string) string { return f.values[name] }

// need is a parameter without which nothing can be done.
func (f *form) need(name string) string {
	value, ok := f.values[name]
	switch {
	case !ok:
		f.fail(invalid("parameter_missing", name, "Missing required param: %s.", name))
	case value == "":
		f.fail(invalid("parameter_invalid_empty", name, "You passed an empty string for '%s'. We assume empty values are an attempt to "+
			"unset a parameter; however '%s' cannot be unset.", name, name))
	}
	return value
}

// number is a whole number; fallback when it is not given.
func (f *form) number(name string, fallback int64) int64 {
	value, ok := f.values[name]
	if !ok {
		return fallback
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		f.fail(invalid("parameter_invalid_integer", name, "Invalid integer: %s", value))
	}
	return n
}

func (f *form) flag(name string) bool {
	value, ok := f.values[name]
	if ok && value != "true" && value != "false" {
		f.fail(invalid("", name, "Invalid boolean: %s", value))
	}
	return value == "true"
}

// oneOf returns a parameter with a fixed set of words. It is empty when the request lacks it.
func (f *form) oneOf(name string, words ...string) string {
	value, ok := f.values[name]
	if ok && !slices.Contains(words, value) {
		f.fail(invalid("", name, "Invalid %s: must be one of %s", name, strings.Join(words, ", ")))
	}
	return value
}

// address is a web address with its scheme.
func (f *form) address(name string) string {
	value, ok := f.values[name]
	if !ok {
		return ""
	}
	u, err := url.Parse(strings.ReplaceAll(value, "{CHECKOUT_SESSION_ID}", "id"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		f.fail(invalid("url_invalid", name, "Not a valid URL"))
	}
	return value
}

// list are the members of a list of words, in order.
func (f *form) list(name string) []string {
	var values []string
	for i := range f.count(name) {
		values = append(values, f.values[name+"["+strconv.Itoa(i)+"]"])
	}
	return values
}

// count is how many members a list has. Members are numbered from zero without a gap.
func (f *form) count(name string) int {
	n := 0
	for has := true; has; n++ {
		prefix := name + "[" + strconv.Itoa(n) + "]"
		has = slices.ContainsFunc(slices.Collect(maps.Keys(f.values)), func(key string) bool { return strings.HasPrefix(key, prefix) })
	}
	return n - 1
}

// metadata are the pairs below a name, laid over those that were there; an empty value takes a pair away.
func (f *form) metadata(name string, before map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, before)
	if f.has(name) && f.text(name) == "" {
		return map[string]string{}
	}
	for full, value := range f.values {
		key, found := strings.CutPrefix(full, name+"[")
		if !found {
			continue
		}
		key = strings.TrimSuffix(key, "]")
		switch {
		case len([]rune(key)) > metadataKeyMax || len([]rune(value)) > metadataValueMax || strings.ContainsAny(key, "[]"):
			f.fail(invalid("", full, "Metadata keys can have up to %d characters, and values up to %d.", metadataKeyMax, metadataValueMax))
		case value == "":
			delete(all, key)
		default:
			all[key] = value
		}
	}
	if len(all) > metadataKeysMax {
		f.fail(invalid("", name, "You can only have up to %d metadata keys.", metadataKeysMax))
	}
	return all
}

// maybe is a pointer that JSON shows as null for an empty word.
func maybe(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func wordOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
