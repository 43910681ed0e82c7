package http1

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// informationalMax bounds the answers with a status below 200 that come before the answer itself.
	informationalMax = 16

	// lateWriteMax is how long a request may be written after its answer was read. net/http waits as long.
	lateWriteMax = 50 * time.Millisecond
)

// Exchange is one request with its answer, and the body of the answer. Its memory may be used for one exchange after the other. The zero
// value is ready for Do.
type Exchange struct {
	written atomic.Bool // All of the request was written.
	header  headerMemory
	onEnd   func() // OnEnd is interrupt, which is made once.

	mu sync.Mutex
	exchange
}

// exchange is the part of an Exchange that belongs to one request.
type exchange struct {
	transport *Transport
	conn      *conn
	ctx       context.Context //nolint:containedctx // Its end ends the exchange.
	trace     *httptrace.ClientTrace
	stop      func() bool // Stop ends the watch over the context; nil when the context cannot end.
	request   outgoing
	response  http.Response
	framing   framing
	mustClose bool
	reused    bool // The connection has carried other requests before.
	answered  bool // A byte of the answer has come.

	// Mu guards what follows.

	reading     bool // A Read goes on, and ends the exchange when it was closed during it.
	closed      bool
	finished    bool // The exchange has given up its connection.
	writing     bool // A goroutine writes the request.
	interrupted bool // A goroutine may still run interrupt.
	writeErr    error
	err         error // Err is what Read returns from now on.
}

// Response is the answer. Its header is good until the exchange is used again.
func (x *Exchange) Response() *http.Response { return &x.response }

// WasReused reports whether the connection had carried other requests.
func (x *Exchange) WasReused() bool { return x.reused }

// WasAnswered reports whether a byte of the answer has come.
func (x *Exchange) WasAnswered() bool { return x.answered }

// WasWritten reports whether all of the request was written to a connection.
func (x *Exchange) WasWritten() bool { return x.written.Load() }

// Release lets go of an ended exchange, whose memory can then be used again. It reports false while something of it goes on.
func (x *Exchange) Release() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.writing || x.interrupted || x.reading || x.conn != nil && !x.finished {
		return false
	}
	x.exchange = exchange{}
	x.written.Store(false)
	x.header.clear()
	return true
}

// watch ends the reads and writes of the exchange when the context ends.
func (x *Exchange) watch() {
	if x.ctx.Done() != nil {
		if x.onEnd == nil {
			x.onEnd = x.interrupt
		}
		x.stop = context.AfterFunc(x.ctx, x.onEnd)
	}
}

// interrupt ends the reads and writes of the exchange.
func (x *Exchange) interrupt() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.finished {
		x.conn.socket.abort()
	}
}

// finish gives the connection back, for another request when it can carry one. The caller holds the lock.
func (x *Exchange) finish(whole bool) {
	if x.finished {
		return
	}
	x.finished = true
	if x.stop != nil && !x.stop() {
		whole, x.interrupted = false, true // The deadline of the connection may be past.
	}
	c := x.conn
	switch {
	case !whole || x.mustClose || x.writeErr != nil || c.in.len() > 0:
		c.close()
		c.drop()
	case x.writing: // The writer gives the connection back.
		_ = c.socket.SetWriteDeadline(time.Now().Add(lateWriteMax))
		x.conn = nil
	default:
		x.transport.putIdle(c)
	}
}

// wrote ends the goroutine that writes the request.
func (x *Exchange) wrote(c *conn, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.writing, x.writeErr = false, err
	switch {
	case !x.finished && err != nil && !isNetworkError(err):
		c.socket.abort() // Otherwise the reader goes on, because the server may have answered before it ended the connection.
	case x.finished && x.conn == nil && err != nil:
		c.close()
		c.drop()
	case x.finished && x.conn == nil:
		_ = c.socket.SetWriteDeadline(time.Time{})
		x.transport.putIdle(c)
	}
}

// run sends the request and reads the head of the answer. The caller ends the exchange when it fails.
func (x *Exchange) run(r *http.Request) error {
	x.watch()
	writeErr := x.send(r)
	if writeErr != nil && (x.ctx.Err() != nil || !isNetworkError(writeErr) || x.conn.socket.sent.Load() == x.request.sentBefore) {
		return writeErr
	}
	if writeErr != nil {
		x.mustClose = true // The server may have answered before it has closed the connection.
	}
	err := x.readHead(r)
	if err == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case writeErr != nil:
		return writeErr
	case x.writeErr != nil:
		return x.writeErr
	}
	return err
}

