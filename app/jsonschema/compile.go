package jsonschema

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"umg/app/jsontree"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// membersMax bounds the named members of one object, because the check keeps a byte for each on the stack.
	membersMax = 64

	// RefPrefix starts every $ref. A schema may refer to its own definitions only.
	RefPrefix = "#/$defs/"
)

// keywords are the keywords that the check knows. Any other keyword is an error of Compile, because the published schema would
// promise a rule that the gateway does not check.
var keywords = map[string]bool{
	"type": true, "enum": true, "const": true, "required": true, "properties": true, "additionalProperties": true,
	"propertyNames": true, "items": true, "minItems": true, "maxItems": true, "minLength": true, "maxLength": true,
	"minProperties": true, "maxProperties": true, "minimum": true, "maximum": true, "exclusiveMinimum": true,
	"exclusiveMaximum": true, "pattern": true, "anyOf": true, "oneOf": true, "allOf": true, "not": true, "$ref": true,
}

var annotations = map[string]bool{
	"$schema": true, "$id": true, "$defs": true, "title": true, "description": true, "default": true, "examples": true,
	"deprecated": true,
}

// Patterns holds compiled regular expressions by their text, so that documents share them. The zero value is empty and ready.
type Patterns struct{ byText sync.Map }

func (p *Patterns) compile(text string) (*regexp.Regexp, error) {
	if known, ok := p.byText.Load(text); ok {
		shared, _ := known.(*regexp.Regexp)
		return shared, nil
	}
	compiled, err := regexp.Compile(text)
	if err == nil {
		p.byText.Store(text, compiled)
	}
	return compiled, err
}

// compiler compiles one document. Every definition is compiled once and may refer to itself.
type compiler struct {
	definitions *jsontree.Value
	compiled    map[string]*Schema
	patterns    *Patterns
}

// Compile compiles a JSON Schema 2020-12 document. It returns an error when the document uses a keyword, or a combination of
// keywords, that the check does not support.
func Compile(doc *jsontree.Value, patterns *Patterns) (*Schema, error) {
	c := &compiler{definitions: doc.Get("$defs"), compiled: map[string]*Schema{}, patterns: patterns}
	return c.schema(doc)
}

func (c *compiler) schema(s *jsontree.Value) (*Schema, error) {
	if s.Kind == jsontext.KindTrue {
		return &Schema{free: true}, nil
	}
	if base := s.Get(KeywordStyle); base != nil {
		return c.hintSchema(s, base)
	}
	if s.Get("$ref") != nil {
		return c.reference(s)
	}
	n := &Schema{}
	return n, c.fill(n, s)
}

func (c *compiler) fill(n *Schema, s *jsontree.Value) error {
	if s.Kind != jsontext.KindBeginObject {
		return fmt.Errorf("a schema is an object, found %s", s.AppendTo(nil))
	}
	for _, name := range s.Names {
		if !keywords[name] && !annotations[name] && !strings.HasPrefix(name, "x-") {
			return fmt.Errorf("keyword %q is not one the check knows", name)
		}
	}
	asks := len(keywordsOf(s))
	n.unsupported, n.notOffered, n.instead = s.GetString(KeywordUnsupported), s.GetString(KeywordNotOffered), s.GetString(KeywordInstead)
	choice := s.Get("anyOf")
	if choice == nil {
		choice = s.Get("oneOf")
	}
	switch {
	case asks == 0:
		n.free = true
		return nil
	case choice != nil && s.Get("properties") == nil:
		if asks != 1 {
			return fmt.Errorf("a choice stands beside other keywords: %q", s.Names)
		}
		return c.mergeBranches(n, choice.Items)
	default:
		return c.rules(n, s)
	}
}

// reference returns the schema of a definition. All references share it, and it may still be under construction.
func (c *compiler) reference(s *jsontree.Value) (*Schema, error) {
	name, ok := strings.CutPrefix(s.GetString("$ref"), RefPrefix)
	target := c.definitions.Get(name)
	if !ok || target == nil || len(keywordsOf(s)) != 1 {
		return nil, fmt.Errorf("$ref %q must name a definition and stand alone", s.GetString("$ref"))
	}
	if def := c.compiled[name]; def != nil {
		return def, nil
	}
	def := &Schema{}
	c.compiled[name] = def
	if err := c.fill(def, target); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return def, nil
}

func keywordsOf(s *jsontree.Value) []string {
	return slices.DeleteFunc(slices.Clone(s.Names), func(name string) bool { return !keywords[name] })
}

// mergeBranches merges the branches of a choice by their types. Several objects must differ in the string value of one member.
func (c *compiler) mergeBranches(n *Schema, branches []*jsontree.Value) error {
	var objects []objectBranch
	for _, branch := range branches {
		b, err := c.schema(branch)
		if err != nil {
			return err
		}
		if b.free || !b.compiled {
			return fmt.Errorf("a branch of a choice asks for nothing, or for the choice itself")
		}
		for s, r := range b.rules {
			switch {
			case r == nil:
			case jsonType(s) == typeObject:
				objects = append(objects, objectBranch{c.resolve(branch), r})
				n.rules[s] = r
			case n.rules[s] != nil:
				return fmt.Errorf("two branches of a choice take the same type")
			default:
				n.rules[s] = r
			}
		}
	}
	n.compiled = true
	if len(objects) < 2 {
		return nil
	}
	v, err := c.variants(objects)
	n.rules[typeObject] = &typeRule{variants: v, lengthMin: -1, lengthMax: -1}
	return err
}

// objectBranch is one of the objects that a choice allows.
type objectBranch struct {
	schema *jsontree.Value
	rule   *typeRule
}

