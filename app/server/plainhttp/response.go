package plainhttp

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
)

const (
	pendingBytesMax = 4 << 10  // More bytes of a body are sent without a Flush.
	joinedBytesMax  = 16 << 10 // A larger part of a body is sent without a copy.
	keptBytesMax    = 64 << 10 // A larger buffer is not used again.
)

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, pendingBytesMax); return &b }}

// putBuffer gives a buffer up, if there is one.
func putBuffer(from **[]byte) {
	if b := *from; b != nil && cap(*b) <= keptBytesMax {
		*b = (*b)[:0]
		buffers.Put(b)
	}
	*from = nil
}

// response is the writer of an answer.
type response struct {
	conn   *conn
	header http.Header
	names  []string // Names are those of the header in order.

	// Date is the date of a second since 1970, which many answers of a connection share.
	date       []byte
	dateSecond int64

	responseState
}

// responseState is the part of a response that belongs to one request.
type responseState struct {
	head       *[]byte // Head has the status and the header until they are sent.
	pending    *[]byte // Pending has bytes of the body that were not sent; nil when there are none.
	status     int     // Status is zero before WriteHeader.
	declared   int64   // Declared is the length that the header says; -1 for none.
	written    int64
	chunked    bool
	untyped    bool // Untyped means that the header says nothing of the type of the body.
	mustClose  bool // MustClose means that no other request can follow.
	ended      bool // Ended means that the end of the answer was sent.
	writeTimed bool // The connection has a deadline for writing.
	err        error
}

func (w *response) begin() {
	w.responseState = responseState{declared: -1}
	clear(w.header)
}

// Header is the header of the answer.
func (w *response) Header() http.Header { return w.header }

// WriteHeader begins the answer. The header is encoded now, because its values may change later, and is sent with the first bytes of the
// body.
func (w *response) WriteHeader(status int) {
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status = status
	if text := w.header.Get("Content-Length"); text != "" {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
			w.declared = n
		} else {
			w.header.Del("Content-Length")
		}
	}
	w.head, _ = buffers.Get().(*[]byte)
	*w.head = w.appendHeader(*w.head)
}

