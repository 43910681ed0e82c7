package postgres

import (
	"context"
	"database/sql/driver"
	"net"
	"time"

	"umg/app/nonblock"
)

// answerSlack is how much longer than the database's own limit a client waits for its answer.
const answerSlack = 300 * time.Millisecond

// boundedDialer makes connections whose every read has a deadline. The driver waits for the answer to a query, and to its
// cancellation, without a limit. A frozen database or a network that loses packets would block callers forever. The pool does
// not read from idle connections, so the limit applies to one answer.
type boundedDialer struct {
	net.Dialer

	limit time.Duration
}

// Dial is for a driver that knows no context.
func (d boundedDialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout is for a driver that knows no context.
func (d boundedDialer) DialTimeout(network, address string, limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// DialContext connects.
func (d boundedDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	bounded := &boundedConn{Conn: nonblock.New(conn), limit: d.limit}
	if g, ok := ctx.Value(greetingKey{}).(*greeting); ok {
		bounded.until, _ = ctx.Deadline()
		g.conn = bounded
	}
	return bounded, nil
}

type boundedConn struct {
	net.Conn

	limit time.Duration
	until time.Time // While the server greets, this is the deadline of the caller of Connect; zero means none.
}

// deadline is when a read or write that begins now must have ended.
func (c *boundedConn) deadline() time.Time {
	end := time.Now().Add(c.limit)
	if !c.until.IsZero() && c.until.Before(end) {
		return c.until
	}
	return end
}

// boundedConnector abandons a connection whose server does not complete the handshake before the context ends. The driver itself
// checks the context only while it dials.
type boundedConnector struct{ driver.Connector }

type greetingKey struct{}

// greeting carries the connection that the driver dials during one Connect.
type greeting struct{ conn *boundedConn }

// Connect connects within the time that ctx has.
func (c boundedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	g := &greeting{}
	conn, err := c.Connector.Connect(context.WithValue(ctx, greetingKey{}, g))
	if g.conn != nil {
		g.conn.until = time.Time{} // The connection now serves other callers.
	}
	return conn, err
}

// Read waits at most the limit for the next bytes.
func (c *boundedConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(c.deadline()); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write waits at most the limit for the network to take the bytes.
func (c *boundedConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(c.deadline()); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
