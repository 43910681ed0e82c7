package jsonschema

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
)

// depthMax bounds how deep arrays and objects of a body may be nested.
const depthMax = 128

// The decoder remembers the names of all members of an object and of the objects around it, which takes far more memory and time
// than the rest of the check. namesMax bounds their number, which is counted once in namesStep tokens of an object.
const (
	namesMax  = 200_000
	namesStep = 8192

	// bytesPerCharacterMax is the length of a character that is written as two escapes.
	bytesPerCharacterMax = 12

	// bytesPerNameMin is the length of the shortest member: two quotes, a colon and a value.
	bytesPerNameMin = 4
)

// scratchBytesMax bounds the scratch memory that a checker keeps while it is in the pool.
const scratchBytesMax = 64 << 10

// Subject is what the errors of a check name.
type Subject struct {
	// Model is the model that the body calls.
	Model string
	// Doc is the address of the document that explains the schema.
	Doc string
}

// Check reads the whole body once and returns nil or the first fault as an *app.Error of kind Invalid. Its code is invalid_json
// when the body is not JSON, else invalid_request_error with the path of the field at fault.
func (s *Schema) Check(about Subject, body []byte) error {
	c := newChecker()
	defer c.release()
	if e := c.run(s, about, body); e != nil {
		return e
	}
	return nil
}

// Admit checks a body as Check does, except that hints which the style takes and the model does not take are not faults. It
// returns them in the order of the body. It does not read strings that are known to be correct JSON: the list has the indexes of their
// first quotes and after their last ones, in the order of the body.
func (s *Schema) Admit(about Subject, body []byte, correct [][2]int) ([]Hint, error) {
	c := newChecker()
	defer c.release()
	c.lenient, c.dec.scanner.correct = true, correct
	if e := c.run(s, about, body); e != nil {
		return nil, e
	}
	return c.hints, nil
}

// checker reads one body. Checkers are reused, so that a check of a correct body allocates nothing.
type checker struct {
	about Subject
	body  []byte
	dec   decoder
	// stopped is the error for all faults until the decoder is exact.
	stopped app.Error
	// scratch holds a string with its escapes resolved.
	scratch []byte
	// state is the state of the value read last, for conditions.
	state byte
	// lenient means that hints which the model does not take are collected in hints and are not faults.
	lenient bool
	hints   []Hint
}

var checkers = sync.Pool{New: func() any { return new(checker) }}

func newChecker() *checker {
	c, _ := checkers.Get().(*checker)
	return c
}

// release drops the references to the body and returns the checker to the pool.
func (c *checker) release() {
	c.about, c.body, c.lenient, c.hints, c.stopped = Subject{}, nil, false, nil, app.Error{}
	c.dec.release()
	if cap(c.scratch) > scratchBytesMax {
		c.scratch = nil
	}
	checkers.Put(c)
}

// run checks a body. It finds the fault of one with a fault by an exact second check.
func (c *checker) run(root *Schema, about Subject, body []byte) *app.Error {
	return c.checkTwice(about, body, func() *app.Error { return c.whole(root) })
}

// checkTwice checks a body with the scanner, and again with the exact decoder unless it is correct.
func (c *checker) checkTwice(about Subject, body []byte, check func() *app.Error) *app.Error {
	c.about, c.body = about, body
	c.dec.start(body, false)
	if check() == nil {
		return nil
	}
	c.hints = nil
	c.dec.start(body, true)
	return check()
}

// whole checks the body to its end.
func (c *checker) whole(root *Schema) *app.Error {
	if c.dec.PeekKind() != jsontext.KindBeginObject {
		return c.notAnObject()
	}
	if e := c.value(root); e != nil {
		return e
	}
	if err := c.dec.ReadEnd(); !errors.Is(err, io.EOF) {
		return c.syntax(err)
	}
	return nil
}