// variants finds the member in whose value the branches differ. One branch need not have it.
func (c *compiler) variants(branches []objectBranch) (*variants, error) {
	var keys []string
	for _, branch := range branches {
		keys = append(keys, branch.schema.GetStrings("required")...)
	}
	for _, key := range keys {
		v := &variants{key: key, byValue: map[string]*typeRule{}}
		ok := true
		for _, branch := range branches {
			ok = ok && c.addVariant(v, branch)
		}
		if ok {
			return v, nil
		}
	}
	return nil, fmt.Errorf("no required member tells the objects of a choice apart")
}

func (c *compiler) addVariant(v *variants, branch objectBranch) bool {
	p := c.resolve(branch.schema.Get("properties").Get(v.key))
	if p == nil {
		return false
	}
	if !slices.Contains(branch.schema.GetStrings("required"), v.key) {
		if v.absent != nil {
			return false
		}
		v.absent = branch.rule
	}
	values := p.GetStrings("enum")
	if w := p.GetString("const"); w != "" {
		values = append(values, w)
	}
	if not := p.Get("not"); not != nil && len(values) == 0 && v.other == nil {
		v.other = branch.rule
		return true
	}
	for _, value := range values {
		if v.byValue[value] != nil {
			return false
		}
		v.byValue[value] = branch.rule
		v.values = append(v.values, value)
	}
	return len(values) > 0
}

func (c *compiler) resolve(s *jsontree.Value) *jsontree.Value {
	for range membersMax {
		name, ok := strings.CutPrefix(s.GetString("$ref"), RefPrefix)
		if !ok {
			return s
		}
		s = c.definitions.Get(name)
	}
	return s
}

// rules compiles a schema without choices into one rule for each type that its type and enum allow.
func (c *compiler) rules(n *Schema, s *jsontree.Value) error {
	types, err := typesOf(s)
	if err != nil {
		return err
	}
	literals, listed, err := literalsOf(s)
	if err != nil {
		return err
	}
	for sh := range typeCount {
		of := slices.DeleteFunc(slices.Clone(literals), func(l literal) bool { return typeOf(l.kind) != sh })
		if types[sh].allowed && (!listed || len(of) > 0) {
			n.rules[sh] = &typeRule{literals: of, lengthMin: -1, lengthMax: -1, integer: types[sh].integer}
		}
	}
	n.compiled = true
	for sh, r := range n.rules {
		if r == nil {
			continue
		}
		if err := c.limits(r, jsonType(sh), s); err != nil {
			return err
		}
	}
	return nil
}

type allowedType struct{ allowed, integer bool }

func typesOf(s *jsontree.Value) ([typeCount]allowedType, error) {
	var types [typeCount]allowedType
	names := s.GetStrings("type")
	if w := s.GetString("type"); w != "" {
		names = []string{w}
	}
	if s.Get("type") == nil {
		names = []string{"null", "boolean", "number", "string", "array", "object"}
	}
	for _, name := range names {
		sh, ok := map[string]jsonType{"null": typeNull, "boolean": typeBool, "number": typeNumber, "integer": typeNumber,
			"string": typeString, "array": typeArray, "object": typeObject}[name]
		if !ok {
			return types, fmt.Errorf("type %q does not exist", name)
		}
		types[sh] = allowedType{allowed: true, integer: name == "integer"}
	}
	return types, nil
}

func literalsOf(s *jsontree.Value) (literals []literal, listed bool, err error) {
	items := []*jsontree.Value{}
	if e := s.Get("enum"); e != nil {
		items, listed = e.Items, true
	}
	if v := s.Get("const"); v != nil {
		items, listed = []*jsontree.Value{v}, true
	}
	for _, v := range items {
		l := literal{kind: v.Kind, text: v.Text}
		switch v.Kind {
		case jsontext.KindNumber:
			l.number = numberOf(v.Text)
		case jsontext.KindString:
		case jsontext.KindBeginArray, jsontext.KindBeginObject:
			return nil, false, fmt.Errorf("an enum holds %s, the check compares scalars only", v.AppendTo(nil))
		default:
			l.text = string(v.AppendTo(nil))
		}
		literals = append(literals, l)
	}
	return literals, listed, nil
}

// limits compiles the keywords that belong to one type.
func (c *compiler) limits(r *typeRule, sh jsonType, s *jsontree.Value) (err error) {
	switch sh {
	case typeNumber:
		for keyword, end := range map[string]**bound{
			"minimum": &r.minimum, "maximum": &r.maximum, "exclusiveMinimum": &r.above, "exclusiveMaximum": &r.below,
		} {
			if v := s.Get(keyword); v != nil {
				integer, isPlain := plainInteger([]byte(v.Text))
				*end = &bound{text: v.Text, exact: numberOf(v.Text), integer: integer, isPlain: isPlain}
			}
		}
	case typeString:
		r.except = s.Get("not").GetStrings("enum")
		if p := s.GetString("pattern"); p != "" {
			if r.pattern, err = c.patterns.compile(p); err != nil {
				return err
			}
		}
		return setLengths(r, s, "minLength", "maxLength")
	case typeArray:
		if items := s.Get("items"); items != nil {
			if r.items, err = c.schema(items); err != nil {
				return err
			}
		}
		return setLengths(r, s, "minItems", "maxItems")
	case typeObject:
		if r.object, err = c.object(s); err != nil {
			return err
		}
		return setLengths(r, s, "minProperties", "maxProperties")
	}
	return nil
}

func setLengths(r *typeRule, s *jsontree.Value, least, most string) error {
	for keyword, to := range map[string]*int{least: &r.lengthMin, most: &r.lengthMax} {
		v := s.Get(keyword)
		if v == nil {
			continue
		}
		n, err := strconv.Atoi(v.Text)
		if err != nil {
			return fmt.Errorf("%s: %w", keyword, err)
		}
		*to = n
	}
	return nil
}
