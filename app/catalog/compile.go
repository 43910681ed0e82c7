package catalog

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
	// membersMax bounds the named members of one object in a contract: the check keeps a byte for each.
	membersMax = 64

	refPrefix = "#/$defs/"
)

// keywords lists what a fragment may use. Any other keyword stops the compilation: the published contract would promise
// a rule that the gateway does not check.
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

// compiler turns one assembled document into nodes. Definitions are compiled once and may refer to themselves.
type compiler struct {
	defs     *jsontree.Value
	nodes    map[string]*node
	patterns *sync.Map // *regexp.Regexp by text, shared with other documents
}

// compile makes the check of a document. Patterns it needs are taken from the map, or added to it.
func compile(doc *jsontree.Value, patterns *sync.Map) (*node, error) {
	c := &compiler{defs: doc.Get("$defs"), nodes: map[string]*node{}, patterns: patterns}
	return c.node(doc)
}

func (c *compiler) pattern(p string) (*regexp.Regexp, error) {
	if known, ok := c.patterns.Load(p); ok {
		shared, _ := known.(*regexp.Regexp)
		return shared, nil
	}
	made, err := regexp.Compile(p)
	if err == nil {
		c.patterns.Store(p, made)
	}
	return made, err
}

func (c *compiler) node(s *jsontree.Value) (*node, error) {
	if s.Kind == jsontext.KindTrue {
		return &node{free: true}, nil
	}
	if base := s.Get(wordStyle); base != nil {
		return c.hintNode(s, base)
	}
	if s.Get("$ref") != nil {
		return c.refer(s)
	}
	n := &node{}
	return n, c.fill(n, s)
}

func (c *compiler) fill(n *node, s *jsontree.Value) error {
	if s.Kind != jsontext.KindBeginObject {
		return fmt.Errorf("a schema is an object, found %s", s.AppendTo(nil))
	}
	for _, name := range s.Names {
		if !keywords[name] && !annotations[name] && !strings.HasPrefix(name, "x-") {
			return fmt.Errorf("keyword %q is not one the check knows", name)
		}
	}
	asks := len(asked(s))
	n.unsupported, n.notOffered, n.advice = s.GetString(wordUnsupported), s.GetString(wordNotOffered), s.GetString(wordAdvice)
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
		return c.choose(n, choice.Items)
	default:
		return c.rules(n, s)
	}
}

// refer gives every reference to a definition the same node, which may still be in the making.
func (c *compiler) refer(s *jsontree.Value) (*node, error) {
	name, ok := strings.CutPrefix(s.GetString("$ref"), refPrefix)
	target := c.defs.Get(name)
	if !ok || target == nil || len(asked(s)) != 1 {
		return nil, fmt.Errorf("$ref %q must name a definition and stand alone", s.GetString("$ref"))
	}
	if def := c.nodes[name]; def != nil {
		return def, nil
	}
	def := &node{}
	c.nodes[name] = def
	if err := c.fill(def, target); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return def, nil
}

func asked(s *jsontree.Value) []string {
	return slices.DeleteFunc(slices.Clone(s.Names), func(name string) bool { return !keywords[name] })
}

// choose merges branches by shape. Several objects must differ in the text of one member they all require.
func (c *compiler) choose(n *node, branches []*jsontree.Value) error {
	var objects []objectBranch
	for _, branch := range branches {
		b, err := c.node(branch)
		if err != nil {
			return err
		}
		if b.free || !b.shaped {
			return fmt.Errorf("a branch of a choice asks for nothing, or for the choice itself")
		}
		for s, r := range b.on {
			switch {
			case r == nil:
			case jsonType(s) == shapeObject:
				objects = append(objects, objectBranch{c.resolve(branch), r})
				n.on[s] = r
			case n.on[s] != nil:
				return fmt.Errorf("two branches of a choice take the same shape")
			default:
				n.on[s] = r
			}
		}
	}
	n.shaped = true
	if len(objects) < 2 {
		return nil
	}
	v, err := c.variants(objects)
	n.on[shapeObject] = &rule{variants: v, lengthMin: -1, lengthMax: -1}
	return err
}

// objectBranch is an object that a choice allows, compiled.
type objectBranch struct {
	schema *jsontree.Value
	rule   *rule
}

// variants finds the member that tells the branches apart. One branch may do without it.
func (c *compiler) variants(branches []objectBranch) (*variants, error) {
	var keys []string
	for _, branch := range branches {
		keys = append(keys, branch.schema.GetStrings("required")...)
	}
	for _, key := range keys {
		v := &variants{key: key, by: map[string]*rule{}}
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
		if v.by[value] != nil {
			return false
		}
		v.by[value] = branch.rule
		v.values = append(v.values, value)
	}
	return len(values) > 0
}

func (c *compiler) resolve(s *jsontree.Value) *jsontree.Value {
	for range membersMax {
		name, ok := strings.CutPrefix(s.GetString("$ref"), refPrefix)
		if !ok {
			return s
		}
		s = c.defs.Get(name)
	}
	return s
}

// rules compiles a schema without choices: one rule for each shape its type and enum allow.
func (c *compiler) rules(n *node, s *jsontree.Value) error {
	types, err := typesOf(s)
	if err != nil {
		return err
	}
	literals, listed, err := literalsOf(s)
	if err != nil {
		return err
	}
	for sh := range shapeCount {
		of := slices.DeleteFunc(slices.Clone(literals), func(l literal) bool { return shapeOf(l.kind) != sh })
		if types[sh].allowed && (!listed || len(of) > 0) {
			n.on[sh] = &rule{literals: of, lengthMin: -1, lengthMax: -1, integer: types[sh].integer}
		}
	}
	n.shaped = true
	for sh, r := range n.on {
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

func typesOf(s *jsontree.Value) ([shapeCount]allowedType, error) {
	var types [shapeCount]allowedType
	names := s.GetStrings("type")
	if w := s.GetString("type"); w != "" {
		names = []string{w}
	}
	if s.Get("type") == nil {
		names = []string{"null", "boolean", "number", "string", "array", "object"}
	}
	for _, name := range names {
		sh, ok := map[string]jsonType{"null": shapeNull, "boolean": shapeBool, "number": shapeNumber, "integer": shapeNumber,
			"string": shapeText, "array": shapeArray, "object": shapeObject}[name]
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

// limits compiles the keywords that belong to one shape.
func (c *compiler) limits(r *rule, sh jsonType, s *jsontree.Value) (err error) {
	switch sh {
	case shapeNumber:
		for keyword, end := range map[string]**bound{
			"minimum": &r.least, "maximum": &r.most, "exclusiveMinimum": &r.above, "exclusiveMaximum": &r.below,
		} {
			if v := s.Get(keyword); v != nil {
				*end = newBound(v.Text)
			}
		}
	case shapeText:
		r.except = s.Get("not").GetStrings("enum")
		if p := s.GetString("pattern"); p != "" {
			if r.pattern, err = c.pattern(p); err != nil {
				return err
			}
		}
		return setLengths(r, s, "minLength", "maxLength")
	case shapeArray:
		if items := s.Get("items"); items != nil {
			if r.items, err = c.node(items); err != nil {
				return err
			}
		}
		return setLengths(r, s, "minItems", "maxItems")
	case shapeObject:
		if r.object, err = c.object(s); err != nil {
			return err
		}
		return setLengths(r, s, "minProperties", "maxProperties")
	}
	return nil
}

func setLengths(r *rule, s *jsontree.Value, least, most string) error {
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
