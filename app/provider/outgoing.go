package provider

import (
	"bytes"
	"io"
)

// outgoing is a request and its answer, in one allocation.
type outgoing struct {
	connection connUse
	payload    *Payload
	reader     bytes.Reader
	answer     Answer
}

// open returns a reader over the payload from its beginning, as Payload.open does.
func (s *outgoing) open() (io.ReadCloser, error) {
	if cap(s.payload.Data) > plainBytesMax {
		return s.payload.open()
	}
	s.reader.Reset(s.payload.Data)
	return io.NopCloser(&s.reader), nil
}

// forget drops the request when all of it was sent, so that it does not stay in memory as long as the answer. Until then the transport
// may still read it.
func (s *outgoing) forget() {
	if s.connection.written.Load() {
		s.reader.Reset(nil)
		s.payload = nil
	}
}

// reopen is open for a second connection, after the first one was closed.
func (s *outgoing) reopen() (io.ReadCloser, error) {
	s.connection.written.Store(false)
	return s.payload.open()
}
