package api

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/gateway"
)

// responseWriter writes the gateway's answer to the client's socket.
type responseWriter struct {
	x          *call
	api        *API
	now        app.Clock
	response   http.ResponseWriter
	connection http.ResponseWriter
	shared     bool // Shared means that other streams use the connection.
	extended   time.Time
}

// Begin sends nothing yet: the status and headers leave with the first bytes.
func (s *responseWriter) Begin(status int, contentType string, extra http.Header) error {
	r := s.response
	h := r.Header()
	maps.Copy(h, extra)
	switch mediaType, _, _ := strings.Cut(contentType, ";"); {
	case mediaType == "text/event-stream":
		h["Cache-Control"], h["X-Accel-Buffering"], h["Content-Type"] = noTransform, notBuffered, eventStreamed
	case contentType == jsonType:
		h["Content-Type"] = jsonTyped
	default:
		h["Content-Type"] = []string{contentType}
	}
	s.api.setTiming(s.x, h)
	r.WriteHeader(status)
	return nil
}

// setTiming sets the headers about how long the answer took to begin, whose texts share their memory.
func (a *API) setTiming(x *call, h http.Header) {
	var short [80]byte
	said, took := x.log.appendServerTiming(short[:0], a.now())
	timing := len(said)
	text := string(strconv.AppendInt(said, took.Milliseconds(), 10))
	h["Server-Timing"] = x.headers.one(text[:timing])
	processing := x.headers.one(text[timing:])
	for _, name := range a.o.Catalog.Snapshot().Spellings(processingHeader) {
		h[name] = processing
	}
}

// Write hands bytes to the socket under a deadline of their own, so that a client that stops reading ends.
func (s *responseWriter) Write(p []byte) error {
	s.extend()
	_, err := s.response.Write(p)
	return err
}

// Flush pushes what was just written out to the client.
func (s *responseWriter) Flush() error {
	err := http.NewResponseController(s.connection).Flush()
	if s.shared { // On HTTP/2, a deadline that passes between two writes ends the stream.
		s.extended = time.Time{}
		_ = http.NewResponseController(s.connection).SetWriteDeadline(time.Time{})
	}
	return err
}

// End sends what was written together with the end of the response where the connection can. Elsewhere the response ends with the call.
func (s *responseWriter) End() error {
	if c, ok := s.connection.(gateway.Ender); ok {
		return c.End()
	}
	return s.Flush()
}

func (s *responseWriter) extend() {
	now := s.now()
	if s.x.log.FirstByte == 0 {
		s.x.log.FirstByte = now.Sub(s.x.log.Started)
	}
	if now.Sub(s.extended) >= writeDeadlineStep {
		s.extended = now
		_ = http.NewResponseController(s.connection).SetWriteDeadline(now.Add(writeStallMax))
	}
}

const (
	writeDeadlineStep = 5 * time.Second // Deadlines are renewed no more often than this.
)
