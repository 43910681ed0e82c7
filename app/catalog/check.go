package catalog

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
)

// depthMax bounds how deep arrays and objects of a body may be nested.
const depthMax = 128

// namesMax bounds the members of an object and of those around it together: the decoder remembers the names of all of them, which
// takes far more memory and time than the rest of the check. The number is looked at once in namesStep tokens of an object.
const (
	namesMax  = 200_000
	namesStep = 8192

	bytesPerNameLeast = 4 // two quotes, a colon and a value
)

// scratchBytesMax bounds what a resting checker keeps.
const scratchBytesMax = 64 << 10

// checker walks one body. It is reused, so that a check allocates next to nothing.
type checker struct {
	contract *Contract
	body     []byte
	buf      bytes.Buffer
	dec      jsontext.Decoder
	scratch  []byte // a text with its escapes resolved
	state    byte   // the state of the value read last, for conditions
	lenient  bool   // hints that the model does not take are no faults
	hints    []Hint // that were found
}

func (c *checker) run(contract *Contract, body []byte) *app.Error {
	c.contract, c.body = contract, body
	c.buf = *bytes.NewBuffer(body)
	c.dec.Reset(&c.buf)
	if c.dec.PeekKind() != jsontext.KindBeginObject {
		return c.notAnObject()
	}
	root, err := contract.form.compiled()
	if err != nil {
		return app.AsError(err)
	}
	if e := c.value(root); e != nil {
		return e
	}
	if _, err := c.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return c.syntax(err)
	}
	return nil
}

// forget lets go of the body before the checker rests in the pool.
func (c *checker) forget() {
	c.contract, c.body, c.buf, c.lenient, c.hints = nil, nil, bytes.Buffer{}, false, nil
	c.dec.Reset(&c.buf)
	if cap(c.scratch) > scratchBytesMax {
		c.scratch = nil
	}
}

// value checks the next value. Whatever is wrong with it, it is read first, because the decoder tells where it is.
func (c *checker) value(n *node) *app.Error {
	if n.hint != nil {
		return c.hint(n.hint)
	}
	kind := c.dec.PeekKind()
	if n.free {
		return c.skip(kind)
	}
	r := n.on[shapeOf(kind)]
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
		return c.wrongShape(n, kind, raw)
	case kind == jsontext.KindString:
		return c.text(n, r, raw)
	case r.literals != nil && !r.lists(kind, string(raw)):
		return c.notListed(n, raw)
	}
	return nil
}

func (r *rule) lists(kind jsontext.Kind, text string) bool {
	for i := range r.literals {
		if r.literals[i].kind == kind && r.literals[i].text == text {
			return true
		}
	}
	return false
}

func (c *checker) text(n *node, r *rule, raw []byte) *app.Error {
	if r.plain() {
		return nil
	}
	text := c.unquote(raw)
	if r.literals != nil {
		for i := range r.literals {
			if r.literals[i].kind == jsontext.KindString && r.literals[i].text == string(text) {
				return nil
			}
		}
		return c.notListed(n, raw)
	}
	if r.except != nil && slices.Contains(r.except, string(text)) {
		return c.excepted(raw)
	}
	// A character takes one to four bytes, so that most texts need no counting.
	if (r.lengthMax >= 0 && len(text) > r.lengthMax) || len(text) < 4*r.lengthMin {
		if count := utf8.RuneCount(text); (r.lengthMax >= 0 && count > r.lengthMax) || count < r.lengthMin {
			return c.wrongLength(r, count)
		}
	}
	if r.pattern != nil && !r.pattern.Match(text) {
		return c.wrongPattern(r, raw)
	}
	return nil
}

// unquote is the text of a JSON string. It stays valid until the next call.
func (c *checker) unquote(raw []byte) []byte {
	text := raw[1 : len(raw)-1]
	if bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	// The decoder has accepted the string, so that there is nothing left to go wrong.
	c.scratch, _ = jsontext.AppendUnquote(c.scratch[:0], raw)
	return c.scratch
}

