package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/lib/pq"

	"umg/app"
)

// These limits apply to a listener. It reconnects quickly, because the caches of keys and of the catalog are stale until then.
const (
	notificationsMax = 1024 // At most this many notifications wait for one consumer.
	listenPingEvery  = 5 * time.Second
	listenAnswerMax  = 2 * time.Second
	reconnectMin     = 50 * time.Millisecond
	reconnectMax     = 2 * time.Second
)

// Notification is what a consumer of a Listener learns. An empty payload means that anything may have changed.
type Notification struct {
	Channel, Payload string
	lost             error
}

// Listener receives notifications for all consumers of a process on one connection, which exists while at least one of them listens.
// A nil Listener, and one without an address, receives nothing.
type Listener struct {
	dsn     string
	mu      sync.Mutex     // mu also guards the consumers.
	session *listenSession // The session is nil while no one listens.
}

// listenSession keeps the connection from the first consumer to the end of the last one.
type listenSession struct {
	*Listener

	consumers []*consumer
	added     chan struct{} // A value means that a consumer may not be subscribed.
	wait      time.Duration // The session waits this long before it connects again.
	end       func()        // It closes the connection and waits until the session has ended.
}

// consumer is one call of Listen.
type consumer struct {
	channels     []string
	queue        chan *Notification
	isSubscribed bool // The connection listens on all of the channels, and the consumer was refreshed since.
}

// NewListener returns a listener at the address of a database.
func NewListener(dsn string) *Listener { return &Listener{dsn: dsn} }

// Wake wakes a worker at every notification on a channel until ctx ends. It also does so after each connect, since what happened
// before is unknown.
func (l *Listener) Wake(ctx context.Context, channel string, worker chan<- struct{}) {
	for _, lost := range l.Listen(ctx, channel) {
		if lost == nil {
			app.Wake(worker)
		}
	}
}

// Listen returns the notifications on the channels until ctx ends. After each connect there is first one with an empty payload for every
// channel, since what happened before is unknown. They also replace everything unread of a consumer that is notificationsMax behind. An
// error comes without a notification: the connection is lost and will be made again.
func (l *Listener) Listen(ctx context.Context, channels ...string) iter.Seq2[Notification, error] {
	return func(yield func(Notification, error) bool) {
		if l == nil || l.dsn == "" || ctx.Err() != nil {
			return
		}
		c := &consumer{channels: channels, queue: make(chan *Notification, notificationsMax)}
		defer l.add(c).remove(c)
		for {
			select {
			case <-ctx.Done():
				return
			case n := <-c.queue:
				if ctx.Err() != nil || !yield(*n, n.lost) {
					return
				}
			}
		}
	}
}

// add adds a consumer to the session. The first one starts it.
func (l *Listener) add(c *consumer) *listenSession {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == nil {
		s := &listenSession{Listener: l, added: make(chan struct{}, 1)}
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		// goroutine: the consumers own it; it ends when the last of them ends, which waits for it.
		running.Go(func() { s.run(ctx) })
		s.end = func() { cancel(); running.Wait() }
		l.session = s
	}
	l.session.consumers = append(l.session.consumers, c)
	app.Wake(l.session.added)
	return l.session
}

// remove removes a consumer. The last one ends the session, and waits up to connectMax for a connection that is being made.
func (s *listenSession) remove(c *consumer) {
	s.mu.Lock()
	s.consumers = slices.DeleteFunc(s.consumers, func(other *consumer) bool { return other == c })
	if len(s.consumers) > 0 {
		s.mu.Unlock()
		return
	}
	s.session = nil
	s.mu.Unlock()
	s.end()
}

// send gives a notification to the consumers of its channel, and the error of a lost connection to all.
func (s *listenSession) send(n *Notification) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.consumers {
		if n.lost != nil || c.isSubscribed && slices.Contains(c.channels, n.Channel) {
			c.isSubscribed = n.lost == nil
			c.send(n)
		}
	}
}

// run connects until ctx ends.
func (s *listenSession) run(ctx context.Context) {
	for s.wait = reconnectMin; ctx.Err() == nil; s.wait = min(2*s.wait, reconnectMax) {
		s.send(&Notification{lost: fmt.Errorf("postgres: listen: %w", s.receive(ctx))})
		_ = app.Sleep(ctx, s.wait)
	}
}

// receive sends the notifications of one connection, and returns why it is lost.
func (s *listenSession) receive(ctx context.Context) error {
	incoming, closed := make(chan *pq.Notification), make(chan struct{})
	conn, err := pq.NewListenerConn(withConnectTimeout(s.dsn, connectMax), incoming)
	if err != nil {
		return err
	}
	// goroutine: receive owns it and waits for it; it ends when the connection is closed.
	go func() {
		defer close(closed)
		for n := range incoming { // The connection answers statements only while its notifications are read.
			s.send(&Notification{Channel: n.Channel, Payload: n.Extra})
		}
	}()
	defer func() { _ = conn.Close(); <-closed }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	ping := time.NewTicker(listenPingEvery)
	defer ping.Stop()
	for {
		if err := s.subscribe(conn); err != nil {
			return err
		}
		s.wait = reconnectMin
		select {
		case <-closed:
			return cmp.Or(conn.Err(), errors.New("connection lost"))
		case <-s.added:
		case <-ping.C:
		}
	}
}

// subscribe opens the channels of the consumers that wait for it, one by one, as lib/pq cannot follow several statements in one message.
// Then it pings. A statement fails that takes longer than listenAnswerMax, because its connection is closed. Otherwise a network that loses
// packets would look like a database without notifications.
func (s *listenSession) subscribe(conn *pq.ListenerConn) error {
	s.mu.Lock()
	waiting := slices.DeleteFunc(slices.Clone(s.consumers), func(c *consumer) bool { return c.isSubscribed })
	s.mu.Unlock()
	limit := time.AfterFunc(listenAnswerMax, func() { _ = conn.Close() })
	defer limit.Stop()
	for _, c := range waiting {
		for _, channel := range c.channels {
			if _, err := conn.Listen(channel); err != nil {
				return err
			}
			limit.Reset(listenAnswerMax)
		}
		s.mu.Lock()
		c.isSubscribed = true
		c.refresh()
		s.mu.Unlock()
	}
	_, err := conn.ExecSimpleQuery("")
	return err
}

// send adds a notification to the queue, and never waits: the holder of the Listener's lock is the only one who adds to it.
func (c *consumer) send(n *Notification) {
	if len(c.queue) == cap(c.queue) {
		for len(c.queue) > 0 {
			select {
			case <-c.queue:
			default: // The consumer has read the last one.
			}
		}
		c.refresh()
	}
	c.queue <- n
}

// refresh announces that anything may have changed.
func (c *consumer) refresh() {
	for _, channel := range c.channels {
		c.send(&Notification{Channel: channel})
	}
}
