package gateway

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"umg/app"
)

// clientWriter writes the response to the client. The gateway and the timer of the deadlines may both use it at any time.
type clientWriter struct {
	out            StreamWriter
	now            app.Clock
	header         http.Header
	keepAliveEvery time.Duration // A comment is sent after this silence; zero for whole answers.
	keepAliveText  string        // KeepAliveText is the comment that keeps the stream open.

	mu        sync.Mutex
	begun     bool
	delivered bool // Content was sent to the client.
	closed    bool
	err       error // Err is the error of the first failed write.
	last      time.Time
}

var errWriterClosed = errors.New("gateway: the call is over")

// send writes to the client and flushes. It returns the time afterwards. When the bytes are the last ones, every later write fails.
func (w *clientWriter) send(status int, contentType string, p []byte, last bool) (time.Time, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.write(status, contentType, p, last)
	w.delivered = w.delivered || err == nil
	w.closed = w.closed || last
	return w.last, err
}

func (w *clientWriter) write(status int, contentType string, p []byte, last bool) error {
	switch {
	case w.err != nil:
		return w.err
	case w.closed:
		return errWriterClosed
	}
	if !w.begun {
		w.begun = true
		w.err = w.out.Begin(status, contentType, w.header)
		w.header = nil
	}
	if w.err == nil {
		w.err = w.out.Write(p)
	}
	if ender, ok := w.out.(Ender); ok && last && w.err == nil {
		w.err = ender.End()
	} else if w.err == nil {
		w.err = w.out.Flush()
	}
	w.last = w.now()
	return w.err
}

// keepAliveAt is when the next keep-alive is due; zero for never.
func (w *clientWriter) keepAliveAt() time.Time {
	if w.keepAliveEvery == 0 {
		return time.Time{}
	}
	if !w.mu.TryLock() {
		return w.now().Add(w.keepAliveEvery) // A write in progress is not silence.
	}
	defer w.mu.Unlock()
	if w.closed || w.err != nil {
		return time.Time{}
	}
	return w.last.Add(w.keepAliveEvery)
}

// keepAlive sends a comment, unless something else was sent in the last period. If it is the first thing that is sent, it begins the
// response, and later errors are written into the stream.
func (w *clientWriter) keepAlive() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.err != nil || w.now().Sub(w.last) < w.keepAliveEvery {
		return w.err
	}
	return w.write(http.StatusOK, eventStream, []byte(w.keepAliveText), false)
}

// setHeader sets a header if the response has not begun. An empty value removes the header.
func (w *clientWriter) setHeader(name, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.begun:
	case value == "":
		delete(w.header, name)
	default:
		w.header[name] = []string{value}
	}
}

// hasBegun reports whether anything was sent.
func (w *clientWriter) hasBegun() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begun
}

// hasDelivered reports whether content was sent.
func (w *clientWriter) hasDelivered() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.delivered
}

// close makes every later write fail.
func (w *clientWriter) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
}
