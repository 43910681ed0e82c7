package provider

import (
	"bytes"
	"context"
	"io"
	"net/http/httptrace"
	"sync/atomic"
)

// sending is a request on its way, with the answer that it may get. It is one allocation.
type sending struct {
	// written is set when all of the request has been written to a connection.
	written atomic.Bool
	trace   httptrace.ClientTrace
	payload *Payload
	reader  bytes.Reader
	answer  Answer
}

// open returns a reader over the payload from its beginning, as Payload.open does.
func (s *sending) open() (io.ReadCloser, error) {
	if cap(s.payload.Data) > plainBytesMax {
		return s.payload.open()
	}
	s.reader.Reset(s.payload.Data)
	return io.NopCloser(&s.reader), nil
}

// reopen is open for another connection, when the first one was found closed.
func (s *sending) reopen() (io.ReadCloser, error) {
	s.written.Store(false)
	return s.payload.open()
}

// watched is the context for a request of which the sending notes that it has been written.
func (s *sending) watched(ctx context.Context) context.Context {
	s.trace.WroteRequest = s.wrote
	return httptrace.WithClientTrace(ctx, &s.trace)
}

func (s *sending) wrote(info httptrace.WroteRequestInfo) { s.written.Store(info.Err == nil) }
