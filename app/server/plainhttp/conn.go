package plainhttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"umg/app/nonblock"
)

const (
	inBytes        = 4 << 10
	discardedMax   = 256 << 10              // So much of a body that no one has read is read before the answer, as in net/http.
	resetAvoidance = 500 * time.Millisecond // A connection whose request was not read is kept so long after its answer, as in net/http.
)

// The states of a connection.
const (
	stateIdle   = iota // No byte of a request has come.
	stateActive        // A request is being served.
	stateClosed        // Shutdown has closed the connection.
)

type block [inBytes]byte

var blocks = sync.Pool{New: func() any { return new(block) }}

// conn is a connection with the memory of its requests.
type conn struct {
	server *Server
	rwc    net.Conn
	socket *nonblock.Conn // Socket reads and writes rwc.
	cancel context.CancelFunc
	state  atomic.Int32

	in   *block // In has the received bytes from r to w; nil while there are none.
	r, w int

	request  *http.Request
	url      url.URL
	head     head
	body     body
	response response
	watch    watch
}

func newConn(s *Server, rwc net.Conn) *conn {
	c := &conn{server: s, rwc: rwc, socket: nonblock.New(rwc)}
	ctx, cancel := context.WithCancel(s.base)
	c.cancel = cancel
	c.request = (&http.Request{
		Method: http.MethodPost, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RemoteAddr: rwc.RemoteAddr().String(),
	}).WithContext(ctx)
	c.body.conn, c.response.conn, c.watch.conn = c, c, c
	c.watch.ended.L = &c.watch.mu
	c.response.header = make(http.Header, 16)
	return c
}

// serve serves the requests of the connection until it ends or net/http gets it.
func (c *conn) serve() {
	patience := c.server.main.ReadHeaderTimeout
	for c.receive(patience) && c.state.CompareAndSwap(stateIdle, stateActive) {
		if !c.head.parse(c.in[c.r:c.w], c.server.paths) {
			c.handOver()
			return
		}
		if !c.exchange() || c.server.closing.Load() {
			break
		}
		c.state.Store(stateIdle)
		patience = c.server.main.IdleTimeout
	}
	_ = c.rwc.Close()
	c.release()
}

// release gives up what the connection has here.
func (c *conn) release() {
	c.server.forget(c)
	c.cancel()
	c.dropInput()
}

// receive waits for the first bytes of a request. It reports false at the end of the connection.
func (c *conn) receive(patience time.Duration) bool {
	if c.r < c.w {
		return true
	}
	var deadline time.Time
	if patience > 0 {
		deadline = time.Now().Add(patience)
	}
	_ = c.rwc.SetReadDeadline(deadline)
	c.in, _ = blocks.Get().(*block)
	c.r, c.w = 0, 0
	if c.watch.hasByte {
		c.in[0], c.w, c.watch.hasByte = c.watch.one[0], 1, false
	}
	n, err := c.socket.Read(c.in[c.w:])
	c.w += n
	return n > 0 || err == nil
}

func (c *conn) dropInput() {
	if c.in != nil {
		blocks.Put(c.in)
	}
	c.in, c.r, c.w = nil, 0, 0
}

// handOver gives the connection to net/http with all bytes of the request.
func (c *conn) handOver() {
	_ = c.rwc.SetReadDeadline(time.Time{})
	read := append([]byte(nil), c.in[c.r:c.w]...)
	c.release()
	c.server.others.give(&replayed{Conn: c.rwc, read: read})
}

// exchange serves one request. It reports whether the connection can carry another one.
func (c *conn) exchange() (reusable bool) {
	h := &c.head
	c.r += h.size
	c.url = url.URL{Path: h.path, RawQuery: h.query}
	r := c.request
	r.Header, r.Host, r.ContentLength, r.RequestURI = h.header, h.host, h.length, h.path
	if h.query != "" {
		r.RequestURI += "?" + h.query
	}
	r.URL, r.Body = &c.url, &c.body
	c.body.begin(h.length)
	c.response.begin()
	if !c.handle(r) {
		return false
	}
	whole := c.response.finish()
	c.watch.stop()
	left := c.watch.clientLeft()
	h.release()
	c.url, r.Host, r.RequestURI = url.URL{}, "", ""
	if whole && !left {
		return true
	}
	if half, ok := c.rwc.(interface{ CloseWrite() error }); ok && c.body.left > 0 && half.CloseWrite() == nil {
		time.Sleep(resetAvoidance)
	}
	return false
}

// handle runs the handler. It reports false when the handler has panicked.
func (c *conn) handle(r *http.Request) (ok bool) {
	defer func() {
		if ok {
			return
		}
		p := recover()
		c.watch.stop()
		if err, isError := p.(error); !isError || !errors.Is(err, http.ErrAbortHandler) {
			c.server.logf("http: panic serving %s: %v\n%s", r.RemoteAddr, p, debug.Stack())
		}
	}()
	c.server.main.Handler.ServeHTTP(&c.response, r)
	return true
}

// body is the body of a request, of a known length.
type body struct {
	conn   *conn
	left   int64 // Left is how much of it was not read.
	closed bool
}

func (b *body) begin(length int64) { b.left, b.closed = length, false }

// Read reads the body. It returns io.EOF with the last bytes.
func (b *body) Read(p []byte) (int, error) {
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	return b.read(p)
}

func (b *body) read(p []byte) (n int, err error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	c := b.conn
	if c.r < c.w {
		n = copy(p, c.in[c.r:c.w])
		c.r += n
	} else {
		c.dropInput()
		n, err = c.socket.Read(p)
	}
	b.left -= int64(n)
	switch {
	case b.left == 0:
		if c.r == c.w {
			c.dropInput()
			c.watch.begin()
		}
		return n, io.EOF
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close ends the reading by the handler.
func (b *body) Close() error {
	b.closed = true
	return nil
}

// discard reads the rest of a body that no one has read. It reports whether that was all of it.
func (b *body) discard() bool {
	if b.left > discardedMax {
		return false
	}
	if b.left > 0 {
		_, _ = io.Copy(io.Discard, unread{b})
	}
	return b.left == 0
}

// unread reads a body that may be closed.
type unread struct{ *body }

// Read reads the body.
func (u unread) Read(p []byte) (int, error) { return u.read(p) }
