package dialect

import (
	"bytes"
	"slices"
	"strings"

	"umg/app/dialect/rawjson"
	"umg/app/llm"
)

// extraNode is a position in a request at which, or below which, extras may be.
type extraNode struct {
	// members are the nodes of the members of an object.
	members map[string]*extraNode
	// each is the node of the elements of an array.
	each *extraNode
	// rows are the extras for the value of this node.
	rows []*Extra
	// rest is the extra for the members of an object without a node.
	rest *Extra
	// typed means that a row depends on the type of this object.
	typed bool
	// tools means that the elements of this array are the tools of the request.
	tools bool
}

// extraRoots has the tree of positions of each style. It numbers the rows.
var extraRoots = func() map[llm.Style]*extraNode {
	roots := map[llm.Style]*extraNode{}
	for _, style := range llm.UpstreamStyles() {
		roots[style] = &extraNode{}
	}
	for style, rows := range extras {
		roots[style] = &extraNode{}
		for i := range rows {
			rows[i].number = i
			roots[style].add(&rows[i], style)
		}
	}
	return roots
}()

// add adds the position of a row to the tree.
func (n *extraNode) add(row *Extra, style llm.Style) {
	names := strings.Split(strings.ReplaceAll(row.At, "[]", ".[]"), ".")
	for i, name := range names {
		switch name {
		case "*":
			n.rest = row
			for _, except := range row.Except {
				n.member(except, style)
			}
			return
		case "[]":
			if n.each == nil {
				n.each = &extraNode{tools: i == 1 && names[0] == "tools"}
			}
			n = n.each
		default:
			n = n.member(name, style)
		}
	}
	n.rows = append(n.rows, row)
	n.typed = n.typed || row.Types != nil || row.Except != nil
}

// member returns the node of a member, under all of its spellings.
func (n *extraNode) member(name string, style llm.Style) *extraNode {
	if n.members == nil {
		n.members = map[string]*extraNode{}
	}
	if n.members[name] == nil {
		n.members[name] = &extraNode{}
	}
	if style == llm.Native {
		n.members[snake(name)] = n.members[name]
	}
	return n.members[name]
}

// snake spells fileData as file_data.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if 'A' <= r && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (x *Extra) covers(value, kind []byte) bool {
	if (x.Types != nil || x.Except != nil) && value[0] != '{' {
		return false
	}
	if x.Types != nil && !matchesAny(x.Types, kind) || x.Except != nil && matchesAny(x.Except, kind) {
		return false
	}
	if x.Unless != nil && hasAnyOf(value, x.Unless) {
		return false
	}
	if x.Only == nil && x.Free == nil {
		return true
	}
	plain := plainValue(value)
	return (x.Only == nil || matchesAny(x.Only, bytes.ToLower(plain))) && !matchesAny(x.Free, plain)
}

// plainValue returns a value as the patterns of the rows write it: a string without its quotes, and an empty array or object without
// white space.
func plainValue(value []byte) []byte {
	switch {
	case value[0] == '"':
		return plainText(value)
	case rawjson.IsEmpty(value) && value[0] == '[':
		return []byte("[]")
	case rawjson.IsEmpty(value):
		return []byte("{}")
	}
	return value
}

// plainText returns the inside of a string. It copies only a string with escapes.
func plainText(value []byte) []byte {
	if len(value) < 2 || value[0] != '"' {
		return nil
	}
	if inside := value[1 : len(value)-1]; bytes.IndexByte(inside, '\\') < 0 {
		return inside
	}
	return []byte(rawjson.String(value))
}

func matchesAny(patterns []string, s []byte) bool {
	for _, p := range patterns {
		if matches(p, s) {
			return true
		}
	}
	return false
}

// matches reports whether a text matches a pattern, in which * is any text and # is digits.
func matches(pattern string, s []byte) bool {
	if string(s) == pattern {
		return true
	}
	at := strings.IndexAny(pattern, "*#")
	if at < 0 || len(s) < at || string(s[:at]) != pattern[:at] {
		return false
	}
	rest, s := pattern[at+1:], s[at:]
	if pattern[at] == '#' {
		digits := len(s) - len(bytes.TrimLeft(s, "0123456789"))
		return digits > 0 && matches(rest, s[digits:])
	}
	for i := range len(s) + 1 {
		if rest == "" || matches(rest, s[i:]) {
			return true
		}
	}
	return false
}

// hasAnyOf reports whether an object has one of some members with a value that is not empty.
func hasAnyOf(object []byte, names []string) bool {
	o := rawjson.OpenObject(object, 0)
	for o.Next() {
		if slices.Contains(names, string(o.Name())) && !rawjson.IsEmpty(o.Value.Of(object)) {
			return true
		}
	}
	return false
}
