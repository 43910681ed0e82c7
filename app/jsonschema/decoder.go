package jsonschema

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// decoder reads the tokens of a body, first with a scanner. When the scanner stops, or the body does not follow the schema, the body is
// read again with the decoder of jsontext, which is slower and knows where and why.
type decoder struct {
	scanner scanner
	// isExact means that the decoder of jsontext reads.
	isExact bool
	exact   jsontext.Decoder
	buf     bytes.Buffer
}

// errStopped means that the scanner has stopped.
var errStopped = errors.New("the scanner has stopped")

// start begins to read a body, with the scanner unless isExact is true.
func (d *decoder) start(body []byte, isExact bool) {
	d.isExact = isExact
	if !isExact {
		d.scanner.reset(body)
		return
	}
	d.buf = *bytes.NewBuffer(body)
	d.exact.Reset(&d.buf)
}

// release drops the references to the body.
func (d *decoder) release() {
	d.scanner.doc, d.scanner.correct = nil, nil
	if d.isExact {
		d.start(nil, true)
	}
}

// PeekKind returns the kind of the next token.
func (d *decoder) PeekKind() jsontext.Kind {
	if d.isExact {
		return d.exact.PeekKind()
	}
	return d.scanner.peekKind()
}

// ReadValue reads a name, or a value that is neither an array nor an object.
func (d *decoder) ReadValue() (jsontext.Value, error) {
	if d.isExact {
		return d.exact.ReadValue()
	}
	if raw, ok := d.scanner.readValue(); ok {
		return raw, nil
	}
	return nil, errStopped
}

// ReadDelimiter reads the beginning or the end of an array or an object.
func (d *decoder) ReadDelimiter() error {
	if d.isExact {
		_, err := d.exact.ReadToken()
		return err
	}
	if d.scanner.readDelimiter() {
		return nil
	}
	return errStopped
}

// ReadEnd returns io.EOF when nothing follows the value that was read.
func (d *decoder) ReadEnd() error {
	if d.isExact {
		_, err := d.exact.ReadToken()
		return err
	}
	if d.scanner.hasEnded() {
		return io.EOF
	}
	return errStopped
}

// StackDepth is the number of arrays and objects around the next token.
func (d *decoder) StackDepth() int {
	if d.isExact {
		return d.exact.StackDepth()
	}
	return d.scanner.depth
}

// StackKind returns the kind of the array or object at a depth, which begins at one.
func (d *decoder) StackKind(depth int) jsontext.Kind {
	if d.isExact {
		kind, _ := d.exact.StackIndex(depth)
		return kind
	}
	return d.scanner.levels[depth].kind
}

// StackPointer is the place of the value that was read last.
func (d *decoder) StackPointer() jsontext.Pointer {
	if d.isExact {
		return d.exact.StackPointer()
	}
	return d.scanner.pointer()
}

// InputOffset is the index after what was read last. The scanner may already have passed what separates that from the next token.
func (d *decoder) InputOffset() int64 {
	if d.isExact {
		return d.exact.InputOffset()
	}
	return int64(d.scanner.at)
}
