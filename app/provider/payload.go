package provider

import (
	"io"
	"sync"
	"sync/atomic"
)

const (
	pooledBytesMin = 4 << 10 // Smaller buffers are made as large.
	pooledBytesMax = 4 << 20 // Larger buffers are not pooled.
)

// Payload is a request body in memory, so that it can be sent again. Its buffer is reused when the transport has closed all its readers.
type Payload struct {
	Data []byte
	refs atomic.Int32
	// changed means that the body has the form of its provider already.
	changed bool
}

var payloads = sync.Pool{New: func() any { return &Payload{} }}

// NewPayload makes a payload with room for size bytes. The caller fills Data, and calls Release when it sends the payload no more.
func NewPayload(size int) *Payload {
	p, _ := payloads.Get().(*Payload)
	p.refs.Store(1)
	if cap(p.Data) < size {
		p.Data = make([]byte, 0, max(size, pooledBytesMin))
	}
	p.Data, p.changed = p.Data[:0], false
	return p
}

// Release gives up the caller's hold on the payload.
func (p *Payload) Release() {
	if p.refs.Add(-1) == 0 && cap(p.Data) <= pooledBytesMax {
		payloads.Put(p)
	}
}

// open returns a reader over the payload from its beginning.
func (p *Payload) open() (io.ReadCloser, error) {
	p.refs.Add(1)
	return &payloadReader{payload: p}, nil
}

// payloadReader is one reader. The transport may close it while another goroutine still reads, so it never uses the buffer after Close.
// It then reports the end, because an error would make the transport drop the connection.
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

// WriteTo writes the rest of the payload in one call. Close waits for it.
func (r *payloadReader) WriteTo(w io.Writer) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.payload == nil || r.at >= len(r.payload.Data) {
		return 0, nil
	}
	n, err := w.Write(r.payload.Data[r.at:])
	r.at += n
	return int64(n), err
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
