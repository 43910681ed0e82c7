package http1

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"umg/app/headerfield"

	"golang.org/x/net/http/httpguts"
)

const (
	// inlineBytesMax bounds the bodies that are written before the answer is read. The system takes as much without the server.
	inlineBytesMax = 64 << 10

	userAgentStandard = "Go-http-client/1.1" // This is what net/http sends when the caller names none.
)

// outgoing is a request that was checked.
type outgoing struct {
	host       string // Host is that of the Host header.
	length     int64
	viaProxy   bool // ViaProxy sends the whole address, as proxies need it for http.
	mustClose  bool
	proxyAuth  string
	sentBefore int64 // SentBefore is what the connection had sent before the request.
}

// requestError is a request that cannot be sent. Its body cannot be read, or has another length than it should.
type requestError struct{ cause error }

func (e *requestError) Error() string { return "http1: the request cannot be sent: " + e.cause.Error() }
func (e *requestError) Unwrap() error { return e.cause }

func wrongRequest(format string, args ...any) error {
	return &requestError{fmt.Errorf(format, args...)}
}

// isNetworkError reports whether sending a request has failed because of the connection.
func isNetworkError(err error) bool {
	_, isRequest := errors.AsType[*requestError](err)
	return !isRequest
}

// check checks everything of a request that is written as it is.
func (q *outgoing) check(r *http.Request) error {
	q.host, q.length = r.Host, r.ContentLength
	switch {
	case r.URL == nil || r.URL.Host == "":
		return wrongRequest("the address has no host")
	case r.URL.Scheme != "http" && r.URL.Scheme != "https":
		return wrongRequest("the scheme is neither http nor https")
	case !headerfield.IsName(r.Method):
		return wrongRequest("the method has a wrong character")
	}
	if q.host == "" {
		q.host = r.URL.Host
	}
	host, err := httpguts.PunycodeHostPort(q.host)
	if err != nil || !httpguts.ValidHostHeader(host) {
		return wrongRequest("the host has a wrong character")
	}
	q.host = removeZone(host)
	if err := checkHeader(r.Header); err != nil {
		return err
	}
	switch {
	case r.Body == nil:
		q.length = 0
	case q.length == 0:
		var one [1]byte
		if n, err := io.ReadFull(r.Body, one[:]); n > 0 || !errors.Is(err, io.EOF) {
			return wrongRequest("the length of the body is not known")
		}
	case q.length < 0:
		return wrongRequest("the length of the body is not known")
	}
	return nil
}

// checkHeader fails when a name or a value would change how the head is read.
func checkHeader(h http.Header) error {
	for name, values := range h {
		if !headerfield.IsName(name) {
			return wrongRequest("invalid header name %q", name)
		}
		for _, value := range values {
			if !headerfield.IsValue(value) {
				return wrongRequest("invalid header value of %s", name)
			}
		}
	}
	return nil
}

// removeZone drops the zone of an IPv6 address, which means something on this machine only.
func removeZone(host string) string {
	if !strings.HasPrefix(host, "[") {
		return host
	}
	end := strings.LastIndexByte(host, ']')
	zone := strings.LastIndexByte(host[:max(end, 0)], '%')
	if zone < 0 {
		return host
	}
	return host[:zone] + host[end:]
}

// writer writes a request: its head and as much of its body as fits in one call, then the rest.
type writer struct {
	conn  *conn
	buf   []byte
	left  int64 // Left is how much of the body has not come.
	names []string
}

var writers = sync.Pool{New: func() any { return &writer{buf: make([]byte, 0, blockBytes)} }}

// write writes a request to a connection, and closes its body.
func (q *outgoing) write(c *conn, r *http.Request) error {
	w, _ := writers.Get().(*writer)
	w.conn, w.buf, w.left = c, w.buf[:0], q.length
	defer func() {
		w.conn = nil
		clear(w.names)
		if cap(w.buf) <= 2*blockBytes {
			writers.Put(w)
		}
	}()
	err := w.appendLine(q, r)
	if err == nil {
		w.appendHeader(q, r)
		if q.length > 0 {
			err = w.copyBody(r.Body)
		}
	}
	if r.Body != nil {
		if closeErr := r.Body.Close(); err == nil && closeErr != nil {
			err = &requestError{closeErr}
		}
	}
	if err != nil {
		return err
	}
	return w.flush()
}

