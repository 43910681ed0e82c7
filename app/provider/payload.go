package provider

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
)

const (
	// Bodies up to this size are handed over in the form that lets the transport send head and body in one write. It
	// keeps no account of when it is done with them, so they are left to the garbage collector.
	plainBytesMax = 16 << 10

	pooledBytesMax = 4 << 20 // larger buffers are not kept
)

// Payload is a request body on its way upstream: in memory, so that no connection is lost over a body that is read
// too late, and so that it can be sent again. Its buffer is used again only once the transport has closed every
// reader of it.
type Payload struct {
	Data []byte
	refs atomic.Int32
}

var payloads = sync.Pool{New: func() any { return &Payload{} }}

// NewPayload makes a payload with room for size bytes. The caller fills Data and calls Release when it will not be
// sent any more.
func NewPayload(size int) *Payload {
	if size <= plainBytesMax {
		p := &Payload{Data: make([]byte, 0, size)}
		p.refs.Store(1)
		return p
	}
	p, _ := payloads.Get().(*Payload)
	p.refs.Store(1)
	if cap(p.Data) < size {
		p.Data = make([]byte, 0, size)
	}
	p.Data = p.Data[:0]
	return p
}

// Release gives up the caller's hold on the payload.
func (p *Payload) Release() {
	if p.refs.Add(-1) == 0 && cap(p.Data) > plainBytesMax && cap(p.Data) <= pooledBytesMax {
		payloads.Put(p)
	}
}

// open returns a reader over the payload from its beginning.
func (p *Payload) open() (io.ReadCloser, error) {
	if cap(p.Data) <= plainBytesMax {
		return io.NopCloser(bytes.NewReader(p.Data)), nil
	}
	p.refs.Add(1)
	return &payloadReader{payload: p}, nil
}

// payloadReader is one reader. The transport may close it while another goroutine still reads, so after Close it never
// touches the buffer again; it then reads as ended, since an error would make the transport drop the connection.
type payloadReader struct {
	mu      sync.Mutex
	payload *Payload
	at      int
}

func (r *payloadReader) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.payload == nil || r.at >= len(r.payload.Data) {
		return 0, io.EOF
	}
	n := copy(b, r.payload.Data[r.at:])
	r.at += n
	return n, nil
}

func (r *payloadReader) Close() error {
	r.mu.Lock()
	p := r.payload
	r.payload = nil
	r.mu.Unlock()
	if p != nil {
		p.Release()
	}
	return nil
}
