package postgres

import (
	"context"
	"net"
	"time"
)

// answerSlack is how much longer than the store's own limit we wait for its answer.
const answerSlack = 300 * time.Millisecond

// boundedDialer makes connections whose every read ends in time. The driver waits for the answer to a query and to its
// cancellation without a limit, so a store that is frozen, or a network that swallows packets, would hold its callers
// forever. Idle connections of a pool are not read from, so the limit is that of one answer.
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
	return boundedConn{conn, d.limit}, nil
}

type boundedConn struct {
	net.Conn

	limit time.Duration
}

// Read waits at most the limit for the next bytes.
func (c boundedConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write waits at most the limit for the network to take the bytes.
func (c boundedConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(c.limit)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