// value checks the next value. It reads a wrong value before it returns the error, because the decoder knows the path of what was
// read last.
func (c *checker) value(n *Schema) *app.Error {
	if n.hint != nil {
		return c.hint(n.hint)
	}
	kind := c.dec.PeekKind()
	if n.free {
		return c.skip(kind)
	}
	r := n.rules[typeOf(kind)]
	switch kind {
	case jsontext.KindBeginObject:
		return c.object(n, r)
	case jsontext.KindBeginArray:
		return c.array(n, r)
	case jsontext.KindInvalid, jsontext.KindEndObject, jsontext.KindEndArray:
		_, err := c.dec.ReadValue()
		return c.syntax(err)
	}
	raw, err := c.dec.ReadValue()
	if err != nil {
		return c.syntax(err)
	}
	c.state = byte(kind)
	switch {
	case kind == jsontext.KindNumber:
		return c.number(n, r, raw)
	case r == nil:
		return c.wrongType(n, kind, raw)
	case kind == jsontext.KindString:
		return c.text(n, r, raw)
	case r.literals != nil && !r.lists(kind, raw):
		return c.notListed(n, raw)
	}
	return nil
}

func (r *typeRule) lists(kind jsontext.Kind, text []byte) bool {
	for i := range r.literals {
		if r.literals[i].kind == kind && r.literals[i].text == string(text) {
			return true
		}
	}
	return false
}

func (c *checker) text(n *Schema, r *typeRule, raw []byte) *app.Error {
	if r.takesAll(len(raw) - len(`""`)) {
		return nil
	}
	text := c.unquote(raw)
	switch {
	case r.literals == nil:
	case r.lists(jsontext.KindString, text):
		return nil
	default:
		return c.notListed(n, raw)
	}
	if r.except != nil && slices.Contains(r.except, string(text)) {
		return c.fail(c.path(), "must not be %s here.", Excerpt(raw))
	}
	// A character takes one to four bytes, so that most texts need no counting.
	if (r.lengthMax >= 0 && len(text) > r.lengthMax) || len(text) < 4*r.lengthMin {
		if count := utf8.RuneCount(text); (r.lengthMax >= 0 && count > r.lengthMax) || count < r.lengthMin {
			if count == 0 {
				return c.fail(c.path(), "must not be empty.")
			}
			return c.fail(c.path(), "must have %s, not %d.", countSpan(r, "character"), count)
		}
	}
	if r.pattern != nil && !r.pattern.Match(text) {
		return c.fail(c.path(), "must match %s; found %s.", r.pattern, Excerpt(raw))
	}
	return nil
}

// unquote returns the JSON string with its escapes resolved. The result is valid until the next call.
func (c *checker) unquote(raw []byte) []byte {
	text := raw[1 : len(raw)-1]
	if bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	// The decoder has accepted the string, so that this cannot fail.
	c.scratch, _ = jsontext.AppendUnquote(c.scratch[:0], raw)
	return c.scratch
}

func (c *checker) number(n *Schema, r *typeRule, raw []byte) *app.Error {
	num := number{raw: raw}
	if num.integer, num.isPlain = plainInteger(raw); !num.isPlain {
		exact, ok := parseDecimal(raw)
		if !ok {
			return c.notANumber(raw)
		}
		num.exact = exact
	}
	if r == nil {
		return c.wrongType(n, jsontext.KindNumber, raw)
	}
	if r.literals != nil {
		exact, _ := parseDecimal(raw)
		if slices.ContainsFunc(r.literals, func(l literal) bool { return l.kind == jsontext.KindNumber && l.number.compare(exact) == 0 }) {
			return nil
		}
		return c.notListed(n, raw)
	}
	if r.integer && !num.isPlain && !num.exact.whole() {
		return c.refuse(n, "must be an integer%s, not %s.", r.span(), Excerpt(raw))
	}
	if r.minimum != nil && num.compare(r.minimum) < 0 || r.maximum != nil && num.compare(r.maximum) > 0 ||
		r.above != nil && num.compare(r.above) <= 0 || r.below != nil && num.compare(r.below) >= 0 {
		return c.refuse(n, "must be %s%s, not %s.", r.numberName(), r.span(), Excerpt(raw))
	}
	return nil
}

