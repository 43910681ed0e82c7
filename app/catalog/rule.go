package catalog

import (
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonType is one of the six JSON types a schema distinguishes.
type jsonType uint8

const (
	shapeNull jsonType = iota
	shapeBool
	shapeNumber
	shapeText
	shapeArray
	shapeObject
	shapeCount
)

func shapeOf(k jsontext.Kind) jsonType {
	switch k {
	case jsontext.KindNull:
		return shapeNull
	case jsontext.KindTrue, jsontext.KindFalse:
		return shapeBool
	case jsontext.KindNumber:
		return shapeNumber
	case jsontext.KindString:
		return shapeText
	case jsontext.KindBeginArray:
		return shapeArray
	default:
		return shapeObject
	}
}

// node is a compiled schema: for each shape of the value that comes, the rule it must keep. A shape without a rule is
// not allowed. Because a shape leads to one rule, the check never has to go back.
type node struct {
	free        bool // nothing is asked of the value
	shaped      bool // on has all its rules, even if these are still in the making
	on          [shapeCount]*rule
	unsupported string // the parameter this model does not support
	notOffered  string // what the member asks for, which no model is offered with
	advice      string // what to send instead, as a sentence
	hint        *hint  // in place of all of these
}

// rule is what is asked of a value of one shape. Limits that are not set are nil or -1.
type rule struct {
	literals []literal // the only values allowed, when there is such a list
	except   []string  // texts that are not allowed

	integer              bool
	least, most          *bound
	above, below         *bound
	lengthMin, lengthMax int // characters of a text, items of an array, members of an object
	pattern              *regexp.Regexp

	items    *node
	object   *object
	variants *variants
}

func (r *rule) plain() bool {
	return r.literals == nil && r.except == nil && r.lengthMin < 0 && r.lengthMax < 0 && r.pattern == nil
}

// literal is one value of an enum or a const.
type literal struct {
	kind   jsontext.Kind
	text   string // a text decoded; other values as written
	number decimal
}

// bound is one end of a range of numbers.
type bound struct {
	text    string
	exact   decimal
	integer int64
	isPlain bool
}

func newBound(text string) *bound {
	b := &bound{text: text, exact: numberOf(text)}
	b.integer, b.isPlain = plainInteger([]byte(text))
	return b
}

// number is a number of the body, taken apart only as far as it has to be.
type number struct {
	raw     []byte
	integer int64
	isPlain bool
	exact   decimal
}

func (n *number) compare(b *bound) int {
	switch {
	case !n.isPlain || !b.isPlain:
		exact := n.exact
		if n.isPlain {
			exact, _ = parseDecimal(n.raw)
		}
		return exact.compare(b.exact)
	case n.integer < b.integer:
		return -1
	case n.integer > b.integer:
		return 1
	default:
		return 0
	}
}

// object is what is asked of the members of an object.
type object struct {
	index      map[string]int    // by the exact name
	folded     map[string]string // the exact name by its lower-case spelling
	members    []member
	required   []int
	rest       *node // members that are not in index; nil when they are free
	nameMax    int   // characters of such a name, or -1
	conditions []condition
	pairs      []pair
}

// pair is one member that has two spellings: needed in one of them, or else allowed in one of them.
type pair struct {
	first, second int
	needed        bool
}

type member struct {
	name string
	node *node
}

// variants are objects told apart by the text of one member.
type variants struct {
	key    string
	values []string // in the order of the schema
	by     map[string]*rule
	absent *rule // for objects without the member; nil when it is required
	other  *rule // for texts not in by; nil when they are not allowed
}

// condition is a set of alternatives over which members are there and of which shape, one of which must hold.
type condition []alternative

type alternative struct {
	required []int
	shaped   []shaped
}

// shaped says which states a member may be in, if it is there.
type shaped struct {
	member int
	states string
}

// The state of a member during the check is the first byte of its value, which tells an empty array from a full one.
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
	return !slices.ContainsFunc(a.shaped, func(s shaped) bool {
		state := states[s.member]
		return state != stateAbsent && !containsByte(s.states, state)
	})
}

func containsByte(s string, b byte) bool {
	for i := range len(s) {
		if s[i] == b {
			return true
		}
	}
	return false
}
