package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// object compiles members, their presence and the conditions between them.
func (c *compiler) object(s *tree) (*object, error) {
	o := &object{index: map[string]int{}, folded: map[string]string{}, nameMax: -1}
	if props := s.get("properties"); props != nil {
		for i, name := range props.names {
			n, err := c.node(props.items[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			o.add(name, n)
		}
	}
	for _, name := range s.words("required") {
		o.required = append(o.required, o.add(name, &node{free: true}))
	}
	if err := c.rest(o, s); err != nil {
		return nil, err
	}
	if err := o.addPairs(s.get("allOf")); err != nil {
		return nil, err
	}
	choice := s.get("anyOf")
	if choice != nil && s.get("properties") != nil {
		condition, err := o.condition(choice.items)
		if err != nil {
			return nil, err
		}
		o.conditions = append(o.conditions, condition)
	}
	if len(o.members) > membersMax {
		return nil, fmt.Errorf("%d members are more than %d", len(o.members), membersMax)
	}
	return o, nil
}

// add returns the index of the member, which it makes when there is none of that name.
func (o *object) add(name string, n *node) int {
	if i, ok := o.index[name]; ok {
		return i
	}
	i := len(o.members)
	o.members = append(o.members, member{name: name, node: n})
	o.index[name] = i
	o.folded[strings.ToLower(name)] = name
	return i
}

// addPairs compiles an allOf beside properties. Each of its items names two spellings of one member: with not, a body
// has one of them at most; with anyOf, one at least.
func (o *object) addPairs(all *tree) error {
	if all == nil {
		return nil
	}
	for _, s := range all.items {
		names := s.get("not").words("required")
		needed := s.get("anyOf") != nil
		if needed {
			for _, way := range s.get("anyOf").items {
				names = append(names, way.words("required")...)
			}
		}
		if len(s.names) != 1 || len(names) != 2 {
			return fmt.Errorf("an item of allOf names two spellings of one member, found %s", s.append(nil))
		}
		first, second := o.add(names[0], &node{free: true}), o.add(names[1], &node{free: true})
		o.pairs = append(o.pairs, pair{first: first, second: second, needed: needed})
	}
	return nil
}

// rest compiles what is asked of members that have no name in the contract. They are never refused as such.
func (c *compiler) rest(o *object, s *tree) (err error) {
	if more := s.get("additionalProperties"); more != nil {
		if more.kind == jsontext.KindFalse {
			return fmt.Errorf("additionalProperties is false, but unknown members always pass")
		}
		if o.rest, err = c.node(more); err != nil {
			return err
		}
	}
	names := s.get("propertyNames")
	if names == nil {
		return nil
	}
	if len(o.members) > 0 || len(names.names) != 1 || names.names[0] != "maxLength" {
		return fmt.Errorf("propertyNames knows maxLength only, and only where no member has a name")
	}
	r := rule{}
	err = setLengths(&r, names, "minLength", "maxLength")
	o.nameMax = r.lengthMax
	return err
}

// condition compiles the alternatives of an anyOf beside properties: each says which members must be there and of
// which shape those are that are.
func (o *object) condition(alternatives []*tree) (condition, error) {
	var all condition
	for _, s := range alternatives {
		var a alternative
		for i, keyword := range s.names {
			switch keyword {
			case "required":
				for _, name := range s.words("required") {
					a.required = append(a.required, o.add(name, &node{free: true}))
				}
			case "properties":
				props := s.items[i]
				for j, name := range props.names {
					states, err := statesOf(props.items[j])
					if err != nil {
						return nil, fmt.Errorf("%s: %w", name, err)
					}
					a.shaped = append(a.shaped, shaped{member: o.add(name, &node{free: true}), states: states})
				}
			default:
				return nil, fmt.Errorf("an alternative beside properties knows required and properties, not %q", keyword)
			}
		}
		all = append(all, a)
	}
	return all, nil
}

// statesOf reads {"type": …}, {"type": …, "minItems": 1} and {"const": true|false}.
func statesOf(s *tree) (string, error) {
	for _, keyword := range s.names {
		if !slices.Contains([]string{"type", "minItems", "const"}, keyword) {
			return "", fmt.Errorf("keyword %q is not one a condition knows", keyword)
		}
	}
	if v := s.get("const"); v != nil {
		if v.kind != jsontext.KindTrue && v.kind != jsontext.KindFalse {
			return "", fmt.Errorf("a condition compares with true and false only")
		}
		return string(rune(v.kind)), nil
	}
	types, err := typesOf(s)
	if err != nil {
		return "", err
	}
	var states strings.Builder
	for sh, of := range [shapeCount]string{
		shapeNull: "n", shapeBool: "tf", shapeNumber: "0", shapeText: `"`, shapeArray: "[", shapeObject: "{",
	} {
		if types[sh].integer {
			return "", fmt.Errorf("a condition does not tell integers from numbers")
		}
		if types[sh].allowed {
			states.WriteString(of)
		}
	}
	if types[shapeArray].allowed && s.get("minItems") == nil {
		states.WriteByte(stateEmptyArray)
	} else if m := s.get("minItems"); m != nil && m.text != "1" {
		return "", fmt.Errorf("a condition knows minItems 1 only")
	}
	return states.String(), nil
}
