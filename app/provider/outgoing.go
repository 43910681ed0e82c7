package provider

import (
	"io"
	"net/http"

	"umg/app/provider/http1"
)

// Space is memory for a request and its answer, for one attempt after the other. The zero value is ready.
type Space struct {
	payload  *Payload
	reader   payloadReader
	reopen   func() (io.ReadCloser, error) // Reopen is open for a second connection. It is made once.
	request  http.Request
	exchange http1.Exchange
	used     *http1.Exchange // Used has sent the request last, in most cases in the memory of exchange; nil before.
	answer   Answer
}

// open returns a reader over the payload from its beginning.
func (s *Space) open() io.ReadCloser {
	if s.reopen == nil {
		s.reopen = func() (io.ReadCloser, error) { return s.payload.open() }
	}
	s.payload.refs.Add(1)
	s.reader = payloadReader{payload: s.payload}
	return &s.reader
}

// wasWritten reports whether all of the request was written to its last connection.
func (s *Space) wasWritten() bool { return s.used != nil && s.used.WasWritten() }

// forget drops the request when all of it was sent, so that it does not stay in memory as long as the answer. Until then the transport
// may still read it.
func (s *Space) forget() {
	if s.wasWritten() {
		s.payload = nil
	}
}

// Recycle makes the memory ready for another attempt, after the answer was closed. It reports false when something may still refer to
// the memory, which then must not be used again.
func (s *Space) Recycle() bool {
	if s.answer.lateClose || !s.exchange.Release() {
		return false
	}
	s.payload, s.request, s.used, s.answer = nil, http.Request{}, nil, Answer{}
	return true
}