func (c *checker) array(n *Schema, r *typeRule) *app.Error {
	if e := c.open(); e != nil {
		return e
	}
	if r == nil {
		return c.wrongType(n, jsontext.KindBeginArray, nil)
	}
	count := 0
	for kind := c.dec.PeekKind(); kind != jsontext.KindEndArray; kind = c.dec.PeekKind() {
		var e *app.Error
		if r.items != nil {
			e = c.value(r.items)
		} else {
			e = c.skip(kind)
		}
		if e != nil {
			return e
		}
		count++
	}
	if e := c.close(); e != nil {
		return e
	}
	if count < r.lengthMin || (r.lengthMax >= 0 && count > r.lengthMax) {
		if count == 0 {
			return c.refuse(n, "must not be empty: it needs %s.", countSpan(r, "item"))
		}
		return c.refuse(n, "must have %s, not %d.", countSpan(r, "item"), count)
	}
	c.state = byte(jsontext.KindBeginArray)
	if count == 0 {
		c.state = stateEmptyArray
	}
	return nil
}

// open enters an array or an object.
func (c *checker) open() *app.Error {
	if err := c.dec.ReadDelimiter(); err != nil {
		return c.syntax(err)
	}
	if c.dec.StackDepth() > depthMax {
		return c.invalidJSON(c.dec.InputOffset(), fmt.Sprintf("arrays and objects are nested deeper than %d levels", depthMax))
	}
	return nil
}

func (c *checker) close() *app.Error {
	if err := c.dec.ReadDelimiter(); err != nil {
		return c.syntax(err)
	}
	return nil
}

// countNames refuses objects with too many members. It must be called after each name, and counts once in namesStep tokens.
func (c *checker) countNames() *app.Error {
	if !c.dec.isExact || len(c.body) < namesMax*bytesPerNameMin {
		return nil
	}
	depth := c.dec.StackDepth()
	if kind, tokens := c.dec.exact.StackIndex(depth); kind != jsontext.KindBeginObject || tokens%namesStep != 1 {
		return nil
	}
	names := int64(0)
	for i := range depth {
		if kind, tokens := c.dec.exact.StackIndex(i + 1); kind == jsontext.KindBeginObject {
			names += (tokens + 1) / 2
		}
	}
	if names > namesMax {
		return c.invalidJSON(c.dec.InputOffset(), fmt.Sprintf("an object and those around it have more than %d members", namesMax))
	}
	return nil
}

// skip reads a value for which the schema has no rules. It still must be correct JSON.
func (c *checker) skip(kind jsontext.Kind) *app.Error {
	c.state = byte(kind)
	return c.skipTo(kind, c.dec.StackDepth())
}

// skipRest reads the rest of the object that was entered last, including its end.
func (c *checker) skipRest() *app.Error {
	return c.skipTo(c.dec.PeekKind(), c.dec.StackDepth()-1)
}

// skipTo reads tokens until the nesting is back at depth.
func (c *checker) skipTo(kind jsontext.Kind, depth int) *app.Error {
	for ; ; kind = c.dec.PeekKind() {
		switch kind {
		case jsontext.KindBeginObject, jsontext.KindBeginArray:
			if e := c.open(); e != nil {
				return e
			}
		case jsontext.KindEndObject, jsontext.KindEndArray:
			if c.dec.StackDepth() <= depth {
				_, err := c.dec.ReadValue()
				return c.syntax(err)
			}
			if e := c.close(); e != nil {
				return e
			}
		default:
			raw, err := c.dec.ReadValue()
			if err != nil {
				return c.syntax(err)
			}
			if e := c.countNames(); e != nil {
				return e
			}
			if kind == jsontext.KindNumber && !NumberInRange(raw) {
				return c.notANumber(raw)
			}
		}
		if c.dec.StackDepth() <= depth {
			return nil
		}
	}
}

// syntax returns the error for a body that is not JSON, or that names a member twice.
func (c *checker) syntax(err error) *app.Error {
	var s *jsontext.SyntacticError
	switch {
	case !c.dec.isExact:
		return &c.stopped
	case err == nil:
		return c.invalidJSON(c.dec.InputOffset(), "there is more after its end")
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &s):
		return c.fail(c.pathOf(s.JSONPointer), "occurs more than once in its object, again at byte %d; every name may occur once.", s.ByteOffset)
	case errors.As(err, &s):
		return c.invalidJSON(s.ByteOffset, s.Err.Error())
	default:
		return c.invalidJSON(int64(len(c.body)), "it ends too early")
	}
}