// send writes the request: at once when it is short, and in a goroutine when the server may answer before it has taken all of it.
func (x *Exchange) send(r *http.Request) error {
	q := &x.request
	if q.length <= inlineBytesMax {
		err := q.write(x.conn, r)
		x.reportWritten(err)
		return err
	}
	x.writing = true
	c := x.conn
	// goroutine: the exchange owns it, and it ends with the request or the connection.
	go func() {
		err := q.write(c, r)
		x.reportWritten(err)
		x.wrote(c, err)
	}()
	return nil
}

func (x *Exchange) reportWritten(err error) {
	x.written.Store(err == nil)
	if x.trace != nil && x.trace.WroteRequest != nil {
		x.trace.WroteRequest(httptrace.WroteRequestInfo{Err: err})
	}
}

// readHead reads the head of the answer, after any informational ones.
func (x *Exchange) readHead(r *http.Request) error {
	left := x.transport.options.HeadBytesMax
	for range informationalMax {
		h, err := x.nextHead(&left)
		if err != nil {
			return err
		}
		switch {
		case h.status == http.StatusSwitchingProtocols:
			return malformed("the protocol was switched without a request for it")
		case h.status >= 200:
			x.accept(r, &h)
			return nil
		}
		if x.trace != nil && x.trace.Got1xxResponse != nil {
			if err := x.trace.Got1xxResponse(h.status, textproto.MIMEHeader(h.header)); err != nil {
				return err
			}
		}
	}
	return malformed("there are too many informational answers")
}

// nextHead reads one head of at most left bytes.
func (x *Exchange) nextHead(left *int) (head, error) {
	in := x.conn.in
	for from := 0; ; {
		length, next, err := headEnd(in.bytes(), from)
		switch {
		case err != nil:
			return head{}, err
		case length > *left || length == 0 && in.len() > *left:
			return head{}, fmt.Errorf("%w of %d bytes", errHeadTooLarge, x.transport.options.HeadBytesMax)
		case length > 0:
			h, err := parseHead(in.bytes()[:length], &x.header)
			*left -= length
			in.consume(length)
			return h, err
		}
		from = next
		if err := x.conn.fill(); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return head{}, &readError{err}
		}
		if !x.answered && in.len() > 0 {
			x.answered = true
			if x.trace != nil && x.trace.GotFirstResponseByte != nil {
				x.trace.GotFirstResponseByte()
			}
		}
	}
}

// readError is a failure of the connection before the head of an answer was whole.
type readError struct{ cause error }

func (e *readError) Error() string {
	return "http1: the connection ended before the answer: " + e.cause.Error()
}
func (e *readError) Unwrap() error { return e.cause }

// chunkedEncoding has no room for a second value, so that to add one makes a copy.
var chunkedEncoding = []string{"chunked"}

// accept makes the response of a head.
func (x *Exchange) accept(r *http.Request, h *head) {
	p := &x.response
	*p = http.Response{
		Status: h.text, StatusCode: h.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: h.minor, Header: h.header,
		Body: x, Request: r,
	}
	if h.minor == 0 {
		p.Proto = "HTTP/1.0"
	}
	if h.chunked {
		p.TransferEncoding = chunkedEncoding
	}
	x.mustClose = x.mustClose || h.mustClose || r.Close || x.transport.options.DisableKeepAlives
	switch {
	case r.Method == http.MethodHead || h.status == http.StatusNoContent || h.status == http.StatusNotModified:
		if r.Method == http.MethodHead {
			p.ContentLength = h.length
		}
	case h.chunked:
		if h.length >= 0 { // Both framings at once may be an attack on the next reader, so the connection ends.
			x.mustClose = true
			delete(p.Header, "Content-Length")
		}
		p.ContentLength = -1
		x.framing = framing{kind: chunked}
	case h.length >= 0:
		p.ContentLength = h.length
		x.framing = framing{kind: counted, left: h.length}
	default:
		p.ContentLength = -1
		x.mustClose = true
		x.framing = framing{kind: untilClose}
	}
	p.Close = h.mustClose || x.framing.kind == untilClose
	if x.framing.kind == none || x.framing.kind == counted && x.framing.left == 0 {
		p.Body = http.NoBody
		x.mu.Lock()
		x.finish(true)
		x.mu.Unlock()
	}
}
