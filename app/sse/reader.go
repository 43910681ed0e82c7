package sse

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

const (
	// FrameBytesMax bounds one frame, and so one line.
	FrameBytesMax = 16 << 20

	bufferBytes   = 2 << 10  // The buffer of every stream. A larger one takes memory from the budget.
	fullBytes     = 8 << 10  // The buffer after a read that has filled the small one.
	burstBytes    = 32 << 10 // The buffer after more of them in a row.
	emptyReadsMax = 100
	byteOrderMark = "\xef\xbb\xbf"
)

// Errors of a reader, in addition to those of its source.
var (
	ErrTooLarge = errors.New("sse: a frame is larger than 16 MiB")
	ErrBudget   = errors.New("sse: no memory left for large frames")
)

// Frame is one event as received. Its slices stay valid until the next call of a method of the Reader.
type Frame struct {
	Raw   []byte // every byte of the frame, with the blank line that ended it
	Data  []byte // the data lines joined by line feeds; nil when the frame has none
	Event []byte // the value of the event line
}

// Reader splits a byte stream into frames. The source may return the bytes in pieces of any size. Lines end in LF, CR or CRLF. A frame
// that has only comments is returned with nil Data, so that callers see that the source is alive.
type Reader struct {
	src    io.Reader
	budget *Budget
	buf    []byte
	joined []byte // the data of a frame with several data lines
	start  int    // first byte of the frame being read
	line   int    // first byte of the line being read
	scan   int    // first byte not looked at yet
	end    int    // end of what was read
	err    error  // the error with which the source ended
	full   int    // Full counts the reads in a row that filled the buffer, so that the source probably has more.

	data   span // the last data line, relative to start
	event  span
	lines  int  // data lines seen in this frame
	fields int  // lines of any field seen in this frame
	bare   bool // the frame is JSON without field names
	skipLF bool
	begun  bool // the byte order mark was looked for
	ready  bool // next holds a frame that was split but not handed out
	lent   bool // Lent means that buf belongs to the caller of ResetBytes.
	next   Frame
}

type span struct{ from, to int }

var dataName = []byte("data")

var (
	buffers = sync.Pool{New: func() any { return new([bufferBytes]byte) }}
	fulls   = sync.Pool{New: func() any { return new([fullBytes]byte) }}
	bursts  = sync.Pool{New: func() any { return new([burstBytes]byte) }}
)

func newBuffer() []byte {
	b, _ := buffers.Get().(*[bufferBytes]byte)
	return b[:]
}

// newBuffer makes a buffer that is larger than the small one. It returns nil when the budget is used up.
func (r *Reader) newBuffer(size int) []byte {
	if !r.budget.Take(int64(size)) {
		return nil
	}
	switch size {
	case fullBytes:
		b, _ := fulls.Get().(*[fullBytes]byte)
		return b[:]
	case burstBytes:
		b, _ := bursts.Get().(*[burstBytes]byte)
		return b[:]
	}
	return make([]byte, size)
}

// NewReader reads frames from src. Close gives its memory back.
func NewReader(src io.Reader, budget *Budget) *Reader {
	r := &Reader{}
	r.Reset(src, budget)
	return r
}

// Reset makes r, which must be new or closed, read from src.
func (r *Reader) Reset(src io.Reader, budget *Budget) {
	*r = Reader{src: src, budget: budget, buf: newBuffer(), joined: r.joined[:0]}
}

// ResetBytes makes r, which must be new or closed, read the frames of a text without copying it. The text must not change until Close,
// and has no byte order mark.
func (r *Reader) ResetBytes(text []byte) {
	*r = Reader{buf: text, end: len(text), lent: true, begun: true, err: io.EOF, joined: r.joined[:0]}
}

// Close returns the buffers. It does not close the source.
func (r *Reader) Close() {
	r.dropBuffer()
	if cap(r.joined) > bufferBytes {
		r.joined = nil
	}
	*r = Reader{joined: r.joined, err: io.ErrClosedPipe}
}

