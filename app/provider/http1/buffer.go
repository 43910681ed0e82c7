package http1

import "sync"

// blockBytes is the size of a pooled buffer. It holds the content of the largest TLS record.
const blockBytes = 16 << 10

type block [blockBytes]byte

var blocks = sync.Pool{New: func() any { return new(block) }}

// buffer holds received bytes. It has memory only while it holds bytes or while a read goes on.
type buffer struct {
	block *block // Block is the pooled memory behind data; nil when data is larger or nil.
	data  []byte
	r, w  int // The bytes from r to w were received and not consumed.
}

// bytes returns the bytes that were not consumed.
func (b *buffer) bytes() []byte { return b.data[b.r:b.w] }

func (b *buffer) len() int { return b.w - b.r }

// consume drops the first n bytes. The memory goes back to the pool with the last byte.
func (b *buffer) consume(n int) {
	b.r += n
	if b.r == b.w {
		b.release()
	}
}

// release gives the memory back when no bytes are held.
func (b *buffer) release() {
	if b.r != b.w || b.data == nil {
		return
	}
	if b.block != nil {
		blocks.Put(b.block)
	}
	*b = buffer{}
}

// free returns the space behind the held bytes, which is never empty.
func (b *buffer) free() []byte {
	switch {
	case b.data == nil:
		b.block, _ = blocks.Get().(*block)
		b.data = b.block[:]
	case b.w < len(b.data):
	case b.r > 0:
		b.w = copy(b.data, b.data[b.r:b.w])
		b.r = 0
	default:
		larger := make([]byte, 2*len(b.data))
		copy(larger, b.data)
		if b.block != nil {
			blocks.Put(b.block)
			b.block = nil
		}
		b.data = larger
	}
	return b.data[b.w:]
}
