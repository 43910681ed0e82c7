package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"

	"umg/app"
)

// These limits apply to a listener. It reconnects quickly, because the caches of keys and of the catalog are stale until then.
const (
	notificationsMax = 1024
	listenPingEvery  = 5 * time.Second
	listenAnswerMax  = 2 * time.Second
	reconnectMin     = 50 * time.Millisecond
	reconnectMax     = 2 * time.Second
)

// Handler receives what a listener learns. Both functions are called from one goroutine, one after the other.
type Handler struct {
	Notify func(channel, payload string) // An empty payload means that anything may have changed.
	Lost   func(err error)               // The connection is lost, and the next Notify has an empty payload.
}

// Listen wakes a worker at every notification on a channel until ctx ends, and returns ctx's error. It also does so after each connect,
// since what happened before is unknown.
func Listen(ctx context.Context, dsn, channel string, worker chan<- struct{}) error {
	return Follow(ctx, dsn, []string{channel}, Handler{Notify: func(string, string) { app.Wake(worker) }, Lost: func(error) {}})
}

// Follow calls the handler for every notification on the channels until ctx ends, and returns ctx's error. After each connect it first
// calls Notify with an empty payload for every channel.
func Follow(ctx context.Context, dsn string, channels []string, h Handler) error {
	dsn = withConnectTimeout(dsn, connectMax)
	wait := reconnectMin
	for {
		heard, err := followOnce(ctx, dsn, channels, h)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		h.Lost(err)
		if heard {
			wait = reconnectMin
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		wait = min(2*wait, reconnectMax)
	}
}

// followOnce serves one connection until it breaks, and reports whether it ever worked.
func followOnce(ctx context.Context, dsn string, channels []string, h Handler) (heard bool, err error) {
	incoming := make(chan *pq.Notification, notificationsMax)
	conn, err := pq.NewListenerConn(dsn, incoming)
	if err != nil {
		return false, fmt.Errorf("postgres: listen: %w", err)
	}
	defer func() {
		_ = conn.Close()
		for range incoming { // The connection's reader may be blocked on a full channel.
		}
	}()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if err := bounded(conn, func() error { return subscribe(conn, channels) }); err != nil {
		return false, fmt.Errorf("postgres: listen: %w", err)
	}
	for _, channel := range channels {
		h.Notify(channel, "")
	}
	tick := time.NewTicker(listenPingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return true, ctx.Err()
		case n, open := <-incoming:
			if !open {
				return true, fmt.Errorf("postgres: listen: %w", cmp.Or(conn.Err(), errors.New("connection lost")))
			}
			h.Notify(n.Channel, n.Extra)
		case <-tick.C:
			if err := bounded(conn, func() error { return ping(conn) }); err != nil {
				return true, fmt.Errorf("postgres: listen: ping: %w", err)
			}
		}
	}
}

// subscribe opens the channels one by one, as the listener of lib/pq cannot follow several statements in one message.
func subscribe(conn *pq.ListenerConn, channels []string) error {
	for _, channel := range channels {
		if _, err := conn.Listen(channel); err != nil {
			return err
		}
	}
	return nil
}

func ping(conn *pq.ListenerConn) error {
	_, err := conn.ExecSimpleQuery("")
	return err
}

// bounded closes the connection when do takes longer than listenAnswerMax, which makes do return. Otherwise a network
// that loses packets would look like a database without notifications.
func bounded(conn *pq.ListenerConn, do func() error) error {
	timer := time.AfterFunc(listenAnswerMax, func() { _ = conn.Close() })
	defer timer.Stop()
	return do()
}