func (r *Reader) dropBuffer() {
	if r.lent {
		r.buf = nil
		return
	}
	size := len(r.buf)
	switch size {
	case bufferBytes:
		buffers.Put((*[bufferBytes]byte)(r.buf))
	case fullBytes:
		fulls.Put((*[fullBytes]byte)(r.buf))
	case burstBytes:
		bursts.Put((*[burstBytes]byte)(r.buf))
	}
	if size > bufferBytes {
		r.budget.Give(int64(size))
	}
	r.buf = nil
}

// Next returns the next frame. A last frame without a blank line is returned too, since some servers omit that line; whether the frame
// is complete must be clear from its data. After the last frame, Next returns the error of the source.
func (r *Reader) Next() (Frame, error) {
	if r.ready {
		r.ready = false
		return r.next, nil
	}
	for {
		if f, ok := r.split(); ok {
			return f, nil
		}
		if r.err != nil {
			return r.last()
		}
		r.fill()
	}
}

// Buffered reports whether a whole frame is in the buffer, so that Next does not wait for the source.
func (r *Reader) Buffered() bool {
	if !r.ready {
		r.next, r.ready = r.split()
	}
	return r.ready
}

// Ahead returns the received bytes from the beginning of the next frame on, for callers that know how that frame looks. It is empty in
// the middle of a frame, and where the source may use other ends of lines than LF. The bytes stay valid until the next call of a method.
func (r *Reader) Ahead() []byte {
	if r.ready && !r.skipLF {
		r.ready = false
		r.start = r.scan - len(r.next.Raw)
		r.scan, r.line = r.start, r.start
	}
	if r.ready || r.skipLF || !r.begun || r.fields > 0 || r.scan != r.start {
		return nil
	}
	return r.buf[r.start:r.end]
}

// Skip passes over the first n bytes of Ahead, which must be whole frames.
func (r *Reader) Skip(n int) {
	r.start += n
	r.scan, r.line = r.start, r.start
}

// split looks for the end of the frame in the bytes read so far. It scans each byte only once.
func (r *Reader) split() (Frame, bool) {
	for r.scan < r.end {
		if r.skipLF {
			r.skipLF = false
			if r.buf[r.scan] == '\n' {
				r.passLF()
				continue
			}
		}
		i := lineEnd(r.buf[r.scan:r.end])
		if i < 0 {
			r.scan = r.end
			break
		}
		from, to, next := r.line, r.scan+i, r.scan+i+1
		if r.buf[to] == '\r' {
			if next == r.end {
				r.skipLF = true // the other half of a CRLF may still be on its way
			} else if r.buf[next] == '\n' {
				next++
			}
		}
		r.scan, r.line = next, next
		if f, ok := r.take(from, to); ok {
			return f, true
		}
	}
	return Frame{}, false
}

func (r *Reader) passLF() {
	if r.start == r.scan {
		r.start++
	}
	r.scan++
	r.line = r.scan
}

// take adds the line buf[from:to] to the frame and returns the frame when the line ended it.
func (r *Reader) take(from, to int) (Frame, bool) {
	if !r.begun {
		r.begun = true
		if bytes.HasPrefix(r.buf[from:to], []byte(byteOrderMark)) {
			from += len(byteOrderMark)
			r.start = from
		}
	}
	switch {
	case from < to && r.buf[from] == ':':
		if r.fields > 0 {
			return Frame{}, false
		}
		return r.emit(), true // a comment before any field: a sign of life, and nothing to keep
	case from < to:
		r.field(from, to)
		return Frame{}, false
	case r.fields == 0:
		r.start = r.scan
		return Frame{}, false
	default:
		return r.emit(), true
	}
}

