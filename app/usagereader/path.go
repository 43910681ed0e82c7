package usagereader

import (
	"fmt"
	"slices"
	"strings"
)

// none marks a place without a slot.
const none = -1

// node is a place in a document: a member, or an element of an array.
type node struct {
	members []member
	// index finds a member by the hash of its name; its length is a power of two.
	index    []*member
	branches []branch
	// key is the only member that the filters of the branches ask for. It is empty when they ask for several.
	key string
	// number and word are the slots for the value. They are none when it is not needed.
	number, word int
	// shift is the power of ten by which a number is multiplied: 3 for thousandths.
	shift int
	// adds means that the place is inside of an array, so that its numbers are added.
	adds bool
	// distinct means that the slot counts the different strings at the place.
	distinct bool
	// holds means that the value is a usage object.
	holds bool
	// known means that no value below needs to be read.
	known bool
	// below has the slots of all numbers below.
	below []int
}

type member struct {
	name string
	node *node
}

// branch is a kind of the elements of an array.
type branch struct {
	filter     string
	conditions []condition
	// count is the slot for the number of elements. It is none when it is not needed.
	count int
	// node has the members of the elements. It is nil when none are read.
	node *node
}

// condition is what a member of an element must say.
type condition struct {
	path  []string
	words []string
	// orAbsent means that the member may be missing, and ifPresent that it may say anything but nothing.
	orAbsent, ifPresent bool
}

// These words of a filter stand for a missing member, and for one that is not empty.
const (
	wordAbsent  = "absent"
	wordPresent = "present"
)

func newNode() *node { return &node{number: none, word: none} }

// segment is a name of a path with its filter, such as iterations[type=message].
type segment struct {
	name, filter string
	isList       bool
}

// splitPath splits a path like output[type=call,action.type=search|absent].id at the dots outside of brackets.
func splitPath(path string) ([]segment, error) {
	var segments []segment
	for rest := path; ; {
		end := strings.IndexAny(rest, ".[")
		s := segment{name: rest}
		if end >= 0 {
			s.name = rest[:end]
		}
		if s.name == "" || strings.ContainsAny(s.name, "] ") {
			return nil, fmt.Errorf("%q is not a path", path)
		}
		if end < 0 {
			return append(segments, s), nil
		}
		rest = rest[end:]
		if rest[0] == '[' {
			to := strings.IndexByte(rest, ']')
			if to < 0 {
				return nil, fmt.Errorf("%q has a bracket without an end", path)
			}
			s.filter, s.isList, rest = rest[1:to], true, rest[to+1:]
		}
		segments = append(segments, s)
		if rest == "" {
			return segments, nil
		}
		if rest[0] != '.' {
			return nil, fmt.Errorf("%q is not a path", path)
		}
		rest = rest[1:]
	}
}

// parseFilter reads the conditions between brackets. There are none for all elements.
func parseFilter(filter string) ([]condition, error) {
	var conditions []condition
	if filter == "" {
		return nil, nil
	}
	for one := range strings.SplitSeq(filter, ",") {
		path, words, ok := strings.Cut(one, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not like type=message", one)
		}
		c := condition{path: strings.Split(path, ".")}
		for word := range strings.SplitSeq(words, "|") {
			switch word {
			case wordAbsent:
				c.orAbsent = true
			case wordPresent:
				c.ifPresent = true
			default:
				c.words = append(c.words, word)
			}
		}
		conditions = append(conditions, c)
	}
	return conditions, nil
}

// member returns the member of a place, which it adds when it is missing.
func (n *node) member(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			return m.node
		}
	}
	one := newNode()
	one.adds = n.adds
	n.members = append(n.members, member{name, one})
	return one
}

// branch returns the branch with a filter, which it adds when it is missing.
func (n *node) branch(filter string) (*branch, error) {
	for i := range n.branches {
		if n.branches[i].filter == filter {
			return &n.branches[i], nil
		}
	}
	conditions, err := parseFilter(filter)
	if err != nil {
		return nil, err
	}
	n.branches = append(n.branches, branch{filter: filter, conditions: conditions, count: none})
	return &n.branches[len(n.branches)-1], nil
}

// place finds the place that a path names. The branch is set when the path ends with a filter.
func (n *node) place(path string) (*node, *branch, error) {
	segments, err := splitPath(path)
	if err != nil {
		return nil, nil, err
	}
	for i, s := range segments {
		n = n.member(s.name)
		if !s.isList {
			continue
		}
		b, err := n.branch(s.filter)
		if err != nil {
			return nil, nil, err
		}
		if i == len(segments)-1 {
			return nil, b, nil
		}
		if b.node == nil {
			b.node = newNode()
			b.node.adds = true
		}
		n = b.node
	}
	return n, nil, nil
}

// markOf returns a text that each document has in which the place of a path exists: a word that a filter asks for, or else the name of
// the first member outside of an array.
func markOf(path string) (string, error) {
	segments, err := splitPath(path)
	if err != nil {
		return "", err
	}
	for _, s := range segments {
		if !s.isList {
			return s.name, nil
		}
		conditions, err := parseFilter(s.filter)
		if err != nil {
			return "", err
		}
		for _, c := range conditions {
			switch {
			case c.orAbsent:
			case c.ifPresent:
				return c.path[0], nil
			case len(c.words) == 1:
				return c.words[0], nil
			}
		}
	}
	return segments[0].name, nil
}

// hashOf is a hash of a member's name that is quick and tells the names of one object apart.
func hashOf[T string | []byte](name T) int {
	if len(name) == 0 {
		return 0
	}
	return len(name)*5 + int(name[0])*3 + int(name[len(name)-1]) + int(name[len(name)/2])*7
}

// find returns the place of a member, or nil.
func (n *node) find(name []byte) *node {
	if len(n.index) == 0 {
		return nil
	}
	for at := hashOf(name); ; at++ {
		m := n.index[at&(len(n.index)-1)]
		if m == nil {
			return nil
		}
		if m.name == string(name) {
			return m.node
		}
	}
}

// buildIndex prepares the member for find. At most half of the index is used.
func (n *node) buildIndex() {
	if len(n.members) == 0 {
		return
	}
	size := 4
	for size < 2*len(n.members) {
		size *= 2
	}
	n.index = make([]*member, size)
	for i := range n.members {
		at := hashOf(n.members[i].name)
		for n.index[at&(size-1)] != nil {
			at++
		}
		n.index[at&(size-1)] = &n.members[i]
	}
}

// commonKey returns the member that all filters ask for and nothing else, or an empty text.
func (n *node) commonKey() string {
	key := ""
	for _, b := range n.branches {
		if len(b.conditions) != 1 || len(b.conditions[0].path) != 1 || key != "" && b.conditions[0].path[0] != key {
			return ""
		}
		key = b.conditions[0].path[0]
	}
	return key
}

// close prepares a place for reading, and returns the slots at it and below.
func (n *node) close() []int {
	n.buildIndex()
	n.key, n.below = n.commonKey(), nil
	for _, m := range n.members {
		n.below = append(n.below, m.node.close()...)
	}
	for _, b := range n.branches {
		if b.node != nil {
			n.below = append(n.below, b.node.close()...)
		}
	}
	if n.number == none {
		return n.below
	}
	return append(slices.Clone(n.below), n.number)
}
