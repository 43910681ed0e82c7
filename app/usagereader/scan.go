package usagereader

import (
	"bytes"
	"math"
	"slices"

	"umg/app/dialect/rawjson"
	"umg/app/llm"
)

const (
	// slotsMax bounds the numbers that are read from one document, and wordsMax the strings.
	slotsMax = 48
	wordsMax = 6
	// absent marks a slot whose place the document does not have.
	absent = math.MinInt64
)

// scan is what one pass over a document finds.
type scan struct {
	doc     []byte
	numbers [slotsMax]int64
	words   [wordsMax][]byte
	// seen has the strings of the place whose different strings are counted.
	seen [][]byte
	// usage is a usage object that the document holds.
	usage []byte
	// strict means that each positive number must have a place in the table.
	strict bool
	// unread means that one has none.
	unread bool
}

// object reads the object that begins at an index. It returns the index after it, or -1 when it is broken.
func (s *scan) object(at int, n *node) int {
	o := rawjson.OpenObject(s.doc, at)
	for o.NextKey() {
		if !o.EndValue(s.value(o.Value.From, n.find(o.Key.Of(s.doc)), n.known)) {
			break
		}
	}
	return o.End()
}

// value reads the value that begins at an index.
func (s *scan) value(from int, n *node, known bool) int {
	if n != nil && from < len(s.doc) {
		switch c := s.doc[from]; {
		case c == '{' && len(n.members) > 0:
			return s.object(from, n)
		case c == '[' && len(n.branches) > 0:
			return rawjson.EachElement(s.doc, from, func(at int) int { return s.element(at, n) })
		}
	}
	to := rawjson.ValueEnd(s.doc, from, rawjson.DepthMax)
	if to < 0 {
		return to
	}
	value := s.doc[from:to]
	switch {
	case n != nil:
		s.leaf(value, n)
	case s.strict && !known:
		s.unread = s.unread || hasPositive(value)
	}
	return to
}

// leaf reads a value that is not looked into.
func (s *scan) leaf(value []byte, n *node) {
	switch {
	case value[0] == 'n':
	case n.holds:
		s.usage = value
	case n.distinct:
		if !slices.ContainsFunc(s.seen, func(one []byte) bool { return bytes.Equal(one, value) }) {
			s.seen = append(s.seen, value)
		}
		s.numbers[n.number] = int64(len(s.seen))
	case n.number != none:
		count := parseNumber(value, n.shift)
		if n.adds && s.numbers[n.number] != absent {
			count = llm.Sum(s.numbers[n.number], count)
		}
		s.numbers[n.number] = count
	case n.word != none:
		if value[0] == '"' {
			s.words[n.word] = value[1 : len(value)-1]
		}
	case n.known:
	case len(n.below) > 0:
		// A value that should have been an object or an array makes its counts invalid.
		for _, slot := range n.below {
			s.numbers[slot] = llm.Unknown
		}
	case s.strict:
		s.unread = s.unread || hasPositive(value)
	}
}

// element reads an element of an array, with the first branch that has members for it.
func (s *scan) element(from int, n *node) int {
	if n.key != "" && from < len(s.doc) && s.doc[from] == '{' {
		// Most providers write the kind of an element first, and then one pass is enough.
		o := rawjson.OpenObject(s.doc, from)
		if o.Next() && string(o.Key.Of(s.doc)) == n.key {
			return s.restOfElement(&o, n)
		}
	}
	to := rawjson.ValueEnd(s.doc, from, rawjson.DepthMax)
	if to < 0 {
		return to
	}
	value := s.doc[from:to]
	branch, known := s.branchOf(n, func(b *branch) bool { return b.matches(value) })
	switch {
	case branch != nil && value[0] == '{':
		s.object(from, branch)
	case branch != nil:
		s.leaf(value, branch)
	case s.strict && !known:
		s.unread = s.unread || hasPositive(value)
	}
	return to
}

// restOfElement reads the members after the first one of an element, which says its kind.
func (s *scan) restOfElement(o *rawjson.Object, n *node) int {
	kind := o.Value.Of(s.doc)
	branch, known := s.branchOf(n, func(b *branch) bool { return b.conditions[0].accepts(kind) })
	for o.NextKey() {
		var child *node
		if branch != nil {
			child = branch.find(o.Key.Of(s.doc))
		}
		if !o.EndValue(s.value(o.Value.From, child, known)) {
			break
		}
	}
	return o.End()
}

// branchOf counts an element in the branches that match it. It returns the members of the first of them that has some, and whether other
// members need not be read.
func (s *scan) branchOf(n *node, matches func(*branch) bool) (members *node, known bool) {
	known = n.known
	for i := range n.branches {
		b := &n.branches[i]
		if !matches(b) {
			continue
		}
		if b.count != none {
			s.numbers[b.count] = max(s.numbers[b.count], 0) + 1
		}
		if members == nil && b.node != nil {
			members, known = b.node, known || b.node.known
		}
	}
	return members, known
}

func (b *branch) matches(element []byte) bool {
	for i := range b.conditions {
		if !b.conditions[i].holds(element) {
			return false
		}
	}
	return true
}

func (c *condition) holds(element []byte) bool {
	value := element
	for _, name := range c.path {
		if len(value) == 0 || value[0] != '{' {
			return c.orAbsent
		}
		value = rawjson.MemberOf(value, name).Of(value)
	}
	return c.accepts(value)
}

// accepts reports whether the value of the member is one of those that the condition asks for.
func (c *condition) accepts(value []byte) bool {
	if rawjson.IsNull(value) {
		return c.orAbsent
	}
	if c.ifPresent && !rawjson.IsEmpty(value) {
		return true
	}
	if value[0] != '"' {
		return false
	}
	for _, word := range c.words {
		if string(value[1:len(value)-1]) == word {
			return true
		}
	}
	return false
}

// hasPositive reports whether a value is or has a positive number.
func hasPositive(value []byte) bool {
	for at := 0; at < len(value); {
		switch c := value[at]; {
		case c == '"':
			if at = rawjson.StringEnd(value, at); at < 0 {
				return false
			}
		case c == '-' || '0' <= c && c <= '9':
			from := at
			for at < len(value) && isNumberByte(value[at]) {
				at++
			}
			mantissa, _, _ := bytes.Cut(bytes.ToLower(value[from:at]), []byte("e"))
			if c != '-' && bytes.ContainsAny(mantissa, "123456789") {
				return true
			}
		default:
			at++
		}
	}
	return false
}

func isNumberByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}
