package rawjson

import "slices"

// Member is a member of an object and what to do with it.
type Member struct {
	// At spans the key, the colon and the value.
	At    Span
	Value Span
	// Drop leaves the member out.
	Drop bool
	// With replaces the value when it is not empty.
	With string
}

// AppendMembers appends an object with its members dropped and replaced as the list says. When the list changes nothing, the object
// stays byte for byte.
func AppendMembers(dst, doc []byte, list []Member) []byte {
	if !Changes(list) {
		return append(dst, doc...)
	}
	dst = append(dst, '{')
	first := true
	for i := range list {
		m := &list[i]
		if m.Drop {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if m.With == "" {
			dst = append(dst, m.At.Of(doc)...)
			continue
		}
		dst = append(dst, doc[m.At.From:m.Value.From]...)
		dst = append(dst, m.With...)
	}
	return append(dst, '}')
}

// Changes reports whether a member of the list is dropped or replaced.
func Changes(list []Member) bool {
	for i := range list {
		if list[i].Drop || list[i].With != "" {
			return true
		}
	}
	return false
}

// Without returns an object without the members called names.
func Without(doc []byte, names ...string) []byte {
	var list []Member
	o := OpenObject(doc, 0)
	for o.Next() {
		list = append(list, Member{At: o.Member, Value: o.Value, Drop: slices.Contains(names, string(o.Name()))})
	}
	return AppendMembers(nil, doc, list)
}
