package api

import (
	"bytes"
	"net/http"

	"umg/app/gateway"
)

// arrayWriter writes a native stream as one JSON array, which is how that style streams to callers that do not ask for
// events.
type arrayWriter struct {
	gateway.StreamWriter

	begun bool
	any   bool
	buf   []byte
}

// Begin opens the array of a stream. What is not a stream stays as it is.
func (s *arrayWriter) Begin(status int, _ string, header http.Header) error {
	s.begun = true
	s.buf = append(s.buf[:0], '[')
	if err := s.StreamWriter.Begin(status, jsonType, header); err != nil {
		return err
	}
	return s.StreamWriter.Write(s.buf)
}

// Write takes whole frames, each of one data line, and writes their data as elements.
func (s *arrayWriter) Write(p []byte) error {
	s.buf = s.buf[:0]
	for line := range bytes.Lines(p) {
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok {
			s.buf = append(s.buf, '\n')
			continue
		}
		if s.any {
			s.buf = append(s.buf, ',')
		}
		s.any = true
		s.buf = append(append(s.buf, bytes.TrimRight(data, "\r\n")...), '\n')
	}
	return s.StreamWriter.Write(s.buf)
}

// end closes the array.
func (s *arrayWriter) end() {
	if s.begun && s.StreamWriter.Write([]byte("]")) == nil {
		_ = s.Flush() // Flush fails only if the client has left.
	}
}
