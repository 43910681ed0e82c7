package api

import (
	"errors"
	"io"
	"math/bits"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"umg/app"
	"umg/app/admission"
)

const (
	bodyGrace      = 5 * time.Second // A body may be slow for so long before its rate counts.
	bodyRateMin    = 16 << 10        // The rate is in bytes per second, after the grace time.
	bodyStep       = 32 << 10        // The deadline of the body moves after so much progress.
	jsonTimeMax    = 120 * time.Second
	bufferBytesMin = 16 << 10
	bufferBytesMax = 4 << 20 // The garbage collector takes larger buffers, because few later bodies need that size.
)

// FileTimeMax is how long a body that holds a file may take: 20 MiB over a line of 600 kbit/s.
const FileTimeMax = 300 * time.Second

// PageTimeMax is how long any other form of a page may take.
const PageTimeMax = jsonTimeMax

// bufferSizes are how many sizes of buffers are pooled, each twice as large as the one before.
var bufferSizes = bits.Len(bufferBytesMax / bufferBytesMin)

// buffers pools the buffers of bodies, by size. Boxes pools the pointers by which a pool holds its buffers.
type buffers struct {
	pools []sync.Pool
	boxes *sync.Pool
}

func newBuffers() buffers { return buffers{pools: make([]sync.Pool, bufferSizes), boxes: &sync.Pool{}} }

// get returns an empty buffer of at least so many bytes.
func (p *buffers) get(size int) []byte {
	if size > bufferBytesMax {
		return make([]byte, 0, size)
	}
	class := bits.Len(uint(max(size, bufferBytesMin)-1) / bufferBytesMin)
	if box, ok := p.pools[class].Get().(*[]byte); ok {
		b := *box
		*box = nil
		p.boxes.Put(box)
		return b[:0]
	}
	return make([]byte, 0, bufferBytesMin<<class)
}

// put returns a buffer to its pool. Nothing may refer to the buffer any more.
func (p *buffers) put(b []byte) {
	if size := cap(b); size >= bufferBytesMin && size <= bufferBytesMax && size&(size-1) == 0 {
		box, ok := p.boxes.Get().(*[]byte)
		if !ok {
			box = new([]byte)
		}
		*box = b
		p.pools[bits.Len(uint(size/bufferBytesMin))-1].Put(box)
	}
}

// body is a request body in memory.
type body struct {
	data  []byte
	place *admission.Place // The place counts what the buffer holds beyond the smallest size.
	next  [1]byte          // Next takes a byte that finds the buffer full.
}

// Bytes is the body. It is good until the body is released.
func (b *body) Bytes() []byte { return b.data }

// Len is how many bytes the body has.
func (b *body) Len() int { return len(b.data) }

// readAll takes the whole body into memory: the upstream must be handed an in-memory body, and no rule can be checked
// on half of one. Memory grows with what has come, whatever was declared.
func (a *API) readAll(x *call, timeMax time.Duration) (*body, error) {
	r := x.Request()
	bytesMax := min(a.o.BodyBytesMax, a.o.Gate.BodyBytesMax())
	if r.ContentLength > bytesMax {
		return nil, tooLarge(bytesMax)
	}
	if x.place != nil && r.ContentLength > bufferBytesMin {
		if err := x.place.Declare(bufferFor(r.ContentLength)); err != nil {
			return nil, a.explainBody(x, err, bytesMax, timeMax)
		}
	}
	began := a.now()
	x.paced = pacedBody{ReadCloser: r.Body, connection: x.Connection(), started: began, timeMax: timeMax}
	if r.ContentLength < 0 {
		x.paced.ReadCloser = http.MaxBytesReader(x.Connection(), r.Body, bytesMax)
	}
	b, err := a.fill(x, &x.paced, r.ContentLength)
	x.log.upload += a.now().Sub(began)
	if err == nil {
		_ = r.Body.Close() // else the answer's head looks for more of it
		return b, nil
	}
	a.release(b)
	return nil, a.explainBody(x, err, bytesMax, timeMax)
}

// bufferFor is the size of the buffer that a body of so many declared bytes ends in.
func bufferFor(bytes int64) int64 {
	if bytes > bufferBytesMax {
		return bytes
	}
	return max(bufferBytesMin, int64(1)<<bits.Len64(uint64(bytes-1)))
}

