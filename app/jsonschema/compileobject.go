package jsonschema

import (
	"fmt"
	"slices"
	"strings"

	"umg/app/jsontree"

	"github.com/go-json-experiment/json/jsontext"
)

// object compiles members, which of them are required, and the conditions between them.
func (c *compiler) object(s *jsontree.Value) (*object, error) {
	o := &object{index: map[string]int{}, folded: map[string]string{}, nameLengthMax: -1}
	if props := s.Get("properties"); props != nil {
		for i, name := range props.Names {
			n, err := c.schema(props.Items[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			o.add(name, n)
		}
	}
	for _, name := range s.GetStrings("required") {
		o.required = append(o.required, o.add(name, &Schema{free: true}))
	}
	if err := c.others(o, s); err != nil {
		return nil, err
	}
	if err := o.addSpellings(s.Get("allOf")); err != nil {
		return nil, err
	}
	choice := s.Get("anyOf")
	if choice != nil && s.Get("properties") != nil {
		condition, err := o.condition(choice.Items)
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

// add returns the index of the member called name. It adds the member when there is none of that name.
func (o *object) add(name string, n *Schema) int {
	if i, ok := o.index[name]; ok {
		return i
	}
	i := len(o.members)
	o.members = append(o.members, member{name: name, schema: n})
	o.index[name] = i
	o.folded[strings.ToLower(name)] = name
	return i
}

// addSpellings compiles an allOf beside properties. Each of its items names two spellings of one member: with not, a body has at
// most one of them; with anyOf, at least one.
func (o *object) addSpellings(all *jsontree.Value) error {
	if all == nil {
		return nil
	}
	for _, s := range all.Items {
		names := s.Get("not").GetStrings("required")
		isRequired := s.Get("anyOf") != nil
		if isRequired {
			for _, alternative := range s.Get("anyOf").Items {
				names = append(names, alternative.GetStrings("required")...)
			}
		}
		if len(s.Names) != 1 || len(names) != 2 {
			return fmt.Errorf("an item of allOf names two spellings of one member, found %s", s.AppendTo(nil))
		}
		first, second := o.add(names[0], &Schema{free: true}), o.add(names[1], &Schema{free: true})
		o.spellings = append(o.spellings, spellingPair{first: first, second: second, required: isRequired})
	}
	return nil
}

// others compiles the rules for members that properties does not name. Such members are always allowed.
func (c *compiler) others(o *object, s *jsontree.Value) (err error) {
	if more := s.Get("additionalProperties"); more != nil {
		if more.Kind == jsontext.KindFalse {
			return fmt.Errorf("additionalProperties is false, but unknown members always pass")
		}
		if o.others, err = c.schema(more); err != nil {
			return err
		}
	}
	names := s.Get("propertyNames")
	if names == nil {
		return nil
	}
	if len(o.members) > 0 || len(names.Names) != 1 || names.Names[0] != "maxLength" {
		return fmt.Errorf("propertyNames knows maxLength only, and only where no member has a name")
	}
	r := typeRule{}
	err = setLengths(&r, names, "minLength", "maxLength")
	o.nameLengthMax = r.lengthMax
	return err
}

// condition compiles the alternatives of an anyOf beside properties. Each lists members that must be present, and the types of
// members that are present.
func (o *object) condition(alternatives []*jsontree.Value) (condition, error) {
	var all condition
	for _, s := range alternatives {
		var a alternative
		for i, keyword := range s.Names {
			switch keyword {
			case "required":
				for _, name := range s.GetStrings("required") {
					a.required = append(a.required, o.add(name, &Schema{free: true}))
				}
			case "properties":
				props := s.Items[i]
				for j, name := range props.Names {
					states, err := statesOf(props.Items[j])
					if err != nil {
						return nil, fmt.Errorf("%s: %w", name, err)
					}
					a.types = append(a.types, memberStates{member: o.add(name, &Schema{free: true}), states: states})
				}
			default:
				return nil, fmt.Errorf("an alternative beside properties may have required and properties, not %q", keyword)
			}
		}
		all = append(all, a)
	}
	return all, nil
}

// statesOf reads {"type": …}, {"type": …, "minItems": 1} and {"const": true|false}.
func statesOf(s *jsontree.Value) (string, error) {
	for _, keyword := range s.Names {
		if !slices.Contains([]string{"type", "minItems", "const"}, keyword) {
			return "", fmt.Errorf("keyword %q is not one a condition knows", keyword)
		}
	}
	if v := s.Get("const"); v != nil {
		if v.Kind != jsontext.KindTrue && v.Kind != jsontext.KindFalse {
			return "", fmt.Errorf("a condition compares with true and false only")
		}
		return string(rune(v.Kind)), nil
	}
	types, err := typesOf(s)
	if err != nil {
		return "", err
	}
	var states strings.Builder
	for sh, of := range [typeCount]string{
		typeNull: "n", typeBool: "tf", typeNumber: "0", typeString: `"`, typeArray: "[", typeObject: "{",
	} {
		if types[sh].integer {
			return "", fmt.Errorf("a condition does not tell integers from numbers")
		}
		if types[sh].allowed {
			states.WriteString(of)
		}
	}
	if types[typeArray].allowed && s.Get("minItems") == nil {
		states.WriteByte(stateEmptyArray)
	} else if m := s.Get("minItems"); m != nil && m.Text != "1" {
		return "", fmt.Errorf("a condition knows minItems 1 only")
	}
	return states.String(), nil
}
