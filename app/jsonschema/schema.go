package jsonschema

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonType is one of the six types of JSON values.
type jsonType uint8

const (
	typeNull jsonType = iota
	typeBool
	typeNumber
	typeString
	typeArray
	typeObject
	typeCount
)

func typeOf(k jsontext.Kind) jsonType {
	switch k {
	case jsontext.KindNull:
		return typeNull
	case jsontext.KindTrue, jsontext.KindFalse:
		return typeBool
	case jsontext.KindNumber:
		return typeNumber
	case jsontext.KindString:
		return typeString
	case jsontext.KindBeginArray:
		return typeArray
	default:
		return typeObject
	}
}

// Schema is a compiled schema: for each JSON type the rule that a value of this type must keep. A type without a rule is not
// allowed. Because a type leads to one rule, the check reads a body once and never goes back.
type Schema struct {
	// free means that every value is allowed.
	free bool
	// compiled means that rules has an entry for each allowed type, though the rules themselves may still be incomplete.
	compiled bool
	rules    [typeCount]*typeRule
	// unsupported is the value of KeywordUnsupported: the parameter that the model does not support.
	unsupported string
	// notOffered is the value of KeywordNotOffered.
	notOffered string
	// instead is the value of KeywordInstead.
	instead string
	// hint replaces all other fields when it is set.
	hint *hint
}

// typeRule is the rule for values of one JSON type. Limits that are not set are nil or -1.
type typeRule struct {
	// literals are the only values allowed; nil allows all.
	literals []literal
	// except are the strings that are not allowed.
	except []string

	integer          bool
	minimum, maximum *bound
	// above and below are the exclusive minimum and maximum.
	above, below *bound
	// lengthMin and lengthMax count the characters of a string, the items of an array or the members of an object.
	lengthMin, lengthMax int
	pattern              *regexp.Regexp

	items    *Schema
	object   *object
	variants *variants
}

// takesAll reports whether the rule allows every string that is written in so many bytes without its quotes.
func (r *typeRule) takesAll(bytes int) bool {
	return r.literals == nil && r.except == nil && r.pattern == nil &&
		bytes >= bytesPerCharacterMax*r.lengthMin && (r.lengthMax < 0 || bytes <= r.lengthMax)
}

// literal is one value of an enum or a const.
type literal struct {
	kind jsontext.Kind
	// text is a string with its escapes resolved, or any other value as it was written.
	text   string
	number decimal
}

// bound is one end of a range of numbers. integer is its value when isPlain is true.
type bound struct {
	text    string
	exact   decimal
	integer int64
	isPlain bool
}

// number is a number of the body. exact is set only when isPlain is false, because parsing it costs more.
type number struct {
	raw     []byte
	integer int64
	isPlain bool
	exact   decimal
}

func (n *number) compare(b *bound) int {
	if n.isPlain && b.isPlain {
		return cmp.Compare(n.integer, b.integer)
	}
	exact := n.exact
	if n.isPlain {
		exact, _ = parseDecimal(n.raw)
	}
	return exact.compare(b.exact)
}

// object is the rule for the members of an object.
type object struct {
	// index finds a member by its exact name.
	index map[string]int
	// folded gives the exact name for a name in lower case.
	folded  map[string]string
	members []member
	// required are indexes into members.
	required []int
	// others is the schema of members that are not in index; nil allows all values.
	others *Schema
	// nameLengthMax bounds the characters of the names of such members; -1 means no bound.
	nameLengthMax int
	conditions    []condition
	spellings     []spellingPair
}

// spellingPair is one member that has two spellings, of which a body may use one. When it is required, a body must use one.
type spellingPair struct {
	first, second int
	required      bool
}

type member struct {
	name   string
	schema *Schema
}

// variants are alternative objects that differ in the string value of one member.
type variants struct {
	key string
	// values are the values of key in the order of the schema.
	values  []string
	byValue map[string]*typeRule
	// absent is the rule for objects without key. It is nil when key is required.
	absent *typeRule
	// other is the rule for values of key that are not in byValue. It is nil when they are not allowed.
	other *typeRule
}

// condition is a list of alternatives about the presence and the types of members. At least one of them must hold.
type condition []alternative

type alternative struct {
	required []int
	types    []memberStates
}

// memberStates lists the states that a member may be in when it is present.
type memberStates struct {
	member int
	states string
}

// The state of a member during the check is the first byte of its value, except that an empty array has a state of its own.
const (
	stateAbsent     = 0
	stateEmptyArray = 'e'
)

func (a alternative) holds(states *[membersMax]byte) bool {
	for _, m := range a.required {
		if states[m] == stateAbsent {
			return false
		}
	}
	return !slices.ContainsFunc(a.types, func(s memberStates) bool {
		state := states[s.member]
		return state != stateAbsent && strings.IndexByte(s.states, state) < 0
	})
}
