package catalog

import (
	"fmt"
	"maps"
	"slices"

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

// narrow writes the range of a parameter into one of the properties that belong to it.
func (t terms) narrow(parameter string, s *tree) error {
	r := t.ranges[parameter]
	bounds := r.bounds()
	for _, keyword := range slices.Sorted(maps.Keys(bounds)) {
		value := bounds[keyword]
		target := withKeyword(s, keyword)
		if target == nil {
			continue
		}
		if t.applied != nil {
			t.applied[parameter+" "+keyword] = true
		}
		if keyword == "enum" {
			if err := r.narrowValues(target); err != nil {
				return err
			}
			continue
		}
		if err := narrowBound(target, keyword, value); err != nil {
			return err
		}
	}
	if low, high := s.get("minimum"), s.get("maximum"); low != nil && high != nil && numberOf(low.text).compare(numberOf(high.text)) > 0 {
		return fmt.Errorf("minimum %s is above maximum %s", low.text, high.text)
	}
	return nil
}

func narrowBound(s *tree, keyword, value string) error {
	old := s.get(keyword).text
	order := numberOf(value).compare(numberOf(old))
	if (keyword == "minimum" && order < 0) || ((keyword == "maximum" || keyword == "maxItems") && order > 0) {
		return fmt.Errorf("%s %s is wider than the style's own %s", keyword, value, old)
	}
	s.set(keyword, numberTree(value))
	return nil
}

func (r Range) narrowValues(s *tree) error {
	known := s.words("enum")
	for _, v := range r.Values {
		if !slices.Contains(known, v) {
			return fmt.Errorf("%q is not one of the style's own values %q", v, known)
		}
	}
	rest := slices.DeleteFunc(slices.Clone(s.get("enum").items), func(v *tree) bool { return v.kind == jsontext.KindString })
	enum := textsTree(r.Values)
	enum.items = append(enum.items, rest...)
	s.set("enum", enum)
	if d := s.word("default"); d != "" && !slices.Contains(r.Values, d) {
		s.drop("default")
	}
	return nil
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