func (r *Reader) emit() Frame {
	f := Frame{Raw: r.buf[r.start:r.scan]}
	if r.lines == 1 {
		f.Data = f.Raw[r.data.from:r.data.to]
	} else if r.lines > 1 {
		f.Data = r.joined
	}
	if r.event.to > 0 {
		f.Event = f.Raw[r.event.from:r.event.to]
	}
	r.start, r.data, r.event, r.lines, r.fields, r.bare = r.scan, span{}, span{}, 0, 0, false
	return f
}

// field notes the position of the value of a data or event line. Other fields are only in Raw. A frame that begins with a brace or a
// bracket is JSON without field names, in which some providers send an error in the middle of a stream.
func (r *Reader) field(from, to int) {
	if r.fields == 0 {
		r.bare = r.buf[from] == '{' || r.buf[from] == '['
	}
	r.fields++
	name, value := r.buf[from:to], to
	if r.bare {
		name, value = dataName, from
	} else if i := bytes.IndexByte(name, ':'); i >= 0 {
		name, value = name[:i], from+i+1
		if value < to && r.buf[value] == ' ' {
			value++
		}
	}
	switch string(name) {
	case "event":
		r.event = span{value - r.start, to - r.start}
	case "data":
		r.lines++
		if r.lines == 1 {
			r.data = span{value - r.start, to - r.start}
			return
		}
		if r.lines == 2 {
			r.joined = append(r.joined[:0], r.buf[r.start+r.data.from:r.start+r.data.to]...)
		}
		r.joined = append(append(r.joined, '\n'), r.buf[value:to]...)
	}
}

// last returns the frame that is in the buffer after the source ended, if any, and then the error.
func (r *Reader) last() (Frame, error) {
	if errors.Is(r.err, io.EOF) && r.line < r.end {
		from := r.line
		r.scan, r.line = r.end, r.end
		if f, ok := r.take(from, r.end); ok {
			return f, nil
		}
	}
	if errors.Is(r.err, io.EOF) && r.lines > 0 {
		return r.emit(), nil
	}
	return Frame{}, r.err
}

// fill makes room in the buffer and reads once from the source.
func (r *Reader) fill() {
	if r.start > 0 {
		r.compact()
	}
	if r.end == len(r.buf) && !r.grow() {
		return
	}
	for range emptyReadsMax {
		room := len(r.buf) - r.end
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			if r.full++; n < room {
				r.full = 0
			}
			return
		}
	}
	r.err = io.ErrNoProgress
}

// compact moves the unread bytes to the front of a buffer of the right size. The buffer is large during a burst, so that it takes few
// reads, and small while the reader waits for the source. It grows in two steps, since a stream that was late once waits again at once.
func (r *Reader) compact() {
	rest, size := r.buf[r.start:r.end], bufferBytes
	switch {
	case r.full == 1:
		size = fullBytes
	case r.full > 1:
		size = burstBytes
	}
	if to := r.sized(size, len(rest)); to != nil {
		copy(to, rest)
		r.dropBuffer()
		r.buf = to
	} else {
		copy(r.buf, rest)
	}
	r.scan, r.line, r.end, r.start = r.scan-r.start, r.line-r.start, len(rest), 0
}

// sized returns a new buffer of a size, or nil when the present one must stay: it has that size already, the unread bytes would fill
// the new one, or the budget is used up.
func (r *Reader) sized(size, rest int) []byte {
	switch {
	case len(r.buf) == size || rest >= size:
		return nil
	case size == bufferBytes:
		return newBuffer()
	}
	return r.newBuffer(size)
}

func (r *Reader) grow() bool {
	size := max(2*len(r.buf), fullBytes)
	if len(r.buf) >= FrameBytesMax {
		r.err = ErrTooLarge
		return false
	}
	large := r.newBuffer(size)
	if large == nil {
		r.err = ErrBudget
		return false
	}
	copy(large, r.buf[:r.end])
	r.dropBuffer()
	r.buf = large
	return true
}

// lineEnd is the index of the first CR or LF, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}
