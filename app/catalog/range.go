package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"umg/app/jsonschema"
	"umg/app/jsontree"

	"github.com/go-json-experiment/json/jsontext"
	"gopkg.in/yaml.v3"
)

// Range narrows the values of a parameter for one model. It cannot widen what a style allows.
type Range struct {
	Min      Number   `yaml:"min,omitempty" json:"min,omitempty"`
	Max      Number   `yaml:"max,omitempty" json:"max,omitempty"`
	Values   []string `yaml:"values,omitempty,flow" json:"values,omitempty"`
	MaxItems Number   `yaml:"max_items,omitempty" json:"max_items,omitempty"`
	Default  Number   `yaml:"default,omitempty" json:"default,omitempty"`
}

// Number is a JSON number as it was written, so that a bound is never rounded to a float.
type Number string

// UnmarshalYAML reads the scalar as it is written in the file. It returns an error when the scalar is not a number or no float can hold it.
func (n *Number) UnmarshalYAML(v *yaml.Node) error {
	t, err := jsontree.Parse([]byte(v.Value))
	if err != nil || t.Kind != jsontext.KindNumber {
		return fmt.Errorf("line %d: %q is not a number", v.Line, v.Value)
	}
	if !jsonschema.NumberInRange([]byte(t.Text)) {
		return fmt.Errorf("line %d: %q is outside the range of numbers", v.Line, v.Value)
	}
	*n = Number(t.Text)
	return nil
}

// MarshalYAML prints the number as it was written.
func (n Number) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: string(n)}, nil
}

// IsZero reports whether the number is absent, so that the file leaves it out.
func (n Number) IsZero() bool { return n == "" }

// bounds returns the keywords that the range narrows, each with its value as written.
func (r Range) bounds() map[string]string {
	all := map[string]string{"minimum": string(r.Min), "maximum": string(r.Max), "maxItems": string(r.MaxItems), "default": string(r.Default)}
	if len(r.Values) > 0 {
		all["enum"] = fmt.Sprintf("%q", r.Values)
	}
	maps.DeleteFunc(all, func(_, v string) bool { return v == "" })
	return all
}

// narrow writes the range of a parameter into one of its properties. Where the range of the style is narrower, it stays.
func (t contractParams) narrow(parameter string, s *jsontree.Value) error {
	r := t.ranges[parameter]
	bounds := r.bounds()
	for _, keyword := range slices.Sorted(maps.Keys(bounds)) {
		if keyword == "enum" {
			t.narrowValues(parameter, s)
			continue
		}
		if target := withKeyword(s, keyword); target != nil && target.Get(keyword).Kind == jsontext.KindNumber {
			t.note(parameter+" "+keyword, narrowBound(target, keyword, bounds[keyword]))
		}
	}
	low, high, usual := s.Get("minimum"), s.Get("maximum"), s.Get("default")
	if low != nil && high != nil && jsonschema.CompareNumbers(low.Text, high.Text) > 0 {
		return fmt.Errorf("minimum %s is above maximum %s", low.Text, high.Text)
	}
	if usual != nil && usual.Kind == jsontext.KindNumber && (low != nil && jsonschema.CompareNumbers(usual.Text, low.Text) < 0 ||
		high != nil && jsonschema.CompareNumbers(usual.Text, high.Text) > 0) {
		s.Delete("default")
	}
	return nil
}

// note records whether a part of a range narrows anything in any style.
func (t contractParams) note(part string, narrows bool) {
	if t.applied != nil {
		t.applied[part] = t.applied[part] || narrows
	}
}

// narrowBound sets a bound and reports true, unless the bound of the style is narrower.
func narrowBound(s *jsontree.Value, keyword, value string) bool {
	order := jsonschema.CompareNumbers(value, s.Get(keyword).Text)
	if (keyword == "minimum" && order < 0) || ((keyword == "maximum" || keyword == "maxItems") && order > 0) {
		return false
	}
	s.Set(keyword, jsontree.Number(value))
	return true
}

// narrowValues reduces an enum to the values of the range, compared without case.
func (t contractParams) narrowValues(parameter string, s *jsontree.Value) {
	target := withKeyword(s, "enum")
	if target == nil {
		return
	}
	enum := jsontree.Array()
	for _, value := range t.ranges[parameter].Values {
		known := slices.IndexFunc(target.GetStrings("enum"), func(w string) bool { return strings.EqualFold(w, value) })
		t.note(parameter+" "+value, known >= 0)
		if known >= 0 {
			enum.Items = append(enum.Items, jsontree.Text(target.GetStrings("enum")[known]))
		}
	}
	if len(enum.Items) == 0 {
		target.Set(jsonschema.KeywordUnsupported, jsontree.Text(parameter))
	}
	for _, item := range target.Get("enum").Items {
		if item.Kind != jsontext.KindString || strings.HasSuffix(item.Text, jsonschema.UnspecifiedSuffix) {
			enum.Items = append(enum.Items, item)
		}
	}
	target.Set("enum", enum)
	if d := target.GetString("default"); d != "" && !slices.Contains(target.GetStrings("enum"), d) {
		target.Delete("default")
	}
}

// withKeyword returns the property itself or one of its branches, whichever has the keyword, or nil.
func withKeyword(s *jsontree.Value, keyword string) *jsontree.Value {
	if s.Get(keyword) != nil {
		return s
	}
	for _, branches := range []*jsontree.Value{s.Get("anyOf"), s.Get("oneOf")} {
		if branches == nil {
			continue
		}
		for _, branch := range branches.Items {
			if branch.Get(keyword) != nil {
				return branch
			}
		}
	}
	return nil
}
