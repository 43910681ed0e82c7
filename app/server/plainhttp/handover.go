package plainhttp

import (
	"io"
	"net"
	"sync"
)

// handover is a listener of connections that net/http serves.
type handover struct {
	address net.Addr
	conns   chan net.Conn
	ended   chan struct{}
	close   sync.Once
}

func (h *handover) begin(address net.Addr) {
	h.address, h.conns, h.ended = address, make(chan net.Conn), make(chan struct{})
}

// give gives a connection to net/http. It closes the connection when the server ends.
func (h *handover) give(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.ended:
		_ = c.Close()
	}
}

// Accept waits for a connection.
func (h *handover) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.ended:
		return nil, net.ErrClosed
	}
}

// Close ends the listener.
func (h *handover) Close() error {
	h.close.Do(func() { close(h.ended) })
	return nil
}

// Addr is the address of the real listener.
func (h *handover) Addr() net.Addr { return h.address }

// replayed is a connection of which some bytes were read already.
type replayed struct {
	net.Conn

	read []byte // Read are the bytes that come first.
}

// Read reads the bytes that came first, and then those of the connection.
func (c *replayed) Read(p []byte) (int, error) {
	if len(c.read) > 0 {
		n := copy(p, c.read)
		c.read = c.read[n:]
		if len(c.read) == 0 {
			c.read = nil
		}
		return n, nil
	}
	return c.Conn.Read(p)
}

// ReadFrom sends what a reader has, of files without a copy where the system can.
func (c *replayed) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

// CloseWrite ends the sending.
func (c *replayed) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
