package http1

import (
	"errors"
	"net"
	"time"
)

// conn is a connection over which requests are sent one after another.
type conn struct {
	host   *host
	socket *socket
	stream net.Conn // Stream is the socket, or TLS over it.
	in     *buffer  // In has the received bytes of the stream. Without TLS it is the socket's.
	plain  buffer   // Plain has what TLS has decrypted.

	reused    bool // An earlier request was answered over the connection.
	idleSince time.Time
}

func newConn(s *socket, stream net.Conn) *conn {
	c := &conn{socket: s, stream: stream}
	c.in = &s.in
	if stream != s {
		c.in = &c.plain
	}
	return c
}

// isSecure reports whether the stream is not the socket itself.
func (c *conn) isSecure() bool { return c.in == &c.plain }

// fill waits for bytes of the stream and adds them to the buffer. The end of the stream is io.EOF.
func (c *conn) fill() error {
	if !c.isSecure() {
		return c.socket.receive()
	}
	for {
		n, err := c.stream.Read(c.in.free())
		c.in.w += n
		c.in.release()
		if n > 0 {
			return nil
		}
		if err = c.await(err); err != nil {
			return err
		}
	}
}

// await waits for bytes of the socket when TLS has asked for more. It returns any other error of TLS. An error of the socket is left to
// TLS, which knows whether its stream may end there.
func (c *conn) await(err error) error {
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, errWouldBlock):
		return err
	}
	if err := c.socket.receive(); err != nil && c.socket.failed == nil {
		return err
	}
	return nil
}

// readDirect waits for bytes of the stream and reads them to p. The buffer must be empty.
func (c *conn) readDirect(p []byte) (int, error) {
	if !c.isSecure() {
		return c.socket.readOnce(p, true)
	}
	for {
		n, err := c.stream.Read(p)
		if n > 0 {
			return n, nil
		}
		if err = c.await(err); err != nil {
			return 0, err
		}
	}
}

// isUsable reports whether an idle connection can carry another request: the server has not closed it and has sent nothing. Over TLS,
// messages of the protocol itself may have come.
func (c *conn) isUsable() bool {
	if c.in.len() > 0 {
		return false
	}
	_, err := c.socket.readOnce(nil, false)
	switch {
	case err != nil && !errors.Is(err, errWouldBlock):
		return false
	case c.socket.in.len() == 0:
		return true
	case !c.isSecure():
		return false
	}
	var one [1]byte
	n, err := c.stream.Read(one[:])
	return n == 0 && errors.Is(err, errWouldBlock)
}

// closeIdle closes a connection without a request. TLS says that it ends.
func (c *conn) closeIdle() {
	_ = c.stream.Close()
	c.drop()
}

// close ends the connection at once.
func (c *conn) close() {
	_ = c.socket.Close()
}

// drop gives up the memory of a closed connection.
func (c *conn) drop() {
	for _, b := range []*buffer{&c.plain, &c.socket.in} {
		b.consume(b.len())
		b.release()
	}
}
