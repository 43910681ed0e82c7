package simulator

import (
	"strconv"
	"sync"
)

// buffer builds JSON text by appending. Its methods return the buffer, so that one line of code reads like the line of JSON it makes.
type buffer struct{ b []byte }

// bufferBytesKept is the size above which a used buffer is left to the garbage collector.
const bufferBytesKept = 256 << 10

// bufferBytesFirst is what a new buffer holds: a short answer and its usage.
const bufferBytesFirst = 4 << 10

// buffers keeps used buffers. What a buffer held before is never read.
type buffers struct{ pool sync.Pool }

func (p *buffers) take() *buffer {
	b, ok := p.pool.Get().(*buffer)
	if !ok {
		return &buffer{b: make([]byte, 0, bufferBytesFirst)}
	}
	b.b = b.b[:0]
	return b
}

func (p *buffers) put(b *buffer) {
	if cap(b.b) <= bufferBytesKept {
		p.pool.Put(b)
	}
}

// raw appends text that is JSON already.
func (b *buffer) raw(s string) *buffer {
	b.b = append(b.b, s...)
	return b
}

// json appends a value that came as JSON, or null when there is none.
func (b *buffer) json(v []byte) *buffer {
	if len(v) == 0 {
		return b.raw("null")
	}
	b.b = append(b.b, v...)
	return b
}

// or appends a value that came as JSON, or the default when there is none.
func (b *buffer) or(v []byte, standard string) *buffer {
	if len(v) == 0 || string(v) == "null" {
		return b.raw(standard)
	}
	b.b = append(b.b, v...)
	return b
}

func (b *buffer) num(n int64) *buffer {
	b.b = strconv.AppendInt(b.b, n, 10)
	return b
}

func (b *buffer) boolean(v bool) *buffer {
	b.b = strconv.AppendBool(b.b, v)
	return b
}

const hexDigits = "0123456789abcdef"

// str appends s as a JSON string. s is valid UTF-8, as every text here comes out of a JSON decoder.
func (b *buffer) str(s string) *buffer {
	d := b.b
	d = append(d, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		d = append(d, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			d = append(d, '\\', c)
		case '\n':
			d = append(d, '\\', 'n')
		case '\r':
			d = append(d, '\\', 'r')
		case '\t':
			d = append(d, '\\', 't')
		default:
			d = append(d, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	d = append(d, s[from:]...)
	b.b = append(d, '"') //nolint:gocritic // the buffer takes back what it lent
	return b
}

// text appends a JSON string, or null for nil.
func (b *buffer) text(s *string) *buffer {
	if s == nil {
		return b.raw("null")
	}
	return b.str(*s)
}

// strOrNull appends s as a JSON string, or null when it is empty.
func (b *buffer) strOrNull(s string) *buffer {
	if s == "" {
		return b.raw("null")
	}
	return b.str(s)
}

// next begins another element of the list that is being written: with a comma, unless it is the first.
func (b *buffer) next() *buffer {
	if b.b[len(b.b)-1] != '[' {
		b.raw(",")
	}
	return b
}

// list appends n elements between brackets, separated by commas.
func (b *buffer) list(n int, element func(i int)) {
	b.raw("[")
	for i := range n {
		b.next()
		element(i)
	}
	b.raw("]")
}