// Write writes a part of the body.
func (w *response) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	switch {
	case w.err != nil:
		return 0, w.err
	case w.ended:
		return 0, errEnded
	case len(p) == 0:
		return 0, nil
	case !hasBody(w.status):
		return 0, http.ErrBodyNotAllowed
	}
	if w.written += int64(len(p)); w.declared >= 0 && w.written > w.declared {
		return 0, http.ErrContentLength
	}
	if w.pending == nil {
		w.pending, _ = buffers.Get().(*[]byte)
	}
	if len(*w.pending)+len(p) <= pendingBytesMax {
		*w.pending = append(*w.pending, p...)
		return len(p), nil
	}
	if err := w.send(p, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// FlushError sends what was written.
func (w *response) FlushError() error {
	w.WriteHeader(http.StatusOK)
	if w.err != nil || w.head == nil && w.pending == nil {
		return w.err
	}
	return w.send(nil, false)
}

// End sends what was written together with the end of the answer. Nothing can be written after it.
func (w *response) End() error {
	w.WriteHeader(http.StatusOK)
	if w.err == nil && !w.ended && (w.head != nil || w.pending != nil || w.chunked) {
		w.ended = true
		return w.send(nil, true)
	}
	return w.err
}

// errEnded is the error of a write after End.
var errEnded = errors.New("plainhttp: the answer has ended")

// Flush sends what was written.
func (w *response) Flush() { _ = w.FlushError() }

// SetReadDeadline sets the deadline for reading the body.
func (w *response) SetReadDeadline(at time.Time) error { return w.conn.rwc.SetReadDeadline(at) }

// SetWriteDeadline sets the deadline for writing the answer.
func (w *response) SetWriteDeadline(at time.Time) error {
	w.writeTimed = !at.IsZero()
	return w.conn.rwc.SetWriteDeadline(at)
}

// finish ends the answer. It reports whether another request can follow.
func (w *response) finish() bool {
	_ = w.End()
	putBuffer(&w.pending)
	putBuffer(&w.head)
	if w.writeTimed {
		_ = w.conn.rwc.SetWriteDeadline(time.Time{})
	}
	short := w.declared >= 0 && w.written < w.declared && hasBody(w.status)
	return w.err == nil && !w.mustClose && !short
}

// hasBody reports whether answers of a status have a body.
func hasBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// send sends the pending bytes and more in one call. Final is set with the last bytes of the answer.
func (w *response) send(more []byte, final bool) error {
	var pending []byte
	if w.pending != nil {
		pending = *w.pending
	}
	buffer, n := w.head, len(pending)+len(more)
	if buffer == nil {
		buffer, _ = buffers.Get().(*[]byte)
	}
	defer putBuffer(&buffer)
	b := *buffer
	if w.head != nil {
		w.head = nil
		b = w.appendFraming(b, pending, more, final)
	}
	tail := ""
	if w.chunked {
		if n > 0 {
			b = append(strconv.AppendInt(b, int64(n), 16), "\r\n"...)
			tail = "\r\n"
		}
		if final {
			tail += "0\r\n\r\n"
		}
	}
	b = append(b, pending...)
	if len(more) <= joinedBytesMax {
		b = append(append(b, more...), tail...)
		_, w.err = w.conn.socket.Write(b)
	} else {
		parts := net.Buffers{b, more, []byte(tail)}
		_, w.err = parts.WriteTo(w.conn.rwc)
	}
	*buffer = b
	putBuffer(&w.pending)
	if w.err != nil {
		w.conn.cancel() // The client has left.
	}
	return w.err
}

// appendHeader appends the status and the header, as net/http writes them.
func (w *response) appendHeader(b []byte) []byte {
	h := w.header
	b = append(strconv.AppendInt(append(b, "HTTP/1.1 "...), int64(w.status), 10), ' ')
	b = append(append(b, http.StatusText(w.status)...), "\r\n"...)
	w.names = w.names[:0]
	for name := range h {
		w.names = append(w.names, name)
	}
	slices.Sort(w.names)
	for _, name := range w.names {
		switch name {
		case "Connection":
			w.mustClose = w.mustClose || httpguts.HeaderValuesContainsToken(h[name], "close")
			continue
		case "Transfer-Encoding":
			continue
		case "Content-Length":
			if !hasBody(w.status) {
				continue
			}
		}
		for _, value := range h[name] {
			b = append(append(append(b, name...), ": "...), clean(value)...)
			b = append(b, "\r\n"...)
		}
	}
	clear(w.names)
	if h["Date"] == nil {
		now := time.Now()
		if second := now.Unix(); second != w.dateSecond {
			w.dateSecond, w.date = second, now.UTC().AppendFormat(w.date[:0], http.TimeFormat)
		}
		b = append(append(append(b, "Date: "...), w.date...), "\r\n"...)
	}
	w.untyped = h["Content-Type"] == nil && h.Get("Content-Encoding") == ""
	return b
}

// appendFraming appends the end of the head, after the rest of the request was read. The body begins with the pending bytes and more, and
// ends with them when final is set.
func (w *response) appendFraming(b, pending, more []byte, final bool) []byte {
	n := len(pending) + len(more)
	if w.untyped && n > 0 {
		first := pending
		if len(pending) == 0 {
			first = more
		}
		b = append(append(append(b, "Content-Type: "...), http.DetectContentType(first)...), "\r\n"...)
	}
	switch {
	case !hasBody(w.status) || w.declared >= 0:
	case final:
		b = append(strconv.AppendInt(append(b, "Content-Length: "...), int64(n), 10), "\r\n"...)
	default:
		w.chunked = true
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	if !w.conn.body.discard() || w.conn.server.closing.Load() {
		w.mustClose = true
	}
	if w.mustClose {
		b = append(b, "Connection: close\r\n"...)
	}
	return append(b, "\r\n"...)
}

var newlines = strings.NewReplacer("\n", " ", "\r", " ")

// clean returns a value without what would end its line.
func clean(value string) string {
	if strings.IndexByte(value, '\n') >= 0 || strings.IndexByte(value, '\r') >= 0 {
		value = newlines.Replace(value)
	}
	return strings.Trim(value, " \t")
}