// copyBody writes the body, which must have exactly the promised length.
func (w *writer) copyBody(body io.Reader) error {
	var err error
	if whole, ok := body.(io.WriterTo); ok {
		_, err = whole.WriteTo(w)
	} else {
		_, err = io.Copy(struct{ io.Writer }{w}, body)
	}
	_, isOwn := errors.AsType[*writeError](err)
	switch {
	case err != nil && (isOwn || !isNetworkError(err)):
		return err
	case err != nil:
		return &requestError{err}
	case w.left > 0:
		return wrongRequest("the body is shorter than its length")
	}
	return nil
}

// writeError is a failure of the connection while a request was written.
type writeError struct{ cause error }

func (e *writeError) Error() string { return "http1: the request was not sent: " + e.cause.Error() }
func (e *writeError) Unwrap() error { return e.cause }

// Write adds a part of the body.
func (w *writer) Write(p []byte) (int, error) {
	if int64(len(p)) > w.left {
		return 0, wrongRequest("the body is longer than its length")
	}
	w.left -= int64(len(p))
	switch {
	case len(w.buf)+len(p) <= cap(w.buf):
		w.buf = append(w.buf, p...)
		return len(p), nil
	case w.conn.isSecure():
		n := copy(w.buf[len(w.buf):cap(w.buf)], p) // A full TLS record costs no more than a short one.
		w.buf = w.buf[:len(w.buf)+n]
		if err := w.flush(); err != nil {
			return 0, err
		}
		if _, err := w.conn.stream.Write(p[n:]); err != nil {
			return 0, &writeError{err}
		}
		return len(p), nil
	}
	parts := net.Buffers{w.buf, p} // Both parts go out in one call of the system.
	n, err := parts.WriteTo(w.conn.socket.Conn)
	w.conn.socket.sent.Add(n)
	w.buf = w.buf[:0]
	if err != nil {
		return 0, &writeError{err}
	}
	return len(p), nil
}

// flush writes what was collected.
func (w *writer) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	_, err := w.conn.stream.Write(w.buf)
	w.buf = w.buf[:0]
	if err != nil {
		return &writeError{err}
	}
	return nil
}

// appendLine adds the first line of a request.
func (w *writer) appendLine(q *outgoing, r *http.Request) error {
	b := w.buf
	b = append(append(b, r.Method...), ' ')
	begin := len(b)
	if q.viaProxy {
		b = append(append(append(b, r.URL.Scheme...), "://"...), q.host...)
	}
	if u := r.URL; u.Opaque != "" {
		b = append(b, u.RequestURI()...)
	} else {
		b = append(b, cmp.Or(u.EscapedPath(), "/")...)
		if u.ForceQuery || u.RawQuery != "" {
			b = append(append(b, '?'), u.RawQuery...)
		}
	}
	for _, c := range b[begin:] {
		if c <= ' ' || c == 0x7f {
			return wrongRequest("the address has a space or a control character")
		}
	}
	b = append(b, " HTTP/1.1\r\n"...)
	w.buf = b
	return nil
}

// appendHeader adds the header of a request in the order of net/http.
func (w *writer) appendHeader(q *outgoing, r *http.Request) {
	b := w.buf
	b = append(append(b, "Host: "...), q.host...)
	agent, named := r.Header["User-Agent"]
	switch {
	case !named:
		b = append(b, "\r\nUser-Agent: "+userAgentStandard...)
	case len(agent) > 0 && agent[0] != "":
		b = append(append(b, "\r\nUser-Agent: "...), agent[0]...)
	}
	if q.mustClose {
		b = append(b, "\r\nConnection: close"...)
	}
	if q.length > 0 || r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
		b = strconv.AppendInt(append(b, "\r\nContent-Length: "...), q.length, 10)
	}
	if q.proxyAuth != "" {
		b = append(append(b, "\r\nProxy-Authorization: "...), q.proxyAuth...)
	}
	w.names = w.names[:0]
	for name := range r.Header {
		switch name {
		case "Host", "User-Agent", "Content-Length", "Transfer-Encoding", "Trailer": // These follow from other fields, as in net/http.
		case "Connection":
			if !q.mustClose {
				w.names = append(w.names, name)
			}
		default:
			w.names = append(w.names, name)
		}
	}
	slices.Sort(w.names)
	for _, name := range w.names {
		for _, value := range r.Header[name] {
			b = append(append(append(append(b, '\r', '\n'), name...), ':', ' '), strings.Trim(value, " \t")...)
		}
	}
	b = append(b, "\r\n\r\n"...)
	w.buf = b
}
