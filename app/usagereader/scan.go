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
	next := 0
	for o.NextKey() {
		key := o.Key.Of(s.doc)
		var child *node
		// Providers write their members in the same order in each answer, which is mostly that of the table.
		for i := range n.members {
			k := next + i
			if k >= len(n.members) {
				k -= len(n.members)
			}
			if n.members[k].name == string(key) {
				child, next = n.members[k].node, k+1
				break
			}
		}
		if !o.EndValue(s.value(o.Value.From, child, n.known)) {
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
	to := rawjson.ValueEnd(s.doc, from, rawjson.DepthMax)
	if to < 0 {
		return to
	}
	read := n.known
	value := s.doc[from:to]
	for i := range n.branches {
		b := &n.branches[i]
		if !b.matches(value) {
			continue
		}
		if b.count != none {
			s.numbers[b.count] = max(s.numbers[b.count], 0) + 1
		}
		if b.node != nil && !read {
			if value[0] == '{' {
				s.object(from, b.node)
			} else {
				s.leaf(value, b.node)
			}
			read = true
		}
	}
	if s.strict && !read {
		s.unread = s.unread || hasPositive(value)
	}
	return to
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
