package plainhttp

import (
	"errors"
	"net"
	"sync"
	"time"
)

// watchAfter is how long a request runs before its client is watched. Shorter ones learn from their answer that the client has left.
const watchAfter = 20 * time.Millisecond

// watch notices a client that leaves while its request is served, by a read that is expected to find nothing. It begins after the body.
type watch struct {
	conn  *conn
	timer *time.Timer

	mu      sync.Mutex
	ended   sync.Cond // Ended signals the end of a read.
	armed   bool      // A request is served whose client may be watched.
	reading bool
	aborted bool
	hasByte bool // A byte of the next request has come, which is in one.
	left    bool // The client has left.
	one     [1]byte
}

// past is a deadline that ends a read.
var past = time.Unix(1, 0)

// begin watches the client from some time on.
func (w *watch) begin() {
	w.mu.Lock()
	w.armed = true
	w.mu.Unlock()
	if w.timer != nil {
		w.timer.Reset(watchAfter)
		return
	}
	// goroutine: the request owns it; it ends with the request, which stops the timer and the read.
	w.timer = time.AfterFunc(watchAfter, w.read)
}

// read waits for the client to leave.
func (w *watch) read() {
	w.mu.Lock()
	defer w.mu.Unlock()
	// The timer of an earlier request may call this late, so two calls can come in one request. The second would lose the byte of the first.
	if !w.armed || w.reading || w.hasByte {
		return
	}
	w.reading = true
	_ = w.conn.rwc.SetReadDeadline(time.Time{})
	w.mu.Unlock()
	n, err := w.conn.socket.Read(w.one[:])
	w.mu.Lock()
	timeout, ok := errors.AsType[net.Error](err)
	switch {
	case n > 0:
		w.hasByte = true
	case err != nil && (!w.aborted || !ok || !timeout.Timeout()):
		w.left = true
		w.conn.cancel()
	}
	w.reading = false
	w.ended.Broadcast()
}

// stop ends the watch with its request.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.armed {
		return
	}
	w.armed = false
	w.timer.Stop()
	if !w.reading {
		return
	}
	w.aborted = true
	_ = w.conn.rwc.SetReadDeadline(past)
	for w.reading {
		w.ended.Wait()
	}
	w.aborted = false
}

// clientLeft reports whether the client has left.
func (w *watch) clientLeft() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left
}