func (c *checker) number(n *node, r *rule, raw []byte) *app.Error {
	num := number{raw: raw}
	if num.integer, num.isPlain = plainInteger(raw); !num.isPlain {
		exact, ok := parseDecimal(raw)
		if !ok {
			return c.notANumber(raw)
		}
		num.exact = exact
	}
	if r == nil {
		return c.wrongShape(n, jsontext.KindNumber, raw)
	}
	if r.literals != nil {
		exact, _ := parseDecimal(raw)
		for i := range r.literals {
			if r.literals[i].kind == jsontext.KindNumber && r.literals[i].number.compare(exact) == 0 {
				return nil
			}
		}
		return c.notListed(n, raw)
	}
	if r.integer && !num.isPlain && !num.exact.whole() {
		return c.notWhole(n, r, raw)
	}
	if !r.spans(&num) {
		return c.outOfRange(n, r, raw)
	}
	return nil
}

func (r *rule) spans(n *number) bool {
	return (r.least == nil || n.compare(r.least) >= 0) && (r.most == nil || n.compare(r.most) <= 0) &&
		(r.above == nil || n.compare(r.above) > 0) && (r.below == nil || n.compare(r.below) < 0)
}

func (c *checker) array(n *node, r *rule) *app.Error {
	if e := c.open(); e != nil {
		return e
	}
	if r == nil {
		return c.wrongShape(n, jsontext.KindBeginArray, nil)
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
		return c.wrongItems(n, r, count)
	}
	c.state = byte(jsontext.KindBeginArray)
	if count == 0 {
		c.state = stateEmptyArray
	}
	return nil
}

// open enters an array or an object.
func (c *checker) open() *app.Error {
	if _, err := c.dec.ReadToken(); err != nil {
		return c.syntax(err)
	}
	if c.dec.StackDepth() > depthMax {
		return c.tooDeep()
	}
	return nil
}

func (c *checker) close() *app.Error {
	if _, err := c.dec.ReadToken(); err != nil {
		return c.syntax(err)
	}
	return nil
}

// crowded refuses objects with too many members. It is called after each name.
func (c *checker) crowded() *app.Error {
	if len(c.body) < namesMax*bytesPerNameLeast {
		return nil
	}
	return c.countNames()
}

// countNames counts the members of the object that is read and of those around it, once in a while.
func (c *checker) countNames() *app.Error {
	depth := c.dec.StackDepth()
	if kind, tokens := c.dec.StackIndex(depth); kind != jsontext.KindBeginObject || tokens%namesStep != 1 {
		return nil
	}
	names := int64(0)
	for i := range depth {
		if kind, tokens := c.dec.StackIndex(i + 1); kind == jsontext.KindBeginObject {
			names += (tokens + 1) / 2
		}
	}
	if names > namesMax {
		return c.tooManyNames()
	}
	return nil
}

// skip reads a value that nothing is asked of, except what is asked of all JSON.
func (c *checker) skip(kind jsontext.Kind) *app.Error {
	c.state = byte(kind)
	return c.skipTo(kind, c.dec.StackDepth())
}

// leave reads the rest of the object that was entered last, up to its end.
func (c *checker) leave() *app.Error {
	return c.skipTo(c.dec.PeekKind(), c.dec.StackDepth()-1)
}

// skipTo reads values and ends until the nesting is back at depth.
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
			if e := c.crowded(); e != nil {
				return e
			}
			if kind == jsontext.KindNumber && !sound(raw) {
				return c.notANumber(raw)
			}
		}
		if c.dec.StackDepth() <= depth {
			return nil
		}
	}
}

func sound(raw []byte) bool {
	if _, ok := plainInteger(raw); ok {
		return true
	}
	_, ok := parseDecimal(raw)
	return ok
}

// syntax makes the error of a body that is no JSON, or that names a member twice.
func (c *checker) syntax(err error) *app.Error {
	var s *jsontext.SyntacticError
	switch {
	case err == nil:
		return c.invalidJSON(c.dec.InputOffset(), "there is more after its end")
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &s):
		return c.duplicate(s)
	case errors.As(err, &s):
		return c.invalidJSON(s.ByteOffset, s.Err.Error())
	default:
		return c.invalidJSON(int64(len(c.body)), "it ends too early")
	}
}
