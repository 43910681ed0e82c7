package jsonschema

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
)

func (c *checker) object(n *Schema, r *typeRule) *app.Error {
	if e := c.open(); e != nil {
		return e
	}
	switch {
	case r == nil:
		return c.wrongType(n, jsontext.KindBeginObject, nil)
	case r.variants != nil:
		variant, e := c.variant(r.variants)
		if e != nil {
			return e
		}
		r = variant
	}
	o := r.object
	var states [membersMax]byte
	count := 0
	for c.dec.PeekKind() != jsontext.KindEndObject {
		if e := c.member(o, &states); e != nil {
			return e
		}
		count++
	}
	if e := c.close(); e != nil {
		return e
	}
	for _, i := range o.required {
		if states[i] == stateAbsent {
			return c.missing(o, i)
		}
	}
	if count < r.lengthMin || (r.lengthMax >= 0 && count > r.lengthMax) {
		return c.fail(c.path(), "must have %s, not %d.", countSpan(r, "member"), count)
	}
	for _, p := range o.spellings {
		if e := c.spelling(o, p, &states); e != nil {
			return e
		}
	}
	for _, condition := range o.conditions {
		if !condition.holds(&states) {
			return c.unmet(o, condition, &states)
		}
	}
	c.state = byte(jsontext.KindBeginObject)
	return nil
}

// spelling refuses a member that is present in both spellings, because providers differ in which of them they read.
func (c *checker) spelling(o *object, p spellingPair, states *[membersMax]byte) *app.Error {
	first, second := states[p.first] != stateAbsent, states[p.second] != stateAbsent
	switch {
	case first && second && !p.required:
		return c.fail(under(c.path(), o.members[p.second].name), "is another spelling of %s, which is there too; send one of the two.",
			o.members[p.first].name)
	case !first && !second && p.required:
		return c.missing(o, p.first)
	default:
		return nil
	}
}

func (cond condition) holds(states *[membersMax]byte) bool {
	for i := range cond {
		if cond[i].holds(states) {
			return true
		}
	}
	return false
}

// member checks one name and its value. The decoder refuses a name that is present twice.
func (c *checker) member(o *object, states *[membersMax]byte) *app.Error {
	raw, err := c.dec.ReadValue()
	if err != nil {
		return c.syntax(err)
	}
	if e := c.countNames(); e != nil {
		return e
	}
	name := raw[1 : len(raw)-1]
	if c.dec.isExact { // The scanner reads no names with escapes.
		name = c.unquote(raw)
	}
	if i, ok := o.index[string(name)]; ok {
		if e := c.value(o.members[i].schema); e != nil {
			return e
		}
		states[i] = c.state
		return nil
	}
	if right := o.misspelt(name); right != "" {
		return c.fail(c.path(), "is not a known field, but %q is: names are case-sensitive.", right)
	}
	if o.nameLengthMax >= 0 && utf8.RuneCount(name) > o.nameLengthMax {
		return c.fail(c.path(), "is a name of more than %d characters.", o.nameLengthMax)
	}
	if o.others != nil {
		return c.value(o.others)
	}
	return c.skip(c.dec.PeekKind())
}

// misspelt returns the member that differs from name only in the case of letters, or "". Providers may ignore the case, and would
// then read a member that the gateway has not checked.
func (o *object) misspelt(name []byte) string {
	const foldBytesMax = 64
	if len(o.members) == 0 {
		return ""
	}
	var folded [foldBytesMax]byte
	if len(name) > foldBytesMax {
		return ""
	}
	for i, b := range name {
		if b >= utf8.RuneSelf {
			return o.misspeltBeyondASCII(string(name))
		}
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		folded[i] = b
	}
	return o.folded[string(folded[:len(name)])]
}

// misspeltBeyondASCII is misspelt for names with letters outside ASCII that equal an ASCII letter in another case, such as the Kelvin sign.
func (o *object) misspeltBeyondASCII(name string) string {
	for _, m := range o.members {
		if strings.EqualFold(m.name, name) {
			return m.name
		}
	}
	return ""
}

// variant returns the rule for the object that begins here. It scans ahead for the member that selects the rule, which may be the
// last of the object.
func (c *checker) variant(v *variants) (*typeRule, *app.Error) {
	value, found := findMember(c.body[c.dec.InputOffset():], v.key)
	if found {
		if text, ok := c.textOf(value); ok {
			if r := v.byValue[string(text)]; r != nil {
				return r, nil
			}
			if v.other != nil {
				return v.other, nil
			}
		}
	}
	if !found && v.absent != nil {
		return v.absent, nil
	}
	// When the rest of the object is not JSON, this is the error to return.
	if e := c.skipRest(); e != nil {
		return nil, e
	}
	at := under(c.path(), v.key)
	if !found {
		return nil, c.fail(at, "is required; it must be %s.", QuotedList(v.values))
	}
	wrong := Excerpt(value)
	if value[0] != '"' {
		wrong = kindName(jsontext.Value(value).Kind())
	}
	return nil, c.fail(at, "must be %s, not %s.", QuotedList(v.values), wrong)
}

// textOf unquotes a value that the decoder has not checked yet. It reports false when the value is not a JSON string.
func (c *checker) textOf(value []byte) ([]byte, bool) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return nil, false
	}
	text := value[1 : len(value)-1]
	if bytes.IndexByte(text, '\\') < 0 {
		return text, true
	}
	var err error
	c.scratch, err = jsontext.AppendUnquote(c.scratch[:0], value)
	return c.scratch, err == nil
}