// fill reads a body, of so many bytes unless that is below zero, into a buffer that grows as often as it is full and more comes.
func (a *API) fill(x *call, in io.Reader, declared int64) (*body, error) {
	b := &x.body
	*b = body{data: a.buffers.get(bufferBytesMin), place: x.place}
	for {
		into := b.data[len(b.data):cap(b.data)]
		if len(into) == 0 {
			into = b.next[:]
		}
		n, err := in.Read(into)
		x.bodyBytes += int64(n)
		if len(b.data) == cap(b.data) && n > 0 {
			if err := a.grow(b, declared); err != nil {
				return b, err
			}
			b.data = append(b.data, b.next[0])
		} else {
			b.data = b.data[:len(b.data)+n]
		}
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

// grow doubles a full buffer. That of a large body never grows beyond the size that was declared.
func (a *API) grow(b *body, declared int64) error {
	size := 2 * cap(b.data)
	if declared > bufferBytesMax && declared > int64(cap(b.data)) {
		size = min(size, int(declared))
	}
	if b.place != nil {
		more := int64(size - cap(b.data))
		if cap(b.data) == bufferBytesMin {
			more = int64(size) // the smallest buffer was not counted
		}
		if err := b.place.Grow(more); err != nil {
			return err
		}
	}
	larger := append(a.buffers.get(size), b.data...)
	a.buffers.put(b.data)
	b.data = larger
	return nil
}

// release ends a body: nothing may refer to its bytes any more. A second release does nothing.
func (a *API) release(b *body) {
	if b.data == nil {
		return
	}
	a.buffers.put(b.data)
	b.data = nil
	if b.place != nil {
		b.place.Shrink()
	}
}

// explainBody returns the client's error for a body that was not read to its end. It closes the connection after the
// answer unless the connection has ended.
func (a *API) explainBody(x *call, err error, bytesMax int64, timeMax time.Duration) error {
	var network *net.OpError
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return tooLarge(bytesMax)
	}
	timely := !errors.Is(err, os.ErrDeadlineExceeded)
	if timely && errors.As(err, &network) {
		return app.Errorf(app.Canceled, "client_left", "The connection closed before the body was complete.").Because(err)
	}
	x.Header().Set("Connection", "close")
	if !timely {
		return app.Errorf(app.Invalid, "request_timeout",
			"The body came slower than %d bytes per second, or took longer than %d seconds. Send the request again.",
			bodyRateMin, timeMax/time.Second)
	}
	if e, ok := errors.AsType[*app.Error](err); ok { // The replica has no memory left for the body.
		x.log.unread = true
		a.endBody(x)
		return e
	}
	return app.Errorf(app.Invalid, "invalid_body",
		"The body could not be read: its framing (Content-Length or chunks) is broken.").Because(err)
}

func tooLarge(limit int64) *app.Error {
	return app.Errorf(app.TooLarge, "request_too_large", "The body is larger than %d bytes; send a smaller one.", limit)
}

// PaceBody bounds a request body in size and in time: a grace, from then on a rate, and a time for all of it. Where it fails the
// connection cannot be used again.
func PaceBody(w http.ResponseWriter, body io.ReadCloser, bytesMax int64, timeMax time.Duration, now app.Clock) io.ReadCloser {
	return &pacedBody{ReadCloser: http.MaxBytesReader(w, body, bytesMax), connection: w, started: now(), timeMax: timeMax}
}

type pacedBody struct {
	io.ReadCloser

	connection http.ResponseWriter
	started    time.Time
	timeMax    time.Duration
	read       int64
	next       int64
}

func (p *pacedBody) move(deadline time.Time) {
	_ = http.NewResponseController(p.connection).SetReadDeadline(deadline)
}

// Read moves the read deadline on as bytes arrive, and takes it away at the end of the body: left behind, it would
// later look like a client that leaves. After a failure it stays, as the server still tries to drain the connection.
func (p *pacedBody) Read(b []byte) (int, error) {
	if p.read >= p.next {
		patience := bodyGrace + time.Duration(p.read)*time.Second/bodyRateMin
		p.move(p.started.Add(min(patience, p.timeMax)))
		p.next = p.read + bodyStep
	}
	n, err := p.ReadCloser.Read(b)
	p.read += int64(n)
	if errors.Is(err, io.EOF) {
		p.move(time.Time{})
	}
	return n, err
}
