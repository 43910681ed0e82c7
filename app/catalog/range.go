package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"gopkg.in/yaml.v3"
)

// Range narrows what a parameter may be for one model. It can only narrow: a contract never promises more than its
// style knows.
type Range struct {
	Min      Number   `yaml:"min,omitempty" json:"min,omitempty"`
	Max      Number   `yaml:"max,omitempty" json:"max,omitempty"`
	Values   []string `yaml:"values,omitempty,flow" json:"values,omitempty"`
	MaxItems Number   `yaml:"max_items,omitempty" json:"max_items,omitempty"`
	Default  Number   `yaml:"default,omitempty" json:"default,omitempty"`
}

// Number is a JSON number kept as it was written, so that no bound passes through a float.
type Number string

// UnmarshalYAML takes the scalar as it stands in the file.
func (n *Number) UnmarshalYAML(v *yaml.Node) error {
	t, err := parseTree([]byte(v.Value))
	if err != nil || t.kind != jsontext.KindNumber {
		return fmt.Errorf("line %d: %q is not a number", v.Line, v.Value)
	}
	if _, ok := parseDecimal([]byte(t.text)); !ok {
		return fmt.Errorf("line %d: %q is outside the range of numbers", v.Line, v.Value)
	}
	*n = Number(t.text)
	return nil
}

// MarshalYAML prints the number plainly.
func (n Number) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: string(n)}, nil
}

// IsZero leaves an absent number out of the file.
func (n Number) IsZero() bool { return n == "" }

func numberOf(literal string) decimal {
	d, _ := parseDecimal([]byte(literal))
	return d
}

// bounds are the keywords a range can narrow, each with its value as written.
func (r Range) bounds() map[string]string {
	all := map[string]string{"minimum": string(r.Min), "maximum": string(r.Max), "maxItems": string(r.MaxItems), "default": string(r.Default)}
	if len(r.Values) > 0 {
		all["enum"] = fmt.Sprintf("%q", r.Values)
	}
	maps.DeleteFunc(all, func(_, v string) bool { return v == "" })
	return all
}

// narrow writes the range of a parameter into one of the properties that belong to it. Styles differ in what they
// know: where a style's own range is narrower, it stays.
func (t contractParams) narrow(parameter string, s *tree) error {
	r := t.ranges[parameter]
	bounds := r.bounds()
	for _, keyword := range slices.Sorted(maps.Keys(bounds)) {
		if keyword == "enum" {
			t.narrowValues(parameter, s)
			continue
		}
		if target := withKeyword(s, keyword); target != nil && target.get(keyword).kind == jsontext.KindNumber {
			t.note(parameter+" "+keyword, narrowBound(target, keyword, bounds[keyword]))
		}
	}
	low, high, usual := s.get("minimum"), s.get("maximum"), s.get("default")
	if low != nil && high != nil && numberOf(low.text).compare(numberOf(high.text)) > 0 {
		return fmt.Errorf("minimum %s is above maximum %s", low.text, high.text)
	}
	if usual != nil && usual.kind == jsontext.KindNumber && (low != nil && numberOf(usual.text).compare(numberOf(low.text)) < 0 ||
		high != nil && numberOf(usual.text).compare(numberOf(high.text)) > 0) {
		s.drop("default")
	}
	return nil
}

// note remembers whether a part of a range narrows anything in any style.
func (t contractParams) note(part string, narrows bool) {
	if t.applied != nil {
		t.applied[part] = t.applied[part] || narrows
	}
}

// narrowBound reports whether the bound is one that the style leaves open.
func narrowBound(s *tree, keyword, value string) bool {
	order := numberOf(value).compare(numberOf(s.get(keyword).text))
	if (keyword == "minimum" && order < 0) || ((keyword == "maximum" || keyword == "maxItems") && order > 0) {
		return false
	}
	s.set(keyword, numberTree(value))
	return true
}

// unspecified ends the words of the native style that say nothing: every model takes them.
const unspecified = "_UNSPECIFIED"

// narrowValues keeps of a style's words those that the range has; styles write them in different cases.
func (t contractParams) narrowValues(parameter string, s *tree) {
	target := withKeyword(s, "enum")
	if target == nil {
		return
	}
	enum := arrayTree()
	for _, value := range t.ranges[parameter].Values {
		known := slices.IndexFunc(target.words("enum"), func(w string) bool { return strings.EqualFold(w, value) })
		t.note(parameter+" "+value, known >= 0)
		if known >= 0 {
			enum.items = append(enum.items, textTree(target.words("enum")[known]))
		}
	}
	if len(enum.items) == 0 {
		target.set(wordUnsupported, textTree(parameter))
	}
	for _, item := range target.get("enum").items {
		if item.kind != jsontext.KindString || strings.HasSuffix(item.text, unspecified) {
			enum.items = append(enum.items, item)
		}
	}
	target.set("enum", enum)
	if d := target.word("default"); d != "" && !slices.Contains(target.words("enum"), d) {
		target.drop("default")
	}
}

// withKeyword finds the keyword on the property itself or on one of its branches.
func withKeyword(s *tree, keyword string) *tree {
	if s.get(keyword) != nil {
		return s
	}
	for _, branches := range []*tree{s.get("anyOf"), s.get("oneOf")} {
		if branches == nil {
			continue
		}
		for _, branch := range branches.items {
			if branch.get(keyword) != nil {
				return branch
			}
		}
	}
	return nil
}
