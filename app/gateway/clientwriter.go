package gateway

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"umg/app"
)

// clientWriter is the client's end of a call. The gateway and the timer of the watch both write to it, one at a time.
type clientWriter struct {
	sink   StreamWriter
	now    app.Clock
	header http.Header
	every  time.Duration // A comment is sent after this silence; zero for whole answers.
	mark   string        // Mark is the comment that keeps the stream open.

	mu        sync.Mutex
	begun     bool
	delivered bool // Content was sent to the client.
	closed    bool
	err       error // Err is the error of the first failed write.
	last      time.Time
}

var errOutletClosed = errors.New("gateway: the call is over")

// send writes to the client and flushes. It says when that was done.
func (o *clientWriter) send(status int, contentType string, p []byte) (time.Time, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.write(status, contentType, p)
	o.delivered = o.delivered || err == nil
	return o.last, err
}

func (o *clientWriter) write(status int, contentType string, p []byte) error {
	switch {
	case o.err != nil:
		return o.err
	case o.closed:
		return errOutletClosed
	}
	if !o.begun {
		o.begun = true
		o.err = o.sink.Begin(status, contentType, o.header)
		o.header = nil
	}
	if o.err == nil {
		o.err = o.sink.Write(p)
	}
	if o.err == nil {
		o.err = o.sink.Flush()
	}
	o.last = o.now()
	return o.err
}

// keepAliveAt is when the client has heard nothing for too long, zero for never.
func (o *clientWriter) keepAliveAt() time.Time {
	if o.every == 0 {
		return time.Time{}
	}
	if !o.mu.TryLock() {
		return o.now().Add(o.every) // A write in progress is not silence.
	}
	defer o.mu.Unlock()
	if o.closed || o.err != nil {
		return time.Time{}
	}
	return o.last.Add(o.every)
}

// keepAlive sends a comment, unless something else was sent in the last period. It begins the answer when nothing was
// sent before: from then on errors travel in the stream.
func (o *clientWriter) keepAlive() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || o.err != nil || o.now().Sub(o.last) < o.every {
		return o.err
	}
	return o.write(http.StatusOK, eventStream, []byte(o.mark))
}

// tell gives an answer that has not begun a header, or takes it away when there is nothing to tell.
func (o *clientWriter) tell(name, value string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.begun:
	case value == "":
		delete(o.header, name)
	default:
		o.header[name] = []string{value}
	}
}

// hasBegun reports whether anything was sent.
func (o *clientWriter) hasBegun() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.begun
}

// hasDelivered reports whether content was sent.
func (o *clientWriter) hasDelivered() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.delivered
}

// close makes every later write fail.
func (o *clientWriter) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
}
