package requestbody

import (
	"errors"
	"io"
	"math/bits"
	"sync"

	"umg/app/admission"
)

// The sizes of buffers that are pooled. Each size is twice as large as the one before.
const (
	BytesMin = 16 << 10
	BytesMax = 4 << 20 // The garbage collector takes larger buffers, because few later bodies need that size.
)

var sizes = bits.Len(BytesMax / BytesMin)

// Pool pools the buffers of bodies. It is safe for concurrent use.
type Pool struct {
	// Overwrite makes a released body overwrite its bytes and leave its buffer to the garbage collector, so that a test notices who still
	// reads them.
	Overwrite bool

	pools []sync.Pool // Pools has a pool for each size.
	boxes sync.Pool   // Boxes has the pointers by which a pool holds its buffers.
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{pools: make([]sync.Pool, sizes)} }

// get returns an empty buffer of at least so many bytes.
func (p *Pool) get(size int) []byte {
	if size > BytesMax {
		return make([]byte, 0, size)
	}
	class := bits.Len(uint(max(size, BytesMin)-1) / BytesMin)
	if box, ok := p.pools[class].Get().(*[]byte); ok {
		b := *box
		*box = nil
		p.boxes.Put(box)
		return b[:0]
	}
	return make([]byte, 0, BytesMin<<class)
}

// put returns a buffer to its pool. Nothing may refer to the buffer any more.
func (p *Pool) put(b []byte) {
	if p.Overwrite {
		for i := range b {
			b[i] = '#'
		}
		return
	}
	if size := cap(b); size >= BytesMin && size <= BytesMax && size&(size-1) == 0 {
		box, ok := p.boxes.Get().(*[]byte)
		if !ok {
			box = new([]byte)
		}
		*box = b
		p.pools[bits.Len(uint(size/BytesMin))-1].Put(box)
	}
}

// Body is a request body in memory. The zero value is a released body. It is used by one goroutine at a time.
type Body struct {
	data  []byte
	pool  *Pool
	place *admission.Place // The place counts what the buffer holds beyond the smallest size.
	next  [1]byte          // Next takes a byte that finds the buffer full.
}

// Begin begins an empty body with a buffer of the pool. The place counts its memory and may be nil.
func (b *Body) Begin(p *Pool, place *admission.Place) {
	*b = Body{data: p.get(BytesMin), pool: p, place: place}
}

// Bytes is the body. It is good until the body is released, and nil afterwards.
func (b *Body) Bytes() []byte { return b.data }

// Len is how many bytes the body has.
func (b *Body) Len() int { return len(b.data) }

// BufferFor is the size of the buffer that a body of so many declared bytes ends in.
func BufferFor(bytes int64) int64 {
	if bytes > BytesMax {
		return bytes
	}
	return max(BytesMin, int64(1)<<bits.Len64(uint64(bytes-1)))
}

// Fill reads a body to its end, of so many bytes unless that is below zero, into a buffer that grows as often as it is full and more
// comes: memory follows what has come, whatever was declared. It returns how many bytes were read, also with an error.
func (b *Body) Fill(in io.Reader, declared int64) (read int64, err error) {
	for {
		into := b.data[len(b.data):cap(b.data)]
		if len(into) == 0 {
			into = b.next[:]
		}
		n, err := in.Read(into)
		read += int64(n)
		if len(b.data) == cap(b.data) && n > 0 {
			if err := b.grow(declared); err != nil {
				return read, err
			}
			b.data = append(b.data, b.next[0])
		} else {
			b.data = b.data[:len(b.data)+n]
		}
		if errors.Is(err, io.EOF) {
			return read, nil
		}
		if err != nil {
			return read, err
		}
	}
}

// grow doubles a full buffer. That of a large body never grows beyond the size that was declared.
func (b *Body) grow(declared int64) error {
	size := 2 * cap(b.data)
	if declared > BytesMax && declared > int64(cap(b.data)) {
		size = min(size, int(declared))
	}
	if b.place != nil {
		more := int64(size - cap(b.data))
		if cap(b.data) == BytesMin {
			more = int64(size) // The smallest buffer was not counted.
		}
		if err := b.place.Grow(more); err != nil {
			return err
		}
	}
	larger := append(b.pool.get(size), b.data...)
	b.pool.put(b.data)
	b.data = larger
	return nil
}

// Release ends a body: nothing may refer to its bytes any more. A second release, and that of a nil body, does nothing.
func (b *Body) Release() {
	if b == nil || b.data == nil {
		return
	}
	b.Recycle()
	if b.place != nil {
		b.place.Shrink()
	}
}

// Recycle is Release for a body whose memory stays counted, because copies of its parts are still in use.
func (b *Body) Recycle() {
	b.pool.put(b.data)
	b.data = nil
}
