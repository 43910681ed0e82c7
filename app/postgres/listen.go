package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
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

// Notification is what a listener learns. An empty payload means that anything may have changed.
type Notification struct{ Channel, Payload string }

// ListenToWake wakes a worker at every notification on a channel until ctx ends. It also does so after each connect, since what happened
// before is unknown.
func ListenToWake(ctx context.Context, dsn, channel string, worker chan<- struct{}) {
	for _, lost := range Listen(ctx, dsn, channel) {
		if lost == nil {
			app.Wake(worker)
		}
	}
}

// Listen returns the notifications on the channels until ctx ends. After each connect there is first one with an empty payload for every
// channel, since what happened before is unknown. An error comes without a notification: the connection is lost and will be made again.
func Listen(ctx context.Context, dsn string, channels ...string) iter.Seq2[Notification, error] {
	dsn = withConnectTimeout(dsn, connectMax)
	return func(yield func(Notification, error) bool) {
		for wait := reconnectMin; ; wait = min(2*wait, reconnectMax) {
			for n, err := range connection(ctx, dsn, channels) {
				if ctx.Err() != nil || !yield(n, err) {
					return
				}
				if err == nil {
					wait = reconnectMin
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
		}
	}
}

// connection returns the notifications of one connection, and last why it is lost.
func connection(ctx context.Context, dsn string, channels []string) iter.Seq2[Notification, error] {
	return func(yield func(Notification, error) bool) {
		incoming := make(chan *pq.Notification, notificationsMax)
		conn, err := pq.NewListenerConn(dsn, incoming)
		if err != nil {
			yield(Notification{}, fmt.Errorf("postgres: listen: %w", err))
			return
		}
		defer func() {
			_ = conn.Close()
			for range incoming { // The connection's reader may be blocked on a full channel.
			}
		}()
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		defer stop()
		if err := bounded(conn, func() error { return subscribe(conn, channels) }); err != nil {
			yield(Notification{}, fmt.Errorf("postgres: listen: %w", err))
			return
		}
		for _, channel := range channels {
			if !yield(Notification{Channel: channel}, nil) {
				return
			}
		}
		tick := time.NewTicker(listenPingEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case n, open := <-incoming:
				if !open {
					yield(Notification{}, fmt.Errorf("postgres: listen: %w", cmp.Or(conn.Err(), errors.New("connection lost"))))
					return
				}
				if !yield(Notification{Channel: n.Channel, Payload: n.Extra}, nil) {
					return
				}
			case <-tick.C:
				if err := bounded(conn, func() error { _, err := conn.ExecSimpleQuery(""); return err }); err != nil {
					yield(Notification{}, fmt.Errorf("postgres: listen: ping: %w", err))
					return
				}
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

// bounded closes the connection when do takes longer than listenAnswerMax, which makes do return. Otherwise a network
// that loses packets would look like a database without notifications.
func bounded(conn *pq.ListenerConn, do func() error) error {
	timer := time.AfterFunc(listenAnswerMax, func() { _ = conn.Close() })
	defer timer.Stop()
	return do()
}
